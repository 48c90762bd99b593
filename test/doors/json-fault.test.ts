/** Where a body stops being JSON. */
import { expect, test } from "vitest";
import { passedOver } from "../../src/core/json-keys.js";
import { describeFault, faultIn } from "../../src/doors/json/fault.js";
import { fields } from "../../src/doors/json/known.js";
import { paints, says, scripted } from "../support/scripted.js";
import { serve, serveChat } from "./serve.js";

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
  expect(passedOver(text, JSON.parse(text)).twice).toBe(at !== undefined);
  expect(faultIn(text, true)).toBe(at);
  expect(faultIn(text)).toBeUndefined();
});

test.each<[string, number | undefined]>([
  ['{"a":1,"b":2,"a":3}', 13],
  ['{"x":1,"x":2,"a":1}', undefined],
  ['{"x":{"a":1,"a":2},"y":[{"a":1,"a":2}]}', undefined],
  ['{"b":[{"x":1,"x":2},{"c":1,"c":2}]}', 27],
  ['{"b":[[{"x":{"c":1,"c":2}},{"c":1,"x":1,"c":2}]]}', 40],
  ['{"c":{"x":1,"x":2},"a":{"any":[{"z":1,"z":2}]}}', 38],
])("a key twice that is read: %s", (text, at) => {
  expect(passedOver(text, JSON.parse(text)).twice).toBe(true);
  const known = fields({ a: true, b: fields({ c: false }), c: false });
  expect(faultIn(text, known)).toBe(at);
});

const chats = ["/llm", "/v1/chat/completions", "/lintel.v1.ChatService/Complete"];
const images = [
  "/text-to-image",
  "/v1/images/generations",
  "/lintel.v1.TextToImageService/TextToImage",
];
const hi = '"messages":[{"role":"user","content":"Hi"}]';
const circle = '"prompt":"a circle"';

test.each([
  ...chats.flatMap((path) => [
    [path, `${hi},"store":"a","store":"b"`],
    [path, `${hi},"metadata":{"seed":1,"seed":2}`],
    [path, '"messages":[{"role":"user","content":"Hi","name":"a","name":"b"}]'],
    [path, `"messages":[{"role":"user","content":[{"type":"text","text":"Hi","a":1,"a":2}]}]`],
  ]),
  ...images.map((path) => [path, `${circle},"store":"a","x":{"prompt":1,"prompt":2},"store":"b"`]),
])("%s ignores a key that it does not know, also twice: %s", async (path, body) => {
  const backend = scripted({ chat: says("Hi"), streamTextToImage: paints() });
  const server = await serve(backend);
  const response = await server.post(path, `{${body}}`);
  expect([response.status, response.headers.get("x-lintel-warnings")]).toEqual([
    200,
    images.includes(path) ? expect.stringMatching(/^safety_check: [^;]*$/) : null,
  ]);
  expect(backend.asked).toMatchObject([
    images.includes(path)
      ? { prompt: "a circle" }
      : { messages: [{ role: "user", content: "Hi" }] },
  ]);
});

test.each([
  ...chats.map((path) => [path, `${hi},"model":"a","model":""`]),
  ...["/llm", "/v1/chat/completions"].map((path) => [path, `${hi},"stream":true,"stream":false`]),
  ["/llm", `${hi},"stream_options":{"include_usage":true,"include_usage":false}`],
  ["/v1/chat/completions", `${hi},"n":2,"n":1`],
  ["/v1/chat/completions", `${hi},"max_completion_tokens":2,"max_completion_tokens":1`],
  ["/v1/chat/completions", `${hi},"response_format":{"type":"json_object","type":"text"}`],
  ...chats.map((path) => [
    path,
    '"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]',
  ]),
  ["/lintel.v1.ChatService/Complete", `${hi},"maxTokens":1,"maxTokens":2`],
  ...images.map((path) => [path, `${circle},${circle}`]),
  ["/text-to-image", `${circle},"loras":{"a":1,"a":2}`],
  ["/v1/images/generations", `${circle},"size":"64x64","size":"auto"`],
  [
    "/lintel.v1.TextToImageService/TextToImage",
    `${circle},"numImagesPerPrompt":1,"numImagesPerPrompt":2`,
  ],
])("%s refuses a key that it knows, twice: %s", async (path, body) => {
  const backend = scripted({ chat: says("Hi"), streamTextToImage: paints() });
  const server = await serve(backend);
  const response = await server.post(path, `{${body}}`);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("the body has a key twice in one object: see line 1");
  expect(backend.asked).toEqual([]);
});

test.each(chats)("%s refuses a key that stands twice, and says where", async (path) => {
  const server = await serveChat(says("Hi"));
  const response = await server.post(path, '{"messages":[{"role":"user","role":"tool"}]}');
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining("the body has a key twice in one object: see line 1, column 29"),
  ]);
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
