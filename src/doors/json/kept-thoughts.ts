/**
 * What a model server wants to see again of its thoughts, where clients keep it as one text: OpenAI's
 * as `encrypted_content`, Anthropic's and Google's as a signature. It is base64 of a JSON array, and
 * nothing for them to read. The thoughts themselves may be in it, for a client that sends nothing else back.
 */
import { areObjects, isTooDeepIn, type JsonObject, parseJson } from "../../core/json.js";
import { detailsIn } from "../../core/reasoning.js";

/** The type of a detail that has the text of the thoughts, for a client that is not to see it, or may not keep it. */
export const thinkingType = "lintel.thinking";

/** What is kept. */
export interface Kept {
  /** What was thought; empty: that comes back elsewhere. */
  readonly thinking: string;
  /** Those that the model server wants to see again. */
  readonly details: readonly JsonObject[];
}

/**
 * @param details a JSON array as text; empty: nothing
 * @param thinking what was thought; empty: that comes back elsewhere
 */
export const sealed = (details: string, thinking = ""): string =>
  base64(
    thinking === ""
      ? details || "[]"
      : JSON.stringify([{ type: thinkingType, text: thinking }, ...detailsIn(details)]),
  );

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** What is in one of ours; `undefined`: it is somebody else's. */
export function unsealed(text: string): Kept | undefined {
  const json = Buffer.from(text, "base64").toString();
  const all = parseJson(json);
  if (!areObjects(all) || isTooDeepIn(json, all)) return undefined;
  const { text: thinking } = all.find(isThinking) ?? {};
  return typeof thinking === "string"
    ? { thinking, details: all.filter((detail) => !isThinking(detail)) }
    : { thinking: "", details: all };
}

const isThinking = ({ type }: JsonObject) => type === thinkingType;
