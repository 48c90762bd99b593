/** Contents in parts, to the contract's. */
import { InputAudioSchema } from "../../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { fieldsOf } from "../../json/known.js";

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
};

/**
 * A content as the contract has it in JSON: one text where all parts are that.
 * @param refuse gets the position of a part that the contract has nothing like, and what it is
 */
export function contentOf(content: unknown, refuse: (i: number, what: string) => void): unknown {
  if (!Array.isArray(content)) return content;
  const texts = (content as unknown[]).map(textOf);
  if (texts.every((text) => typeof text === "string")) return texts.join("");
  return (content as unknown[]).map((part, i) => {
    if (!isObject(part) || typeof part.type !== "string") return part;
    if (textTypes.has(part.type)) return { type: "text", text: texts[i] };
    if (part.type === "input_image" && part.image_url != null) return imageOf(part);
    if (part.type === "input_file" && (part.file_data ?? part.file_url) != null) {
      return fileOf(part);
    }
    if (part.type === "input_audio") return part;
    refuse(i, lacking.get(part.type) ?? part.type);
    return { type: "text", text: "" };
  });
}

/** What a part says; `undefined` where it is no text. */
function textOf(part: unknown): unknown {
  const member = isObject(part) ? textTypes.get(part.type as string) : undefined;
  return member === undefined ? undefined : (part as JsonObject)[member];
}

const imageOf = ({ image_url: url, detail }: JsonObject) => ({
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
