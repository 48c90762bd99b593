/** What the contract's fields are called in the Gemini API. */
import type { Place } from "./contents.js";

const config = "generationConfig";

/** Those that have one place each; a member of one follows it. */
const moved: readonly (readonly [ours: string, theirs: string])[] = [
  ["messages", "contents"],
  ["temperature", `${config}.temperature`],
  ["max_tokens", `${config}.maxOutputTokens`],
  ["top_p", `${config}.topP`],
  ["top_k", `${config}.topK`],
  ["seed", `${config}.seed`],
  ["stop", `${config}.stopSequences`],
  ["response_format", `${config}.responseMimeType`],
  ["reasoning_effort", `${config}.thinkingConfig`],
  ["tool_choice", "toolConfig.functionCallingConfig"],
];

const callMembers: Readonly<Record<string, string>> = {
  ".function": "",
  ".function.name": ".name",
  ".function.arguments": ".args",
};

/**
 * Finds the client's names of fields.
 * @param messages where each message stands at the client
 * @param tools where each tool does
 * @param own fields that are named as the client does already
 * @param schema what it calls the answer's schema
 */
export function namesOf(
  messages: readonly Place[],
  tools: readonly string[],
  own: ReadonlySet<string | undefined>,
  schema: string,
): (field: string) => string {
  return (field) => {
    if (own.has(field)) return field;
    if (field.startsWith("response_format.json_schema")) return schema;
    const [, list, index, rest = ""] = /^(messages|tools)\[(\d+)\](.*)$/.exec(field) ?? [];
    const i = Number(index);
    if (list === "tools") return (tools[i] ?? `tools[${i}]`) + rest.replace(/^\.function/, "");
    const place = list === "messages" ? messages[i] : undefined;
    if (place) return inMessage(place, rest);
    for (const [ours, theirs] of moved) {
      const behind = field.slice(ours.length);
      if (field.startsWith(ours) && /^(?:$|[.[])/.test(behind)) return theirs + behind;
    }
    return field;
  };
}

function inMessage({ at, content, parts = [], calls = [] }: Place, rest: string): string {
  const [, call, ofCall = ""] = /^\.tool_calls\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (call !== undefined) return (calls[Number(call)] ?? at) + (callMembers[ofCall] ?? ofCall);
  const [, part, ofPart = ""] = /^\.(?:content|parts)\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (part !== undefined) {
    const place = parts[Number(part)] ?? `${content}[${part}]`;
    return place + ofPart.replace(/^\.(?:image_url|file|input_audio).*$/, "");
  }
  switch (rest) {
    case ".content":
    case ".parts":
    case ".tool_calls":
      return content;
    case ".tool_call_id":
      return `${at}.id`;
    default:
      return at + rest;
  }
}
