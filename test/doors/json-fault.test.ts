/** Where a body stops being JSON. */
import { expect, test } from "vitest";
import { describeFault, faultIn } from "../../src/doors/json/fault.js";
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
