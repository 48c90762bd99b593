/** Texts that stand in JSON: each is looked at as it is meant, and what takes its place leaves the rest JSON. */
import { parseJson } from "../json.js";
import { endOfString } from "../json-keys.js";

/** A string's quote, or a number. */
const value = /"|-?\d[\d.eE+-]*/g;

/** A backslash with what belongs to it, and the code of a character where it has one. */
const escaped = /\\(?:u([\da-f]{4})|.)/gis;

/** The same text with characters in the place of their codes, but for those that JSON has escaped. */
const asMeant = (text: string): string =>
  text.replace(escaped, (found, code?: string) => {
    const letter = code === undefined ? "" : String.fromCharCode(Number.parseInt(code, 16));
    return letter === "" || /["\\\p{Cc}]/u.test(letter) ? found : letter;
  });

/**
 * JSON with others in the place of its texts: of each string, keys too, and each number, since
 * numbers of cards are some. All else stays as it is written. What is no JSON is one text, in which
 * `\u0040` is what it stands for: who reads arguments that were cut off reads it so.
 */
export function mapJsonTexts(json: string, map: (text: string) => string): string {
  if (parseJson(json) === undefined) {
    if (json === "") return json;
    const meant = asMeant(json);
    const mapped = map(meant);
    return mapped === meant ? json : mapped;
  }
  let out = "";
  let copied = 0;
  value.lastIndex = 0;
  for (let found = value.exec(json); found; found = value.exec(json)) {
    const { index: begin } = found;
    const isString = found[0] === '"';
    const end = isString ? endOfString(json, begin) : begin + found[0].length;
    const text = isString ? (JSON.parse(json.slice(begin, end)) as string) : found[0];
    const mapped = text === "" ? text : map(text);
    if (mapped !== text) {
      out += json.slice(copied, begin) + JSON.stringify(mapped);
      copied = end;
    }
    // The expression is one for all: what `map` does must not move it.
    value.lastIndex = end;
  }
  return copied === 0 ? json : out + json.slice(copied);
}
