/** Integers of bodies that are longer than JavaScript's, where they are handed on as they were written. */
import { isObject, type JsonObject } from "../../core/json.js";
import { endOfString } from "../../core/json-keys.js";
import { randomId } from "../../core/random-id.js";
import { below, type Known } from "./known.js";

/** Not known to callers, who could write it otherwise. */
const mark = `${randomId(24)}:`;
const marked = new RegExp(`"${mark}(-?\\d+)"`, "g");
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** An integer of a JSON text, which {@link jsonText} writes as it stood there. */
class LongInteger {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): string {
    return this.#text;
  }
}

/**
 * Puts the integers that are longer than JavaScript's back into what is handed on as it was written.
 * @param json what `JSON.parse` made of the text; changed in place
 * @param known what is read of it; what is `verbatim` gets them
 */
export function putBack(text: string, json: JsonObject, known: Known): void {
  if (!hasVerbatim(known)) return;
  let whole: unknown;
  try {
    whole = JSON.parse(withMarks(text), (_, value: unknown) =>
      typeof value === "string" && value.startsWith(mark) ? new LongInteger(value) : value,
    );
  } catch {
    // Nested deeper than V8 looks at each value: what is to be written out again is refused for that.
    return;
  }
  into(json, whole as JsonObject, known);
}

/** As `JSON.stringify` does it, and with all the digits of long integers. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(mark) ? text.replaceAll(marked, "$1") : text;
}

/** Whether anything is handed on as it was written. */
const hasVerbatim = (known: Known): boolean =>
  known === "verbatim" || (known instanceof Map && [...known.values()].some(hasVerbatim));

function into(json: Record<string, unknown>, whole: JsonObject, known: Known): void {
  for (const [key, value] of Object.entries(json)) {
    const own = below(known, key);
    const other = whole[key];
    if (own === "verbatim") {
      if (typeof value === "object") json[key] = other;
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

/** The text with each integer that is too long as a string. */
function withMarks(text: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const begin = quote < 0 ? text.length : quote;
    const end = quote < 0 ? begin : endOfString(text, begin);
    pieces.push(text.slice(at, begin).replaceAll(number, inMarks), text.slice(begin, end));
    at = end;
  }
  return pieces.join("");
}

const inMarks = (written: string): string =>
  /^-?\d+$/.test(written) && !Number.isSafeInteger(Number(written))
    ? `"${mark}${written}"`
    : written;
