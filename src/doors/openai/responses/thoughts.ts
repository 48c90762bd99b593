/** Items of thoughts that clients send back, to those of the contract's messages. */
import type { Violation } from "../../../core/errors.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { Thoughts } from "../../../core/reasoning.js";
import { unsealed } from "../../json/kept-thoughts.js";

/** What an item says. */
export interface Thought {
  readonly text: string;
  /** JSON array as text; empty: nothing. */
  readonly details: string;
}

/**
 * Reads an item: the thoughts themselves, else their summaries, else what was encrypted of them here. What somebody
 * else has encrypted is passed over, since no model server here can read it.
 * @param at where it stands
 * @param into gets what is wrong of it
 */
export function readThoughts(
  { content, summary, encrypted_content: kept }: JsonObject,
  at: string,
  into: Violation[],
): Thought {
  const said = textOf(content, `${at}.content`, into);
  const summed = textOf(summary, `${at}.summary`, into);
  if (typeof (kept ?? "") !== "string") {
    into.push({ field: `${at}.encrypted_content`, message: "must be a string" });
  }
  if (typeof kept !== "string" || kept === "") return { text: said || summed, details: "" };
  const { thinking, details } = unsealed(kept) ?? { thinking: "", details: [] };
  return {
    text: said || summed || thinking,
    details: details.length > 0 ? JSON.stringify(details) : "",
  };
}

/** The texts of parts. */
function textOf(parts: unknown, at: string, into: Violation[]): string {
  if (parts === undefined || parts === null) return "";
  if (!Array.isArray(parts)) {
    into.push({ field: at, message: "must be an array of parts" });
    return "";
  }
  const texts = (parts as unknown[]).map((part) => (isObject(part) ? part.text : undefined));
  const wrong = texts.findIndex((text) => typeof text !== "string");
  if (wrong !== -1) into.push({ field: `${at}[${wrong}].text`, message: "must be a string" });
  return paragraphs(texts.filter((text) => typeof text === "string"));
}

/** Those of one message, as the contract has them in JSON; members are absent where there is nothing. */
export function joined(thoughts: readonly Thought[]): object {
  if (thoughts.length === 0) return {};
  const all = new Thoughts();
  for (const { details } of thoughts) all.add({ reasoningDetails: details });
  const text = paragraphs(thoughts.map((it) => it.text));
  const { reasoningDetails } = all.all;
  return {
    ...(text !== "" && { reasoning_content: text }),
    ...(reasoningDetails && { reasoning_details: reasoningDetails }),
  };
}

const paragraphs = (texts: readonly string[]): string => texts.filter(Boolean).join("\n\n");
