/** Contents in parts, to the contract's. */
import { InputAudioSchema } from "../../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { fieldsOf } from "../../json/known.js";
import { breakpointFields, isMarked, type PartReading } from "../breakpoints.js";
import { detailOf } from "../detail.js";

/** Types of parts that are text, and where it stands in them. */
const textTypes: ReadonlyMap<string, string> = new Map([
  ["input_text", "text"],
  ["output_text", "text"],
  ["text", "text"],
  ["refusal", "refusal"],
]);

/** What is read of a part. */
export const partFields = {
  ...{ type: true, text: true, refusal: true, image_url: true, detail: true },
  ...{ file_data: true, file_url: true, file_id: true, filename: true },
  input_audio: fieldsOf(InputAudioSchema),
  ...breakpointFields,
};

/** What becomes of the parts of items. */
export interface ItemReading extends PartReading {
  /** Where files by their `file_url` stand at the client. */
  readonly fileUrls: Set<string>;
}

/**
 * A content as the contract has it in JSON: one text where all parts are that, and none is marked within.
 * @param at where it stands at the client
 */
export function contentOf(content: unknown, at: string, reading: ItemReading): unknown {
  if (!Array.isArray(content)) return content;
  const texts = (content as unknown[]).map(textOf);
  const areTexts = texts.every((text) => typeof text === "string");
  if (areTexts && !content.some(isMarked)) return texts.join("");
  return (content as unknown[]).map((part, i) => {
    if (!isObject(part) || typeof part.type !== "string") return part;
    const place = `${at}[${i}]`;
    const read = partOf(part, part.type, texts[i], place, reading);
    return reading.breakpoints.onto(read, part, place);
  });
}

/** A content that is one text with the mark at its end, as what an assistant says is told; any other as it is. */
export function withEndMark(content: unknown): { content: unknown; cache_control?: unknown } {
  if (!Array.isArray(content)) return { content };
  const parts = content as readonly JsonObject[];
  if (!parts.every((part) => isObject(part) && typeof part.text === "string")) return { content };
  const { cache_control: mark } = parts.at(-1) ?? {};
  const text = parts.map((part) => part.text).join("");
  return mark === undefined ? { content: text } : { content: text, cache_control: mark };
}

function partOf(
  part: JsonObject,
  type: string,
  text: unknown,
  place: string,
  reading: ItemReading,
): JsonObject {
  if (textTypes.has(type)) return { type: "text", text };
  if (type === "input_image" && part.image_url != null) {
    return imageOf(part, detailOf(part.detail, "input", reading.warnings));
  }
  if (type === "input_file" && (part.file_data ?? part.file_url) != null) {
    if ((part.detail ?? "auto") !== "auto") {
      reading.warnings.add("input: the detail of files is not supported, ignored");
    }
    if (part.file_data == null) reading.fileUrls.add(place);
    return fileOf(part);
  }
  if (type === "input_audio") return part;
  reading.refuse(place, lacking.get(type) ?? type);
  return { type: "text", text: "" };
}

/** What a part says; `undefined` where it is no text. */
function textOf(part: unknown): unknown {
  const member = isObject(part) ? textTypes.get(part.type as string) : undefined;
  return member === undefined ? undefined : (part as JsonObject)[member];
}

const imageOf = ({ image_url: url }: JsonObject, detail: unknown) => ({
  type: "image_url",
  image_url: { url, detail },
});

const fileOf = ({ file_data, file_url, filename }: JsonObject) => ({
  type: "file",
  file: { file_data: file_data ?? file_url, filename },
});

/** What is said of parts whose content is not in them. */
const lacking: ReadonlyMap<string, string> = new Map([
  ["input_image", "an image without an image_url"],
  ["input_file", "a file without file_data or a file_url"],
]);
