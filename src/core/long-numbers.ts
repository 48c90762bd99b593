/**
 * Numbers of JSON that JavaScript has none for, where they are handed on as they were written: it
 * rounds long integers (9007199254740993), and of what is too large (1e400) it makes null.
 */
import { isTooDeep, parseJson } from "./json.js";
import { endOfString } from "./json-keys.js";
import { randomId } from "./random-id.js";

/**
 * Not known to anybody, who could write it otherwise. It begins with a letter that texts of one byte a letter can't
 * have, and others hardly do: what has none, as nearly all texts, is soon looked through for it.
 */
const mark = `\ue000${randomId(24)}:`;
/**
 * How those among a JSON text's numbers begin that may be such: with an exponent, of many digits, or -0. The others, of
 * which there may be millions, are not looked at one by one. No row is without a bound here: V8 keeps each sign of `\d{16,}`
 * on a stack, and of `\d+`, too, once a process has made so much code for expressions that it makes it no better; of
 * five million there is no room left, and it throws.
 */
const candidate =
  /(?<![\d.eE+-])(?=-?\d{16}|-?\d{1,15}(?:\.\d{1,30})?[eE]|-?\d{1,15}\.\d{31}|-0(?:\.0{1,30})?(?![\d.eE]))/g;

/** What is no part of a number. */
const other = /[^\d.eE+-]/g;

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

/** Whether a value is one of those numbers, and no object of the text. */
export const isLongNumber = (value: unknown): boolean => value instanceof LongNumber;

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

/** A mark, with what begins its string, also in a text of JSON within another one. */
const opening = new RegExp(`(?:\\\\{0,7}")?${mark}`, "g");

const closing = /\\{0,7}"/y;

/** A text with those numbers as they were written, also in a text of JSON within it. */
export const asWritten = (text: string): string =>
  text.includes(mark) ? replaceNumbers(text, opening, (written) => written, closing) : text;

/** As `JSON.stringify` does it, and with all the digits of those numbers. */
export const jsonText = (value: unknown): string => asWritten(JSON.stringify(value));

/** As {@link jsonText} does it, of what others have nested; `undefined` where that is too deep. */
export const embeddedJson = (value: unknown): string | undefined =>
  isTooDeep(value) ? undefined : jsonText(value);

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
      const marked = replaceNumbers(between, candidate, inMarks);
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

/**
 * A text with something else in the place of numbers.
 * @param before finds what stands before one, and is replaced with it; global
 * @param after what may stand behind one, and is replaced with it; sticky
 */
function replaceNumbers(
  text: string,
  before: RegExp,
  instead: (written: string) => string,
  after?: RegExp,
): string {
  const pieces: string[] = [];
  let copied = 0;
  before.lastIndex = 0;
  for (let found = before.exec(text); found; found = before.exec(text)) {
    const begin = before.lastIndex;
    other.lastIndex = begin;
    let end = other.test(text) ? other.lastIndex - 1 : text.length;
    if (end === begin) continue;
    const written = text.slice(begin, end);
    if (after) {
      after.lastIndex = end;
      if (after.test(text)) end = after.lastIndex;
    }
    before.lastIndex = end;
    const made = instead(written);
    if (made === written && begin === found.index) continue;
    pieces.push(text.slice(copied, found.index), made);
    copied = end;
  }
  if (copied === 0) return text;
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
