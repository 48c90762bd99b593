/** What the grammars of schemas let through, text by text. */
import { describe, expect, it } from "vitest";
import { Gbnf } from "../../src/backends/gbnf/gbnf.js";
import { SchemaGrammar } from "../../src/backends/llama/grammar/schema.js";
import { textWithout } from "../../src/backends/llama/grammar/strings.js";
import { fits, grammarOf } from "./llama-grammars.js";

describe("a grammar lets through what fits, and nothing else", () => {
  it.each<[string, object, readonly string[], readonly string[]]>([
    [
      "further members, but none of a name that is given",
      {
        type: "object",
        properties: { ab: { const: 1 }, abc: { const: 2 }, "]-^": { const: 3 } },
        additionalProperties: { type: "boolean" },
      },
      [
        ...["{}", '{"ab":1}', '{"ab":1,"a":true}', '{"a":true,"abcd":false}', '{"":true}'],
        ...['{ "ab": 1,\n\t"abc": 2 }', '{"]":true,"b":false}', '{"]-^":3}'],
      ],
      ['{"ab":true}', '{"abc":1}', '{"a":true,"ab":1}', '{"x":1}', '{"]-^":true}', '{"ab":1,}', ""],
    ],
    [
      "members that may be missing",
      {
        type: "object",
        properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } },
        required: ["b"],
      },
      ['{"b":2}', '{"a":1,"b":2}', '{"b":2,"c":3}', '{"a":1,"b":2,"c":3}'],
      ["{}", '{"a":1}', '{"a":1,"c":3}', '{"b":2,}', '{,"b":2}', '{"b":2,"d":1}', '{"b":2'],
    ],
    [
      "numbers up to a bound, and from one",
      { type: "integer", minimum: -12, maximum: 305 },
      ["-12", "-9", "0", "9", "10", "99", "100", "299", "305"],
      ["-13", "306", "400", "1000", "1.0", "01", "-0", "1e1"],
    ],
    [
      "parts of one",
      { type: "number", minimum: 0, exclusiveMaximum: 1 },
      ["0", "0.5", "0.999999"],
      ["1", "1.0", "-0.5", "1e-1", ".5"],
    ],
    [
      "lists of a length",
      { type: "array", items: { type: "null" }, minItems: 1, maxItems: 2 },
      ["[null]", "[ null, null ]"],
      ["[]", "[null,null,null]", "[null,]"],
    ],
    [
      "texts of a length in characters",
      { type: "string", minLength: 2, maxLength: 3 },
      ['"ab"', '"a\\n"', '"\\u00e9é😀"', '"\\"\\\\"'],
      ['"a"', '"abcd"', '"a\nb"', '"\\ud83d\\ude00"', "ab"],
    ],
    [
      "texts that may be very long",
      { type: "string", maxLength: 2500 },
      ['""', `"${"a".repeat(999)}"`, `"${"a".repeat(1000)}"`, `"${"a".repeat(2500)}"`],
      [`"${"a".repeat(2501)}"`],
    ],
    [
      "days that there are",
      { type: "string", format: "date" },
      ['"2024-02-28"', '"2024-12-31"', '"2024-11-30"'],
      ['"2024-02-30"', '"2024-11-31"', '"2024-13-01"', '"2024-1-1"'],
    ],
    [
      "values that are named, of the type that is asked for",
      { enum: ["a", 1, null, true], type: ["string", "null"] },
      ['"a"', "null"],
      ["1", "true", '"b"'],
    ],
    [
      "what several schemas want together",
      {
        $defs: { a: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } },
        $ref: "#/$defs/a",
        properties: { n: { maximum: 3, minimum: 0 }, m: { const: 1 } },
      },
      ['{"n":3}', '{"n":0,"m":1}'],
      ["{}", '{"n":4}', '{"m":1}'],
    ],
  ])("%s", async (_, schema, fitting, others) => {
    const grammar = new Gbnf();
    const root = new SchemaGrammar(grammar, schema as never).of(schema);
    const made = await grammarOf(grammar.text(root));
    for (const text of fitting) expect([text, fits(made, text)]).toEqual([text, true]);
    for (const text of others) expect([text, fits(made, text)]).toEqual([text, false]);
  });
});

/** All texts of some letters, up to a length. */
function textsOf(letters: readonly string[], most: number): string[] {
  if (most === 0) return [""];
  const shorter = textsOf(letters, most - 1);
  return ["", ...letters.flatMap((letter) => shorter.map((text) => letter + text))];
}

describe("a text in which a mark does not occur", () => {
  it.each(["a", "ab", "aab", "aba", "abab", "^-]", "\\\\"])("is any other: %s", async (mark) => {
    const grammar = new Gbnf();
    const made = await grammarOf(grammar.text(textWithout(mark, grammar)));
    const texts = textsOf([...new Set(mark), "\n"], 6);
    const wrong = texts.filter((text) => fits(made, text) === text.includes(mark));
    expect([texts.length > 100, wrong]).toEqual([true, []]);
  });
});
