/** What the contract's fields are called in the Responses API. */
import type { Place } from "./items.js";

/** Those that have one place each; a member of one follows it. */
const moved: readonly (readonly [ours: string, theirs: string])[] = [
  ["response_format.json_schema", "text.format"],
  ["response_format", "text.format"],
  ["tool_choice.function.name", "tool_choice.name"],
  ["tool_choice.function", "tool_choice.name"],
  ["messages", "input"],
];

const callMembers: Readonly<Record<string, string>> = {
  ".id": ".call_id",
  ".function": "",
  ".function.name": ".name",
  ".function.arguments": ".arguments",
};

/**
 * Finds the client's names of fields.
 * @param messages where each message stands at the client
 * @param tools where each tool does
 * @param renamed what it calls those fields that have further names at it
 * @param fileUrls where files by their `file_url` stand there
 */
export function namesOf(
  messages: readonly Place[],
  tools: readonly string[],
  renamed: Readonly<Record<string, string>>,
  fileUrls: ReadonlySet<string>,
): (field: string) => string {
  return (field) => {
    if (Object.hasOwn(renamed, field)) return renamed[field] ?? field;
    const [, list, index, rest = ""] = /^(messages|tools)\[(\d+)\](.*)$/.exec(field) ?? [];
    const i = Number(index);
    if (list === "tools") return (tools[i] ?? `tools[${i}]`) + rest.replace(/^\.function/, "");
    const place = list === "messages" ? messages[i] : undefined;
    if (place) {
      const name = inMessage(place, rest);
      const [, file] = /^(.*)\.file_data$/.exec(name) ?? [];
      return file !== undefined && fileUrls.has(file) ? `${file}.file_url` : name;
    }
    for (const [ours, theirs] of moved) {
      if (field === ours || field.startsWith(`${ours}.`)) return theirs + field.slice(ours.length);
    }
    return field;
  };
}

const ofMark = ".cache_control";

function inMessage({ at, content, calls, images, mark }: Place, rest: string): string {
  if (mark !== undefined && rest.startsWith(ofMark)) return mark + rest.slice(ofMark.length);
  const [, index, member = ""] = /^\.tool_calls(?:\[(\d+)\](.*))?$/.exec(rest) ?? [];
  if (index !== undefined) return (calls[Number(index)] ?? at) + (callMembers[member] ?? member);
  const [, image, ofImage = ""] = /^\.images\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (image !== undefined) {
    return (images[Number(image)] ?? at) + ofImage.replace(/^\.image_url.*$/, ".result");
  }
  const [, part] = /^\.(?:content|parts)((?:\[.*)?)$/.exec(rest) ?? [];
  if (part !== undefined)
    return (
      content + part.replace(".image_url.url", ".image_url").replace(/\.(?:image_url|file)\./, ".")
    );
  switch (rest) {
    case ".tool_calls":
      return "input";
    case ".tool_call_id":
      return `${at}.call_id`;
    default:
      return at + rest;
  }
}
