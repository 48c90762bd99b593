/**
 * What a model server wants to see again of its thoughts, where clients keep it as one text: OpenAI's
 * as `encrypted_content`, Anthropic's as `signature`. It is base64 of a JSON array, and nothing for
 * them to read.
 */
import { areObjects, isJsonOf, parseJson } from "../../core/json.js";

/** @param details JSON array as text; empty: nothing */
export const sealed = (details: string): string => Buffer.from(details || "[]").toString("base64");

/** The details in one of ours, as text; nothing in somebody else's. */
export function unsealed(text: string): string {
  const details = Buffer.from(text, "base64").toString();
  const isList = isJsonOf(details, (value) => areObjects(value) && value.length > 0);
  return isList ? JSON.stringify(parseJson(details)) : "";
}
