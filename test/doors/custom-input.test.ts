/** The text of a call of a custom tool, out of arguments that come whole, letter by letter, and in any two pieces. */
import { expect, test } from "vitest";
import { InputReader, inputOf } from "../../src/doors/openai/custom-input.js";

/** All that came of pieces; none of them may end with half of a character. */
function readIn(pieces: readonly string[]): string {
  const reader = new InputReader();
  const told = [...pieces.map((piece) => reader.push(piece)), reader.end()];
  expect(told.filter((text) => /\p{Surrogate}/u.test(text))).toEqual([]);
  return told.join("");
}

const object = (input: string, more: object = {}) => JSON.stringify({ input, ...more });

test.each([
  [
    "a text",
    object("*** Begin Patch\n+\"a\"\t\\d\u0001 'ß'"),
    "*** Begin Patch\n+\"a\"\t\\d\u0001 'ß'",
  ],
  ["an empty one", object(""), ""],
  ["characters in halves", '{"input":"\\ud83d\\ude00-\\u00e9"}', "\u{1f600}-é"],
  ["characters in halves, not escaped", '{"input":"\u{1f600}"}', "\u{1f600}"],
  ["a half alone", '{"input":"a\\ud83db\\ude00"}', "a\ufffdb\ufffd"],
  [
    "all escapes",
    '{"input":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\\\u0041"}',
    '"\\/\b\f\n\r\tA\\u0041',
  ],
  ["blanks wherever JSON has them", ' {\n"input"\t:\r "a" } \n', "a"],
  ["quotes ahead of what looks like an end", object('a "}, "b", c'), 'a "}, "b", c'],
  ["further members", object("a", { reason: "b", list: [{}] }), "a"],
  ["no arguments", "{}", ""],
  ["no arguments, with blanks", " { } ", ""],
  ["nothing at all", "", ""],
])("%s", (_, args, text) => {
  expect(inputOf(args)).toBe(text);
  expect(readIn([...Array(args.length).keys()].map((i) => args.charAt(i)))).toBe(text);
  for (let i = 0; i <= args.length; i++) {
    expect(readIn([args.slice(0, i), args.slice(i)])).toBe(text);
  }
});

test.each([
  ["a text", "*** Begin Patch"],
  ["a text in braces", "{ a }"],
  ["another member", '{"patch":"a"}'],
  ["another member first", '{"reason":"a","input":"b"}'],
  ["no string", '{"input":["a"]}'],
  ["a list", '["a"]'],
  ["a string", '"a"'],
  ["more behind no arguments", "{} a"],
  ["an object behind no arguments", '{}{"input":"a"}'],
  ["half an object behind no arguments", '{}"input":"a"}'],
])("what is no such object is the text: %s", (_, args) => {
  expect(inputOf(args)).toBe(args);
  for (let i = 0; i <= args.length; i++) {
    expect(readIn([args.slice(0, i), args.slice(i)])).toBe(args);
  }
});

test.each([
  ["line breaks", '{"input":"a\nb\tc"}', "a\nb\tc"],
  ["backslashes", '{"input":"\\d+\\.\\x41\\u12g4\\"}', '\\d+\\.\\x41\\u12g4"}'],
  ["backslashes ahead of capitals", '{"input":"C:\\New\\Bin \\U0041"}', "C:\\New\\Bin \\U0041"],
  ["quotes", '{"input":"print("hi")"}', 'print("hi")'],
  ["quotes that look like an end", '{"input":"f("a", {"b": "c\\n"})"}', 'f("a", {"b": "c\n"})'],
  ["a text behind the end", '{"input":"a"} b', 'a"} b'],
])("nothing is lost of a string with mistakes: %s", (_, args, text) => {
  expect(inputOf(args)).toBe(text);
  for (let i = 0; i <= args.length; i++) {
    expect(readIn([args.slice(0, i), args.slice(i)])).toBe(text);
  }
});

test.each([
  ["ahead of the text", '{"inp', ""],
  ["in the text", '{"input":"a', "a"],
  ["in an escape", '{"input":"a\\u00', "a"],
  ["in a character", '{"input":"a\\ud83d', "a\ufffd"],
  ["behind the text", '{"input":"a"', "a"],
])("what is cut has what came: %s", (_, args, text) => {
  expect(inputOf(args)).toBe(text);
});

test("pieces are told as they come", () => {
  const reader = new InputReader();
  const pieces = ['{"in', 'put": "*** Be', "gin\\", "n\\ud83d", "\\ude00 b", '\\"c"', "}"];
  expect(pieces.map((piece) => reader.push(piece))).toEqual([
    ...["", "*** Be", "gin", "\n", "\u{1f600} b", '"c', ""],
  ]);
  expect(reader.end()).toBe("");
});

const many = Array.from({ length: 200_000 }, () => " ");
const wide = many.join("");

test.each([
  ["an empty object", ["{}", ...many, "a"], `{}${wide}a`],
  ["a quote", ['{"input":"a"', ...many, 'b"}'], `a"${wide}b`],
  ["a quote behind what looks like an end", [`{"input":"a"}"${wide}b`], `a"}"${wide}b`],
])(
  "many blanks take no longer than as many letters: behind %s",
  { timeout: 5000 },
  (_, pieces, text) => {
    expect(readIn(pieces) === text).toBe(true);
  },
);
