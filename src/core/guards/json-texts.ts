/** Texts that stand in JSON: each is looked at as it is meant, and what takes its place leaves the rest JSON. */
import { parseJson } from "../json.js";
import { endOfString } from "../json-keys.js";

/** A string's quote, a number, or where an object begins or ends. */
const value = /["{}]|-?\d[\d.eE+-]*/g;

/** Behind the name of a member. */
const colon = /\s*:/y;

/** Names of one object's members. Those that are masked alike get numbers, so that none takes the place of another. */
export class MemberNames {
  readonly #taken = new Set<string>();
  /** Those of which one at least was masked, and the last number that one got. */
  readonly #masked = new Map<string, number>();

  /** @returns the name, or where it is another's by masking, one that is nobody's */
  add(name: string, isMasked: boolean): string {
    let own = name;
    if (isMasked ? this.#taken.has(name) : this.#masked.has(name)) {
      let number = this.#masked.get(name) ?? 1;
      do own = `${name} ${++number}`;
      while (this.#taken.has(own));
      this.#masked.set(name, number);
    }
    if (isMasked || own !== name) this.#masked.set(own, this.#masked.get(own) ?? 1);
    this.#taken.add(own);
    return own;
  }
}

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
 * @param map is told of the value of a member its name, as it is written
 */
export function mapJsonTexts(json: string, map: (text: string, member?: string) => string): string {
  if (parseJson(json) === undefined) {
    if (json === "") return json;
    const meant = asMeant(json);
    const mapped = map(meant);
    return mapped === meant ? json : mapped;
  }
  let out = "";
  let copied = 0;
  const objects: MemberNames[] = [];
  let member: string | undefined;
  value.lastIndex = 0;
  for (let found = value.exec(json); found; found = value.exec(json)) {
    const { index: begin } = found;
    if (found[0] === "{") objects.push(new MemberNames());
    if (found[0] === "}") objects.pop();
    if (found[0] === "{" || found[0] === "}") {
      member = undefined;
      continue;
    }
    const isString = found[0] === '"';
    const end = isString ? endOfString(json, begin) : begin + found[0].length;
    const text = isString ? (JSON.parse(json.slice(begin, end)) as string) : found[0];
    const mapped = text === "" ? text : map(text, member);
    colon.lastIndex = end;
    const names = colon.test(json) ? objects.at(-1) : undefined;
    member = names && text;
    const told = names ? names.add(mapped, mapped !== text) : mapped;
    if (told !== text) {
      out += json.slice(copied, begin) + JSON.stringify(told);
      copied = end;
    }
    // The expression is one for all: what `map` does must not move it.
    value.lastIndex = end;
  }
  return copied === 0 ? json : out + json.slice(copied);
}
