import { describe, expect, test } from "vitest";
import { fromJsonString, toJsonString } from "../../src/core/json-string.js";

/** Every code unit by itself, between letters, and pairs. */
const texts = [
  "",
  "plain",
  'say "no"',
  "back\\slash",
  "line\nend",
  "pair 😀 pair",
  "\ud83d",
  "\ude00\ud83d",
  "\u2028\u2029\u007f",
  "a\u2027b\u202ac",
  "\u2028 and \ud83d",
  ...Array.from({ length: 0x300 }, (_, code) => `a${String.fromCharCode(code)}b`),
];

describe("a string in JSON", () => {
  test("is written as JSON.stringify writes it, but for the ends of lines that it leaves", () => {
    for (const text of texts) {
      const said = JSON.stringify(text)
        .replaceAll("\u0085", "\\u0085")
        .replaceAll("\u2028", "\\u2028")
        .replaceAll("\u2029", "\\u2029");
      expect(toJsonString(text)).toBe(said);
    }
  });

  test("is read as JSON.parse reads it, wherever it stands", () => {
    for (const text of texts) {
      const json = JSON.stringify(text);
      expect(fromJsonString(`{"a":${json}}`, 5, 5 + json.length)).toBe(text);
    }
    const escaped = '"\\u0041\\/\\ud83d\\ude00"';
    expect(fromJsonString(escaped, 0, escaped.length)).toBe("A/😀");
  });

  test.each([
    '"',
    "",
    "a",
    '"a',
    'a"',
    '"a"b"',
    '"a","b":"c"',
    '"\n"',
    '"\\"',
    '"\\x"',
    "7",
    "null",
    '["a"]',
  ])("is not %j", (json) => {
    expect(fromJsonString(`{${json}}`, 1, 1 + json.length)).toBeUndefined();
  });
});
