/** Parts of messages of chat completions, put the contract's way. */
import { ContentPartSchema, FileDataSchema } from "../../../gen/lintel/v1/chat_pb.js";
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject, withMembers } from "../../core/json.js";
import { choicesOf } from "../../core/rules.js";
import { fields, fieldsOf, type Known } from "../json/known.js";
import { quoted } from "../json/quoted.js";
import { breakpointFields, type PartReading } from "./breakpoints.js";
import { detailOf } from "./detail.js";

/** Types of parts that are the contract's, too. */
const partTypes: ReadonlySet<unknown> = new Set(choicesOf(ContentPartSchema.field.type));

/** Type of what a model thought, where that stands among the parts of what it said, as Mistral has it. */
const thoughtType = "thinking";

/** What is read of a part. */
export const partFields: Known = fieldsOf(ContentPartSchema, {
  ...breakpointFields,
  ...{ refusal: true, file_id: true, document_url: true, document_name: true },
  thinking: fields({ text: true }),
  file: fieldsOf(FileDataSchema, { file_id: true }),
});

/** What becomes of a chat's parts besides. */
export interface ChatPartReading extends PartReading {
  /** Gets what is wrong of them. */
  readonly wrong: Violation[];
  /** Gets the client's names of fields. */
  readonly names: Record<string, string>;
}

/**
 * Reads the parts of a message.
 * @param at where that stands at the client
 */
export function readParts(
  { role, content }: JsonObject & { readonly content: readonly unknown[] },
  at: string,
  reading: ChatPartReading,
): unknown[] {
  return content.map((part, i) => {
    if (!isObject(part) || typeof part.type !== "string") return part;
    const place = `${at}.content[${i}]`;
    const read =
      part.type === thoughtType && role === "assistant"
        ? // Kept, so that the others keep their places.
          { type: "text", text: "" }
        : part.type === "document_url"
          ? fileOf(part, `${at}.parts[${i}]`, place, reading.names)
          : partOf(part, part.type, place, reading);
    return reading.breakpoints.onto(read, part, place);
  });
}

function partOf(part: JsonObject, type: string, place: string, reading: PartReading): JsonObject {
  const { refusal, file, image_url: image } = part;
  if (type === "refusal") return { type: "text", text: refusal };
  if (type === "image_url" && isObject(image)) {
    const detail = detailOf(image.detail, "messages", reading.warnings);
    return detail === image.detail
      ? part
      : withMembers(part, { image_url: withMembers(image, { detail }) });
  }
  const elsewhere = type === "file" && isElsewhere(isObject(file) ? file : part);
  if (partTypes.has(type) && !elsewhere) return part;
  const [what, instead] = elsewhere
    ? ["a file by its file_id", "file_data"]
    : [quoted(type), [...partTypes].join(", ")];
  reading.refuse(place, `${what} is not supported, only ${instead}`);
  return { type: "text", text: "" };
}

const isElsewhere = ({ file_data: data, file_id: id }: JsonObject): boolean =>
  data == null && Boolean(id);

/** A document of Mistral's clients, which is a file at an address, or a `data:` URL. */
function fileOf(
  { document_url: url, document_name: name }: JsonObject,
  ours: string,
  theirs: string,
  names: Record<string, string>,
): JsonObject {
  names[`${ours}.file`] = theirs;
  names[`${ours}.file.file_data`] = `${theirs}.document_url`;
  names[`${ours}.file.filename`] = `${theirs}.document_name`;
  return { type: "file", file: { file_data: url, filename: name } };
}

const areThoughts = (part: unknown): part is JsonObject =>
  isObject(part) && part.type === thoughtType;

/** Whether a model's thoughts stand among the parts of what it said. */
export const haveThoughts = (content: unknown): content is readonly unknown[] =>
  Array.isArray(content) && content.some(areThoughts);

/**
 * What was thought among the parts of what a model said.
 * @param at where they stand
 * @param into gets what is wrong of them
 */
export function thoughtsAmong(parts: readonly unknown[], at: string, into: Violation[]): string {
  let thoughts = "";
  for (const [i, part] of parts.entries()) {
    if (!areThoughts(part)) continue;
    const said = part.thinking ?? [];
    if (typeof said === "string") thoughts += said;
    else if (!Array.isArray(said)) {
      into.push({ field: `${at}[${i}].thinking`, message: "must be an array of parts" });
    } else {
      // What they refer to, of which there are parts, too, is told by no text.
      for (const one of said as unknown[]) {
        if (isObject(one) && typeof one.text === "string") thoughts += one.text;
      }
    }
  }
  return thoughts;
}
