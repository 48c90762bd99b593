/** Text that comes in parts. */
import { isObject } from "../../../core/json.js";

/** Types of parts that are text, and where it stands in them. */
const textTypes: ReadonlyMap<string, string> = new Map([
  ["input_text", "text"],
  ["output_text", "text"],
  ["text", "text"],
  ["refusal", "refusal"],
]);

/** What is read of a part. */
export const partFields = { type: true, text: true, refusal: true };

/**
 * The text of a content: as it is, or of all its parts.
 * @param refuse gets the type and position of a part that is something else
 * @returns the content itself where it is neither
 */
export function textOf(content: unknown, refuse: (type: string, i: number) => void): unknown {
  if (!Array.isArray(content)) return content;
  let text = "";
  for (const [i, part] of (content as unknown[]).entries()) {
    if (!isObject(part) || typeof part.type !== "string") return content;
    const member = textTypes.get(part.type);
    const said = member === undefined ? undefined : part[member];
    if (member === undefined) refuse(part.type.slice(0, 40), i);
    else if (typeof said === "string") text += said;
    else return content;
  }
  return text;
}
