/** Where a body stops being JSON. */
import { expect, test } from "vitest";
import { describeFault, faultIn } from "../../src/doors/json/fault.js";
import { hasKeyTwice } from "../../src/doors/json/keys.js";
import { says } from "../support/scripted.js";
import { serveChat } from "./serve.js";

test.each<[string, string]>([
  ["{'messages': []}", "see line 1, column 2"],
  ['{"a": 1,}', "see line 1, column 9"],
  ['{"a": 1 "b": 2}', "see line 1, column 9"],
  ['{"a" 1}', "see line 1, column 6"],
  ["{a: 1}", "see line 1, column 2"],
  ['{"a": None}', "see line 1, column 7"],
  ['{"a": 01}', "see line 1, column 8"],
  ['{"a": "\\x"}', "see line 1, column 8"],
  ['{"a": "b\nc"}', "see line 1, column 9"],
  ['{\r\n  "a": "é",\r\n  "b": [1, 2,]\r\n}', "see line 3, column 14"],
  ["{} {}", "see line 1, column 4"],
  ['{"a": "b', "it ends too early"],
  ['{"a": [', "it ends too early"],
  ["  ", "it ends too early"],
])("%j", (text, said) => {
  expect(describeFault(text)).toBe(said);
});

const sample =
  ' {"a":[1,-2.5e+3,"x\\u00e9\\n\\"",{"b":{},"c":[]}],"d":null,"e":true , "f":false}\n';

/** Each text with one letter less, or another one. */
const wrong = [...sample].flatMap((_, at) =>
  ["", ...'"{}[]:,01-.e\\u \nt'].map((one) => sample.slice(0, at) + one + sample.slice(at + 1)),
);

test("a fault is found where JSON.parse fails, and nowhere else", () => {
  const fails = (text: string) => {
    try {
      JSON.parse(text);
      return false;
    } catch {
      return true;
    }
  };
  expect(faultIn(sample)).toBeUndefined();
  for (const text of wrong)
    expect([text, faultIn(text) !== undefined]).toEqual([text, fails(text)]);
  // What stands before it is not at fault.
  for (const text of wrong) {
    const at = faultIn(text);
    if (at !== undefined) expect(faultIn(text.slice(0, at)) ?? at).toBe(at);
  }
});

test.each<[string, number | undefined]>([
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}],"d":"\\",\\"d\\":","e\\\\":1}', undefined],
  ['{"a":1,"a":2}', 7],
  ['{"a":{"b":1},"a" \n: 2}', 13],
  ['{"m":[{"role":"x","content":"\\"","ro\\u006ce":"y"}]}', 33],
  ['{"__proto__":1,"__proto__":2}', 15],
  ['{"a":{"b":{}},"c":{"b":1,"":2,"":3}}', 30],
  ['{"a\\\\":1,"a\\\\":1}', 9],
])("a key twice in one object: %s", (text, at) => {
  expect(hasKeyTwice(text, JSON.parse(text))).toBe(at !== undefined);
  expect(faultIn(text, true)).toBe(at);
  expect(faultIn(text)).toBeUndefined();
});

test.each(["/llm", "/v1/chat/completions", "/lintel.v1.ChatService/Complete"])(
  "%s refuses a key that stands twice, and says where",
  async (path) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post(path, '{"messages":[{"role":"user","role":"tool"}]}');
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("the body has a key twice in one object: see line 1, column 29"),
    ]);
  },
);

test("as many levels as a body has room for", () => {
  expect(faultIn("[".repeat(1_000_000))).toBe(1_000_000);
});

test.each([
  ["/llm", "application/json"],
  ["/v1/chat/completions", "application/json"],
  ["/lintel.v1.ChatService/Complete", "application/json"],
])("callers are told, and nothing of the body: %s", async (path, type) => {
  const server = await serveChat(says("Hi"));
  const answer = await server.post(path, '{"messages": secret}', { "content-type": type });
  expect(answer.status).toBe(400);
  const text = await answer.text();
  expect(text).toContain("the body is not valid JSON: see line 1, column 14");
  expect(text).not.toContain("secret");
});
