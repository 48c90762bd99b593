/** Contents in parts, to the contract's. */
import { isObject, type JsonObject } from "../../../core/json.js";

/** Types of parts that are text, and where it stands in them. */
const textTypes: ReadonlyMap<string, string> = new Map([
  ["input_text", "text"],
  ["output_text", "text"],
  ["text", "text"],
  ["refusal", "refusal"],
]);

/** What is read of a part. */
export const partFields = { type: true, text: true, refusal: true, image_url: true, detail: true };

/**
 * A content as the contract has it in JSON: one text where all parts are that.
 * @param refuse gets the position of a part that is neither text nor an image, and what it is
 */
export function contentOf(content: unknown, refuse: (i: number, what: string) => void): unknown {
  if (!Array.isArray(content)) return content;
  const texts = (content as unknown[]).map(textOf);
  if (texts.every((text) => typeof text === "string")) return texts.join("");
  return (content as unknown[]).map((part, i) => {
    if (!isObject(part) || typeof part.type !== "string") return part;
    if (textTypes.has(part.type)) return { type: "text", text: texts[i] };
    if (part.type === "input_image" && part.image_url != null) return imageOf(part);
    refuse(i, part.type === "input_image" ? "an image without an image_url" : part.type);
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
