/** Grammars in llama.cpp's form, GBNF: rules, and what JSON is made of. */

import { LintelError } from "../../core/errors.js";

/** What is asked for can't be said in a grammar. The message says what, and where in the schema. */
export class Unsupported extends Error {}

/**
 * What the caller is told of it.
 * @param param the field
 * @param held what the model can't be held to, such as `a schema`
 * @param what is in it that can't be said
 */
export const notHeld = (param: string, held: string, what: string, cause: unknown): LintelError =>
  new LintelError(
    "unsupported_parameter",
    `${param}: this model can't be held to ${held} with ${what}`,
    { param, cause },
  );

/** Most that one expression may repeat in llama.cpp, which has 2000, less what stands beside it. */
const longestRepeat = 1000;

/** Repetitions of one grammar, which llama.cpp writes out one by one. */
const mostRepeated = 50_000;

/** Letters of one grammar. */
const largest = 128 * 1024;

/** No text in a schema's answer is longer, where it has a bound. */
const longestText = 20_000;

/** Characters that stand in a text as they are, but for some. */
export function characters(but: readonly string[] = []): string {
  const left = [...'"\\\x7f', ...but].map((one) => one.codePointAt(0) ?? 0).sort((a, b) => a - b);
  const ranges: CodePoints[] = [];
  let from = 0x20;
  for (const one of left) {
    if (from < one) ranges.push([from, one - 1]);
    from = one + 1;
  }
  return anyOf([...ranges, [from, 0x10ffff]]);
}

/** From a character up to another one, or to the same. */
export type CodePoints = readonly [from: number, to: number];

/** Any of some characters; halves of pairs are none, and llama.cpp takes U+0000 for the end of a token. */
export const anyOf = (ranges: readonly CodePoints[]): string =>
  `[${ranges
    .flatMap(([from, to]): CodePoints[] => [
      [Math.max(from, 1), Math.min(to, 0xd7ff)],
      [Math.max(from, 0xe000), to],
    ])
    .filter(([from, to]) => from <= to)
    .map(([from, to]) => (from === to ? code(from) : `${code(from)}-${code(to)}`))
    .join("")}]`;

/** Any character but some. */
export const anyBut = (letters: readonly string[]): string =>
  `[^${letters.map((one) => code(one.codePointAt(0) ?? 0)).join("")}]`;

const code = (point: number) => `\\U${point.toString(16).padStart(8, "0")}`;

/** Rules that JSON texts share, each with those that it uses. */
const jsonRules = {
  ws: `(" " | "\\n" [ \\t]{0,20})?`,
  hex: "[0-9a-fA-F]",
  // Halves of characters are none: they come as they are.
  escape: `"\\\\" (["\\\\/bfnrt] | "u" ([0-9a-ce-fA-CE-F] hex hex hex | [dD] [0-7] hex hex))`,
  plain: characters(),
  char: "plain | escape",
  string: `"\\"" char* "\\""`,
  digits: `"0" | [1-9] [0-9]{0,15}`,
  integer: `"-"? digits`,
  number: `"-"? digits ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?`,
  boolean: `"true" | "false"`,
  value: `object | array | string | number | boolean | "null"`,
  member: `string ":" ws value`,
  object: `"{" ws (member ("," ws member)* ws)? "}"`,
  array: `"[" ws (value ("," ws value)* ws)? "]"`,
} as const;

/** Collects the rules of one grammar; equal ones once. */
export class Gbnf {
  readonly #shared: Readonly<Record<string, string>>;
  #bodies = new Map<string, string>();
  #names = new Map<string, string>();
  #made = new Map<string, string>();
  #repeated = 0;
  #size = 0;

  /** @param shared rules that any expression may use. Default: what JSON is made of */
  constructor(shared: Readonly<Record<string, string>> = jsonRules) {
    this.#shared = shared;
  }

  /** The name of a rule for an expression. */
  rule(body: string): string {
    const known = this.#names.get(body);
    if (known) return known;
    const name = this.reserve();
    this.#names.set(body, name);
    this.define(name, body);
    return name;
  }

  /** What is made, and nothing at all where that throws: its rules may not be whole. */
  attempt<T>(make: () => T): T {
    const bodies = new Map(this.#bodies);
    const names = new Map(this.#names);
    const made = new Map(this.#made);
    const [size, repeated] = [this.#size, this.#repeated];
    try {
      return make();
    } catch (thrown) {
      [this.#bodies, this.#names, this.#made] = [bodies, names, made];
      [this.#size, this.#repeated] = [size, repeated];
      throw thrown;
    }
  }

  /** The name of what is made of several rules that use each other, the first time that it is asked for. */
  once(what: string, make: () => string): string {
    const known = this.#made.get(what) ?? make();
    this.#made.set(what, known);
    return known;
  }

  /** A name for a rule that comes later: it may use itself. */
  reserve(): string {
    const name = `r${this.#bodies.size}`;
    this.#bodies.set(name, "");
    return name;
  }

  /** Says what a name stands for. @throws Unsupported where it becomes too much */
  define(name: string, body: string): void {
    this.#bodies.set(name, body);
    this.#size += body.length;
    if (this.#size > largest) throw new Unsupported("so many parts");
  }

  /**
   * An expression several times over.
   * @param most absent: without end
   * @throws Unsupported where it is too often
   */
  repeat(expression: string, least: number, most?: number): string {
    if (most === 0) return '""';
    const name = this.rule(expression);
    if (least > longestText) throw new Unsupported(`a length of at least ${least}`);
    const parts: string[] = [];
    let left = least;
    for (; left > longestRepeat; left -= longestRepeat) parts.push(`${name}{${longestRepeat}}`);
    if (left > 0) parts.push(`${name}{${left}}`);
    const more = most === undefined ? undefined : Math.min(most, longestText) - least;
    this.#repeated += least + (more ?? 0);
    if (this.#repeated > mostRepeated) throw new Unsupported("so many bounds of lengths");
    if (more === undefined) parts.push(`${name}*`);
    else if (more > 0) parts.push(this.#upTo(name, more));
    return parts.join(" ");
  }

  #upTo(name: string, most: number): string {
    if (most <= longestRepeat) return `${name}{0,${most}}`;
    const rest = this.rule(this.#upTo(name, most - longestRepeat));
    return `(${name}{0,${longestRepeat - 1}} | ${name}{${longestRepeat}} ${rest})`;
  }

  /** The grammar. @param root what all of a text is */
  text(root: string): string {
    const own = [...this.#bodies].map(([name, body]) => `${name} ::= ${body}`);
    const all = Object.entries(this.#shared).map(([name, body]) => `${name} ::= ${body}`);
    return [`root ::= ${root}`, ...own, ...all].join("\n");
  }
}

/** A text as it is. It has no U+0000. */
export const literal = (text: string) =>
  `"${text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;

/** One of several. */
export const either = (alternatives: readonly string[]) =>
  alternatives.length === 1 ? (alternatives[0] as string) : `(${alternatives.join(" | ")})`;
