/** What the contract's fields are called in the Messages API. */
import type { Place } from "./messages.js";

/** Those that have one place each; a member of one follows it. */
const moved: readonly (readonly [ours: string, theirs: string])[] = [
  ["stop", "stop_sequences"],
  ["tool_choice.function", "tool_choice"],
  ["response_format.json_schema", "output_config.format"],
  ["response_format", "output_config.format"],
  ["reasoning_effort", "output_config.effort"],
];

const callMembers: Readonly<Record<string, string>> = {
  ".function": "",
  ".function.name": ".name",
  ".function.arguments": ".input",
};

/**
 * Finds the client's names of fields.
 * @param messages where each message stands at the client
 * @param tools where each tool does
 * @param own fields that are named as the client does already
 */
export function namesOf(
  messages: readonly Place[],
  tools: readonly string[],
  own: ReadonlySet<string | undefined>,
): (field: string) => string {
  return (field) => {
    if (own.has(field)) return field;
    const [, list, index, rest = ""] = /^(messages|tools)\[(\d+)\](.*)$/.exec(field) ?? [];
    const i = Number(index);
    if (list === "tools") return (tools[i] ?? `tools[${i}]`) + inTool(rest);
    const place = list === "messages" ? messages[i] : undefined;
    if (place) return inMessage(place, rest);
    for (const [ours, theirs] of moved) {
      const behind = field.slice(ours.length);
      if (field.startsWith(ours) && /^(?:$|[.[])/.test(behind)) return theirs + behind;
    }
    return field;
  };
}

const inTool = (rest: string): string =>
  rest.replace(/^\.function/, "").replace(/^\.parameters/, ".input_schema");

function inMessage({ at, content, parts = [], calls = [] }: Place, rest: string): string {
  const [, call, ofCall = ""] = /^\.tool_calls\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (call !== undefined) return (calls[Number(call)] ?? at) + (callMembers[ofCall] ?? ofCall);
  const [, part, ofPart = ""] = /^\.(?:content|parts)\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (part !== undefined) {
    const place = parts[Number(part)] ?? `${content}[${part}]`;
    return (
      place +
      ofPart.replace(/^\.file\.filename$/, ".title").replace(/^\.(?:image_url|file).*$/, ".source")
    );
  }
  switch (rest) {
    case ".content":
    case ".parts":
    case ".tool_calls":
      return content;
    case ".tool_call_id":
      return `${at}.tool_use_id`;
    default:
      return at + rest;
  }
}
