/**
 * Numbers of JSON that JavaScript has none for, where they are handed on as they were written: it
 * rounds long integers (9007199254740993), and of what is too large (1e400) it makes null.
 */
import { parseJson } from "./json.js";
import { endOfString } from "./json-keys.js";
import { randomId } from "./random-id.js";

/** Not known to anybody, who could write it otherwise. */
const mark = `${randomId(24)}:`;
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A number as it was written, which {@link asWritten} puts back once it stands in JSON. */
class LongNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): string {
    return this.#text;
  }
}

/** As `JSON.parse` does it, but for those numbers. @param text valid JSON @throws RangeError if it is nested too deeply */
export const parseKeeping = (text: string): unknown =>
  JSON.parse(withMarks(text), (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? new LongNumber(value) : value,
  );

/**
 * As `parseJson` does it, but that each of those numbers is a text, which {@link asWritten} knows: for
 * those who take apart, or write out, what there is in JSON alone.
 */
export function parseMarked(text: string): unknown {
  const parsed = parseJson(text);
  if (parsed === undefined || !suspicious.test(text)) return parsed;
  return JSON.parse(withMarks(text.replace(/^\ufeff/, "")));
}

/** What such a number may be known by. */
const suspicious = /\d{16}|[eE]\+?\d{3}|-0(?![\d.])/;

const marked = new RegExp(`(?:\\\\{0,7}")?${mark}(-?[\\d.eE+-]+)(?:\\\\{0,7}")?`, "g");

/** A text with those numbers as they were written, also in a text of JSON within it. */
export const asWritten = (text: string): string =>
  text.includes(mark) ? text.replaceAll(marked, "$1") : text;

/** As `JSON.stringify` does it, and with all the digits of those numbers. */
export const jsonText = (value: unknown): string => asWritten(JSON.stringify(value));

/** The text with each of those numbers as a string. */
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

function inMarks(written: string): string {
  const value = Number(written);
  const isKept = Number.isFinite(value) && (!Number.isInteger(value) || isSafe(value));
  return isKept ? written : `"${mark}${written}"`;
}

/** -0 is none for JSON. */
const isSafe = (value: number) => Number.isSafeInteger(value) && !Object.is(value, -0);
