/**
 * Texts as who reads them takes them, where they are written otherwise: with characters that nobody
 * sees, with digits and letters in other forms or of other scripts, and with the codes that URLs, JSON and HTML have.
 */
import type { Span } from "./finder.js";
import { openWord, withoutLookalikes } from "./lookalikes.js";

/** A text without its disguise. */
export interface Undisguised {
  readonly text: string;
  /** Where a part of it stands in the text as it was written, with what nobody sees behind it. */
  spanOf(part: Span): Span;
  /** Where a place of it is there. */
  at(place: number): number;
}

/** Names that HTML has for signs in what is looked for, and between them. */
const ofHtml: ReadonlyMap<string, string> = new Map([
  ["nbsp", "\u00a0"],
  ["commat", "@"],
  ["period", "."],
  ["lowbar", "_"],
  ["colon", ":"],
  ["equals", "="],
  ["plus", "+"],
  ["sol", "/"],
  ["shy", "\u00ad"],
  ["zwj", "\u200d"],
  ["zwnj", "\u200c"],
]);

/**
 * Codes of one character each. JSON in a string of JSON has two backslashes for one, and so on, an address in one of
 * another `%25` for `%`, and HTML in HTML `&amp;` for `&`: a code has all of them, so that none is left over that would
 * take what stands in its place for one of its own.
 */
const codes =
  "(?<!\\\\)\\\\{1,8}(?:u[\\da-fA-F]{4}|x[\\da-fA-F]{2})|%(?:25){0,3}(?:0[9aAdD]|[2-7][\\da-fA-F])" +
  `|&(?:amp;){0,3}(?:${[...ofHtml.keys()].join("|")}|#(?:\\d{1,5}|[xX][\\da-fA-F]{1,4}));`;

/** What nobody sees between two characters: marks, what is ignorable, control characters that are no blanks. */
const unseen = "\\p{Default_Ignorable_Code_Point}\\p{M}\\0-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f";

/** Forms of ASCII: superscripts, in circles, of full width, of mathematics, and so on; not the signs between words of Chinese. */
const forms =
  "\\u00aa\\u00b2\\u00b3\\u00b9\\u00ba\\u017f\\u2070-\\u209f\\u2100-\\u2134\\u2160-\\u217f\\u2460-\\u24ff\\ufe52\\ufe63\\ufe6b" +
  "\\uff05\\uff0b\\uff0d\\uff0e\\uff10-\\uff19\\uff20-\\uff3a\\uff3f\\uff41-\\uff5a\\u{1d400}-\\u{1d7ff}";

/** Of what nobody sees so many at a time: of a row of millions V8 would keep each on a stack, and throw. */
const pieces = `${codes}|[${unseen}]{1,1000}|[${forms}]|(?!\\d)\\p{Nd}`;
const disguised = new RegExp(pieces, "u");
const eachDisguised = new RegExp(pieces, "gu");

const isUnseen = new RegExp(`[${unseen}]`, "u");
const isDigit = /^\p{Nd}$/u;

/** A code, or a character, that is not complete, at the end of a text that goes on. */
const begunCode =
  /(?:\\{1,8}(?:u[\da-f]{0,3}|x[\da-f]?)?|%(?:25){0,3}[02-7]?|&(?:amp;){0,3}(?:[a-z]{1,6}|#(?:\d{0,5}|x[\da-f]{0,4}))?|[\ud800-\udbff])$/i;

/** Where a code, a character or a word of several scripts begins that is not complete at the end of a text; its length: nowhere. */
export function openCode(text: string): number {
  const from = Math.max(0, text.length - longestCode);
  const begun = begunCode.exec(text.slice(from));
  return Math.min(begun ? from + begun.index : text.length, openWord(text));
}
const longestCode = 20;

/** A text without its disguise; `undefined` where it has none, as a rule. */
export function undisguised(text: string): Undisguised | undefined {
  if (!disguised.test(text)) {
    const plain = withoutLookalikes(text);
    return plain === text
      ? undefined
      : { text: plain, at: (place) => place, spanOf: (part) => part };
  }
  let plain = "";
  let copied = 0;
  // Few of a text's pieces are others than those before them, and each takes as long as a hundred letters.
  const known = new Map<string, string>();
  // Behind each piece, where that is in both.
  const behind = { there: [0], here: [0] };
  for (const { index, 0: piece } of text.matchAll(eachDisguised)) {
    const sign = known.get(piece) ?? plainOf(piece);
    known.set(piece, sign);
    plain += text.slice(copied, index) + sign;
    copied = index + piece.length;
    behind.there.push(plain.length);
    behind.here.push(copied);
  }
  plain += text.slice(copied);
  const at = (place: number): number => {
    const i = lastUpTo(behind.there, place);
    return (behind.here[i] as number) + place - (behind.there[i] as number);
  };
  return {
    text: withoutLookalikes(plain),
    at,
    spanOf: ({ start, end }) => ({ start: at(start), end: at(end) }),
  };
}

/** The last of numbers in their order that is not above one; the first is not. */
function lastUpTo(numbers: readonly number[], most: number): number {
  let low = 0;
  let high = numbers.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] as number) <= most) low = middle;
    else high = middle;
  }
  return low;
}

/** What stands for a piece: as long a text, or one unit of UTF-16, or nothing. */
function plainOf(piece: string): string {
  const sign = decoded(piece);
  if (isUnseen.test(sign)) return "";
  const form = sign.normalize("NFKC");
  if (isDigit.test(form)) return String(digitValue(form.codePointAt(0) as number));
  return form.length === 1 ? form : sign;
}

/** The character of a code; what is none is as it is. */
function decoded(piece: string): string {
  if (!/^[\\%&]/.test(piece)) return piece;
  const [, name = ""] = /([a-z]+);$/.exec(piece) ?? [];
  const named = ofHtml.get(name);
  if (named !== undefined) return named;
  if (piece.startsWith("%")) return String.fromCharCode(Number.parseInt(piece.slice(-2), 16));
  const [digits = ""] = /[\da-f]+(?=;?$)/i.exec(piece) ?? [];
  const isDecimal = /#\d/.test(piece);
  const code = Number.parseInt(digits, isDecimal ? 10 : 16);
  return code <= 0xffff ? String.fromCharCode(code) : piece;
}

/** Unicode has the ten digits of a script behind each other, and those of another at the next ten at the earliest. */
function digitValue(digit: number): number {
  let before = 0;
  while (isDigit.test(String.fromCodePoint(digit - before - 1))) before++;
  return before % 10;
}
