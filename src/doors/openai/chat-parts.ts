/** Parts of messages of chat completions, put the contract's way. */
import { ContentPartSchema, FileDataSchema } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject, withMembers } from "../../core/json.js";
import { choicesOf } from "../../core/rules.js";
import { fieldsOf, type Known } from "../json/known.js";
import { quoted } from "../json/quoted.js";
import { breakpointFields, type PartReading } from "./breakpoints.js";
import { detailOf } from "./detail.js";

/** Types of parts that are the contract's, too. */
const partTypes: ReadonlySet<unknown> = new Set(choicesOf(ContentPartSchema.field.type));

/** What is read of a part. */
export const partFields: Known = fieldsOf(ContentPartSchema, {
  ...breakpointFields,
  refusal: true,
  file: fieldsOf(FileDataSchema, { file_id: true }),
});

/** @param at where they stand at the client */
export const readParts = (parts: readonly unknown[], at: string, reading: PartReading): unknown[] =>
  parts.map((part, i) => {
    if (!isObject(part) || typeof part.type !== "string") return part;
    const place = `${at}[${i}]`;
    return reading.breakpoints.onto(partOf(part, part.type, place, reading), part, place);
  });

function partOf(part: JsonObject, type: string, place: string, reading: PartReading): JsonObject {
  const { refusal, file, image_url: image } = part;
  if (type === "refusal") return { type: "text", text: refusal };
  if (type === "image_url" && isObject(image)) {
    const detail = detailOf(image.detail, "messages", reading.warnings);
    return detail === image.detail
      ? part
      : withMembers(part, { image_url: withMembers(image, { detail }) });
  }
  const elsewhere = type === "file" && isObject(file) && file.file_data == null && file.file_id;
  if (partTypes.has(type) && !elsewhere) return part;
  const [what, instead] = elsewhere
    ? ["a file by its file_id", "file_data"]
    : [quoted(type), [...partTypes].join(", ")];
  reading.refuse(place, `${what} is not supported, only ${instead}`);
  return { type: "text", text: "" };
}
