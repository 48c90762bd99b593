/** Numbers of bodies that JavaScript has none for, where they are handed on as they were written. */
import { isObject, type JsonObject } from "../../core/json.js";
import { keep, parseForKeeping } from "../../core/long-numbers.js";
import { below, type Known } from "./known.js";

/**
 * Puts those numbers back into what is handed on as it was written.
 * @param json what `JSON.parse` made of the text; changed in place
 * @param known what is read of it; what is `verbatim` gets them
 */
export function putBack(text: string, json: JsonObject, known: Known): void {
  if (!hasVerbatim(known)) return;
  into(json, parseForKeeping(text) as JsonObject, known);
}

/** Whether anything is handed on as it was written. */
const hasVerbatim = (known: Known): boolean =>
  known === "verbatim" || (known instanceof Map && [...known.values()].some(hasVerbatim));

function into(json: Record<string, unknown>, whole: JsonObject, known: Known): void {
  for (const [key, value] of Object.entries(json)) {
    const own = below(known, key);
    const other = whole[key];
    if (own === "verbatim") {
      if (typeof value !== "object" || value === null) continue;
      keep(other as object);
      json[key] = other;
    } else if (own instanceof Map) {
      // Items of a list are read as the list is.
      const [values, others] = Array.isArray(value)
        ? [value, other as unknown[]]
        : [[value], [other]];
      for (const [i, item] of values.entries()) {
        if (isObject(item)) into(item, others[i] as JsonObject, own);
      }
    }
  }
}
