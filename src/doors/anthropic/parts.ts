/** Texts, images, documents and search results in blocks, to the contract's parts. */
import { inFile } from "../../core/files.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { fields } from "../json/known.js";

/** A part, and where it stands at the client. */
export interface Part {
  readonly part: JsonObject;
  readonly place: string;
}

/** What is read of a block's source. */
export const sourceFields = {
  ...{ type: true, media_type: true, data: true, url: true },
  content: fields({ type: true, text: true }),
};

/**
 * A block as the contract has it in JSON; `undefined` where it is none of these.
 * @param wrong gets a field that has the wrong type, and what is allowed
 */
export function partOf(
  block: JsonObject,
  place: string,
  wrong: (field: string, message: string) => void,
): JsonObject | undefined {
  const { type, text, source, title } = block;
  if (type === "text") return { type, text };
  // A tool that a search found. All are offered from the begin: its name is what is left to say.
  if (type === "tool_reference") {
    if (typeof block.tool_name !== "string") wrong(`${place}.tool_name`, "must be a string");
    return { type: "text", text: block.tool_name };
  }
  if (type === "search_result") return resultOf(block, place, wrong);
  const of = isObject(source) ? source : {};
  if ((type !== "image" && type !== "document") || of.type === "file") return undefined;
  if (type === "document" && of.type === "text") {
    if (typeof of.data !== "string") wrong(`${place}.source.data`, "must be a string");
    return { type: "text", text: named(of.data, title) };
  }
  if (type === "document" && of.type === "content") {
    const said = Array.isArray(of.content) ? textsOf(of.content) : of.content;
    if (said === undefined) return undefined;
    const allowed = "must be a string, or an array of texts";
    if (typeof said !== "string") wrong(`${place}.source.content`, allowed);
    return { type: "text", text: named(said, title) };
  }
  const url = addressIn(of);
  if (url === undefined) {
    wrong(`${place}.source`, "must be base64 with a media_type and data, or a url");
  }
  if (type === "image") {
    return { type: "image_url", image_url: { url: url ?? "data:image/png;base64,eA" } };
  }
  const filename = title ?? "";
  return { type: "file", file: { file_data: url ?? "data:application/pdf;base64,eA", filename } };
}

/** Whether an image is to be refused rather than made smaller. */
export const keepsSize = ({ transformations: said }: JsonObject): boolean =>
  isObject(said) && (said.oversized_image ?? "downsize") !== "downsize";

/** A text with its title, as that of a file is told; none of what is no text. */
function named(text: unknown, title: unknown): string {
  const said = typeof text === "string" ? text : "";
  return typeof title === "string" && title !== "" ? inFile(title, said) : said;
}

/** What a search found, as a text: nothing is cited. */
function resultOf(
  { title, source, content }: JsonObject,
  place: string,
  wrong: (field: string, message: string) => void,
): JsonObject {
  if (typeof title !== "string") wrong(`${place}.title`, "must be a string");
  if (typeof source !== "string") wrong(`${place}.source`, "must be a string");
  const text = Array.isArray(content) ? textsOf(content) : undefined;
  if (text === undefined) wrong(`${place}.content`, "must be an array of texts");
  const of = `title=${quoted(title)} source=${quoted(source)}`;
  return { type: "text", text: `<search_result ${of}>\n${text}\n</search_result>` };
}

/** Of what is no text nothing: it may be nested too deeply to be written out. */
const quoted = (text: unknown): string => JSON.stringify(typeof text === "string" ? text : "");

function addressIn({ type, media_type: kind, data, url }: JsonObject): string | undefined {
  if (type === "url" && typeof url === "string") return url;
  const inline = type === "base64" && typeof kind === "string" && typeof data === "string";
  return inline ? `data:${kind};base64,${data}` : undefined;
}

/** Texts in blocks, as one; `undefined` where something else is among them. */
export function textsOf(blocks: readonly unknown[]): string | undefined {
  const texts = blocks.map((block) =>
    isObject(block) && block.type === "text" ? block.text : undefined,
  );
  return texts.every((text) => typeof text === "string") ? texts.join("\n\n") : undefined;
}
