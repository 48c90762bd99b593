/** Expressions as grammars: llama.cpp lets through what RE2 says that they match, and nothing else. */
import { RE2JS } from "re2js";
import { describe, expect, it } from "vitest";
import { Gbnf } from "../../src/backends/gbnf/gbnf.js";
import { regexIn } from "../../src/backends/gbnf/regex.js";
import { fits, grammarOf } from "./llama-grammars.js";

const grammarFor = (expression: string) => {
  const grammar = new Gbnf({});
  return grammar.text(regexIn(expression, grammar));
};

/** Pieces that texts are made of, to be matched or not. */
const pieces = ["a", "b", "ab", "A", "1", "12", "-", " ", "\n", '"', "\\", "é", "ſ", "K", "😀"];

/** All texts of up to three pieces. */
const texts = [
  "",
  ...pieces,
  ...pieces.flatMap((one) => pieces.map((other) => one + other)),
].flatMap((text) => [text, `${text}b`]);

describe("a grammar of an expression", () => {
  it.each([
    ["a text", "ab"],
    ["one of several", "a|ab|1|"],
    ["as often as it likes", "a*b+1?"],
    ["so often", "(?:ab){1,2}|[ab]{3,}"],
    ["characters of a class", "[a-z1-9]+"],
    ["characters of none", "[^ab\\n]*"],
    ["any in a line", ".*"],
    ["any at all", "(?s).*"],
    ["letters and digits by name", "\\w\\d|\\s.|\\S\\D"],
    ["those of Unicode", "\\pL+"],
    ["in any case", "(?i)ab|s|k"],
    ["bounds of the text", "^ab$|^(?:a|b)$"],
    ["bounds where no text has them", "a^b|a$b|ab"],
    ["named groups", "(?P<one>a)(?P<two>b)"],
    ["punctuation behind a backslash", '\\-|\\"|\\\\'],
    ["a character of four bytes", "😀+|[😀-😂]b"],
    ["what may be empty, again and again", "(?:a*)*|(?:(?:b|)+)*"],
    ["lazy ones", "a+?b*?"],
    ["none", ""],
  ])("of %s", async (_, expression) => {
    const grammar = await grammarOf(grammarFor(expression));
    const whole = RE2JS.compile(`^(?:${expression})$`);
    const let_through = texts.filter((text) => fits(grammar, text));
    expect(let_through).toEqual(texts.filter((text) => whole.matches(text)));
    expect(let_through.length).toBeGreaterThan(0);
  });

  it("takes long repetitions", async () => {
    const grammar = await grammarOf(grammarFor("[0-9]{900,1000}"));
    expect(fits(grammar, "7".repeat(899))).toBe(false);
    expect(fits(grammar, "7".repeat(900))).toBe(true);
    expect(fits(grammar, "7".repeat(1001))).toBe(false);
  });

  it.each([
    ["\\bab\\b", "bounds of words or lines"],
    ["(?m)^ab$", "bounds of words or lines"],
    ["a^b", "nothing that matches it"],
    [
      Array.from({ length: 300 }, (_, i) => `${String.fromCodePoint(0x4e00 + i)}?`).join(""),
      "so many ways to go on",
    ],
    ["a\\x00b", "nothing that matches it"],
    [`[\\pL]{500}${Array.from({ length: 400 }, (_, i) => `[\\pL${i}]`).join("")}`, "so many parts"],
  ])("says no %s", (expression, why) => {
    expect(() => grammarFor(expression)).toThrow(why);
  });

  it.each([
    ["(", "missing closing )"],
    ["a(?=b)", "invalid or unsupported Perl syntax"],
    ["(a)\\1", "invalid escape sequence"],
    ["a{1001}", "invalid repeat count"],
  ])("of none is an error of the field: %s", (expression, why) => {
    expect(() => grammarFor(expression)).toThrow(
      expect.objectContaining({
        code: "invalid_fields",
        param: "response_format.regex",
        message: expect.stringContaining(why),
      }),
    );
  });
});
