/**
 * Numbers of JSON that JavaScript has none for, where they are handed on as they were written: it
 * rounds long integers (9007199254740993), and of what is too large (1e400) it makes null.
 */
import { parseJson } from "./json.js";
import { endOfString } from "./json-keys.js";
import { randomId } from "./random-id.js";

/** Not known to anybody, who could write it otherwise. */
const mark = `${randomId(24)}:`;
/**
 * Those among a JSON text's numbers that may be such: with an exponent, of many digits, or -0. The others, of which
 * there may be millions, are not looked at one by one. Not `\d{16,}`, of which V8 keeps each digit on a stack: of
 * five million it has none left, and throws.
 */
const candidate =
  /(?<![\d.eE+-])(?:-?\d+(?:\.\d+)?[eE][+-]?\d+|-?\d{16}\d*(?:\.\d+)?|-0(?:\.0+)?(?![\d.eE]))/g;

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

/** As `JSON.parse` does it, but that those numbers are texts, until {@link keep} has looked at them. @param text valid JSON */
export const parseForKeeping = (text: string): unknown => JSON.parse(withMarks(text));

/**
 * Makes numbers of those texts, wherever they stand in a value, which may be nested without end.
 * `JSON.parse` does that itself, too, and takes ten times as long.
 */
export function keep(value: object): void {
  const open = [value as Record<string, unknown>];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const key in next) {
      const one = next[key];
      if (typeof one === "string") {
        if (one.startsWith(mark)) next[key] = new LongNumber(one);
      } else if (typeof one === "object" && one !== null) {
        open.push(one as Record<string, unknown>);
      }
    }
  }
}

/**
 * As `parseJson` does it, but that each of those numbers is a text, which {@link asWritten} knows: for
 * those who take apart, or write out, what there is in JSON alone.
 */
export function parseMarked(text: string): unknown {
  const parsed = parseJson(text);
  if (parsed === undefined || !losesNumbers(text)) return parsed;
  return JSON.parse(withMarks(text.replace(/^\ufeff/, "")));
}

/** Whether there may be such a number in a JSON text. */
export const losesNumbers = (text: string): boolean => suspicious.test(text);

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
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const begin = quote < 0 ? text.length : quote;
    // -0 is the shortest one.
    if (begin - at > 1) {
      const between = text.slice(at, begin);
      const marked = between.replaceAll(candidate, inMarks);
      if (marked !== between) {
        pieces.push(text.slice(copied, at), marked);
        copied = begin;
      }
    }
    at = quote < 0 ? begin : endOfString(text, begin);
  }
  pieces.push(text.slice(copied));
  return pieces.join("");
}

function inMarks(written: string): string {
  const value = Number(written);
  const isKept = Number.isFinite(value) && (!Number.isInteger(value) || isSafe(value));
  return isKept ? written : `"${mark}${written}"`;
}

/** -0 is none for JSON. */
const isSafe = (value: number) => Number.isSafeInteger(value) && !Object.is(value, -0);
