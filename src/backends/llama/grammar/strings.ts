/** Texts of a length or a format, in a grammar. */
import type { JsonObject } from "../../../core/json.js";
import { anyBut, characters, type Gbnf, literal, Unsupported } from "../../gbnf/gbnf.js";
import { overlap } from "../../stop.js";

const date =
  '[0-9]{4} "-" ("02-" ("0" [1-9] | "1" [0-9] | "2" [0-8]) | ("01" | "03" | "05" | "07" | "08" | "10" | "12") "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ("04" | "06" | "09" | "11") "-" ("0" [1-9] | [12] [0-9] | "30"))';
const time =
  '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])';
const byte = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9] [0-9] | [0-9])';
const label = "[a-z0-9] ([-]? [a-z0-9]){0,20}";
const host = `${label} ("." ${label}){0,5}`;

/** What is between the quotes. Nobody is given less than what a format asks for; of some not all that it allows. */
const formats: Readonly<Record<string, string>> = {
  date,
  time,
  "date-time": `${date} "T" ${time}`,
  duration: '"P" ([0-9]{1,6} [DWMY] | "T" [0-9]{1,6} [HMS])',
  email: `[A-Za-z0-9_] ([.+-]? [A-Za-z0-9_]){0,30} "@" (${label} "."){1,4} [a-z]{2,10}`,
  hostname: host,
  ipv4: `${byte} ("." ${byte}){3}`,
  ipv6: 'hex{1,4} (":" hex{1,4}){7}',
  uuid: 'hex{8} "-" hex{4} "-" [1-8] hex{3} "-" [89abAB] hex{3} "-" hex{12}',
  uri: `("https" | "http") "://" ${host} ("/" [A-Za-z0-9._~-]*)*`,
};

/** Those of the standard that are not made; what is none of it says nothing. */
const unmade: ReadonlySet<string> = new Set([
  ...["idn-email", "idn-hostname", "uri-reference", "iri", "iri-reference", "uri-template"],
  ...["json-pointer", "relative-json-pointer", "regex"],
]);

/** A text that fits a schema. @throws Unsupported */
export function stringOf(schema: JsonObject, grammar: Gbnf): string {
  const text = textOf(schema, "char", grammar);
  return text === undefined ? "string" : `"\\"" ${text} "\\""`;
}

/**
 * A text that fits a schema and stands there as it is.
 * @param end does not occur in it
 * @throws Unsupported
 */
export function bareText(schema: JsonObject, end: string, grammar: Gbnf): string {
  if ("pattern" in schema) throw new Unsupported('"pattern"');
  // Where they are counted none has the mark's first letter.
  const counted = anyBut([end.slice(0, 1)]);
  return textOf(schema, counted, grammar) ?? textWithout(end, grammar);
}

/** What is between the quotes; `undefined`: any text. */
function textOf(
  { format, minLength, maxLength }: JsonObject,
  char: string,
  grammar: Gbnf,
): string | undefined {
  const least = typeof minLength === "number" ? minLength : 0;
  const most = typeof maxLength === "number" ? maxLength : undefined;
  if (typeof format === "string") {
    if (unmade.has(format)) throw new Unsupported(`the format "${format}"`);
    const made = formats[format];
    if (made) {
      if (least > 1 || most !== undefined) throw new Unsupported(`"format" beside a length`);
      return grammar.rule(made);
    }
  }
  if (most !== undefined && most < least) throw new Unsupported("a length that no text has");
  return least === 0 && most === undefined ? undefined : grammar.repeat(char, least, most);
}

/** Any text in which a mark does not occur: it is in one of as many states as the mark has letters. */
export const textWithout = (mark: string, grammar: Gbnf): string =>
  grammar.once(`text without ${mark}`, () => withoutMark(mark, grammar));

function withoutMark(mark: string, grammar: Gbnf): string {
  const letters = [...new Set(mark)];
  const names = [...mark].map(() => grammar.reserve());
  for (const [i, name] of names.entries()) {
    const written = [...mark].slice(0, i).join("");
    // All others in one class: each alternative is one more that llama.cpp tries with every token.
    const leading = letters
      .map((letter) => ({ letter, to: begun(written + letter, mark) }))
      .filter(({ to }) => to > 0);
    const going = leading
      .filter(({ to }) => to < names.length)
      .map(({ letter, to }) => `${literal(letter)} ${names[to]}`);
    const others = anyBut(leading.map(({ letter }) => letter));
    grammar.define(name, [...going, `${others} ${names[0]}`, '""'].join(" | "));
  }
  return names[0] as string;
}

/** How much of a mark stands at the end of a text. */
function begun(text: string, mark: string): number {
  if (text.endsWith(mark)) return mark.length;
  return overlap(text, mark);
}

/**
 * A name in JSON that is none of some others.
 * @param names as they stand in JSON, without quotes
 */
export function nameBut(names: readonly string[], grammar: Gbnf): string {
  if (names.length === 0) return "string";
  if (names.some((name) => /["\\]/.test(JSON.stringify(name).slice(1, -1)))) {
    throw new Unsupported("further members beside names with quotes or control characters");
  }
  return `"\\"" ${grammar.rule(notOf(names.map((name) => [...name])))}`;
}

/** The rest of a name that is no rest of others, and the quote behind it. No escapes: they might spell one. */
function notOf(names: readonly (readonly string[])[]): string {
  const heads = new Map<string, (readonly string[])[]>();
  for (const [head, ...rest] of names) {
    if (head !== undefined) heads.set(head, [...(heads.get(head) ?? []), rest]);
  }
  const found = [`${characters([...heads.keys()])} plain* "\\""`];
  for (const [head, rests] of heads) found.push(`${literal(head)} (${notOf(rests)})`);
  if (names.every(({ length }) => length > 0)) found.push('"\\""');
  return found.join(" | ");
}
