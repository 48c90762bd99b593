/**
 * What a model server wants to see again of its thoughts, where clients keep it as one text: OpenAI's
 * as `encrypted_content`, Anthropic's as `signature`. It is base64 of a JSON array, and nothing for
 * them to read.
 */
import { isObject, parseJson } from "../../core/json.js";

/** @param details JSON array as text; empty: nothing */
export const sealed = (details: string): string => Buffer.from(details || "[]").toString("base64");

/** The details in one of ours, as text; nothing in somebody else's. */
export function unsealed(text: string): string {
  const details = Buffer.from(text, "base64").toString();
  const list = parseJson(details);
  if (!Array.isArray(list) || list.length === 0 || !list.every(isObject)) return "";
  try {
    return JSON.stringify(list);
  } catch {
    // Nested too deeply for the stack: not ours, which were written that way.
    return "";
  }
}
