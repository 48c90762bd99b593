/**
 * What a model server wants to see again of its thoughts, where clients keep it as one text: OpenAI's
 * as `encrypted_content`, Anthropic's as `signature`. It is base64 of a JSON array, and nothing for
 * them to read. The thoughts themselves may follow it, for clients that send nothing else back.
 */
import { areObjects, isJsonOf, type JsonObject, parseJson } from "../../core/json.js";

/** The type of a detail that has the text of the thoughts, for a client that is not to see it, or may not keep it. */
export const thinkingType = "lintel.thinking";

/** Details with the text of the thoughts ahead of them. @param details those that the model server wants to see again */
export const withThinking = (text: string, details: readonly JsonObject[]): string =>
  JSON.stringify([{ type: thinkingType, text }, ...details]);

/** Tells that text from the details that are the model server's. @returns no text where there is none */
export function thinkingIn(details: readonly JsonObject[]) {
  const text = details.find(({ type }) => type === thinkingType)?.text;
  return typeof text === "string"
    ? { text, details: details.filter(({ type }) => type !== thinkingType) }
    : { text: undefined, details };
}

/**
 * @param details JSON array as text; empty: nothing
 * @param thoughts what was thought; empty: that comes back elsewhere
 */
export function sealed(details: string, thoughts = ""): string {
  const kept = base64(details || "[]");
  return thoughts === "" ? kept : kept + between + base64(thoughts);
}

/** No letter of base64. */
const between = ".";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The details in one of ours, as text; nothing in somebody else's. */
export function unsealed(text: string): string {
  const details = detailsText(text);
  const isList = isJsonOf(details, (value) => areObjects(value) && value.length > 0);
  return isList ? JSON.stringify(parseJson(details)) : "";
}

/** The thoughts in one of ours; nothing in somebody else's. */
export function unsealedThoughts(text: string): string {
  const end = text.indexOf(between);
  if (end === -1 || !isJsonOf(detailsText(text), areObjects)) return "";
  return Buffer.from(text.slice(end + between.length), "base64").toString();
}

function detailsText(text: string): string {
  const end = text.indexOf(between);
  return Buffer.from(end === -1 ? text : text.slice(0, end), "base64").toString();
}
