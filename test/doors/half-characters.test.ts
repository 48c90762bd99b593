/** Halves of characters in a request, which JSON has as escapes and UTF-8 has not: nothing that repeats them does as they are. */
import { expect, test } from "vitest";
import { says, scripted } from "../support/scripted.js";
import { json, serve } from "./serve.js";

const half = "\ud83d";
const messages = [{ role: "user", content: "Hello" }];
/** A kind of tool that is cut in the middle of its last character where it is told. */
const long = `${"x".repeat(39)}\u{1f600}`;

test.each<[string, (type: string) => object, string]>([
  [
    "/v1/messages",
    (type) => ({ messages, max_tokens: 9, tools: [{ type, name: "a" }] }),
    "tools: ",
  ],
  ["/v1/responses", (type) => ({ input: "Hello", tools: [{ type }] }), "tools: "],
  [
    "/v1beta/models/chat-1:generateContent",
    (type) => ({ contents: [{ parts: [{ text: "Hello" }] }], tools: [{ [type]: {} }] }),
    "tools: ",
  ],
])("%s: warnings have U+FFFD for them, and their header ?", async (path, body, begin) => {
  const server = await serve(scripted({ chat: says("Hi") }));
  for (const type of [`a${half}b`, long]) {
    const told = type === long ? `${"x".repeat(39)}\ufffd` : "a\ufffdb";
    const answer = await server.post(path, { model: "chat-1", ...body(type) });
    const text = await answer.text();
    expect(JSON.parse(text).warnings).toEqual([`${begin}${told} is not supported, ignored`]);
    expect(text).not.toMatch(/\\ud/);
    const ascii = told.replace("\ufffd", "?");
    const header = answer.headers.get("x-lintel-warnings");
    expect(header).toBe(`${begin}${ascii} is not supported, ignored`);
  }
});

test("what an answer of /v1/responses repeats, and what the model is offered, has U+FFFD for them", async () => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const parameters = { type: "object", properties: { [`a${half}`]: { description: half } } };
  const tool = { type: "function", name: "f", parameters };
  const body = { model: "chat-1", input: "Hello", instructions: `Be${half}`, tools: [tool] };
  const { instructions, tools } = await json(await server.post("/v1/responses", body));
  const told = { type: "object", properties: { "a\ufffd": { description: "\ufffd" } } };
  expect(instructions).toBe("Be\ufffd");
  expect(tools).toEqual([{ ...tool, parameters: told }]);
  const [asked] = backend.asked as { tools: { function: { parameters: string } }[] }[];
  expect(JSON.parse(asked?.tools[0]?.function.parameters ?? "")).toEqual(told);
});

test("whole characters stay as they are, however they are written", async () => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const body = { model: "chat-1", messages: [{ role: "user", content: "\u{1f600} \\ud83d" }] };
  const escaped = JSON.stringify(body).replace("\u{1f600}", "\\ud83d\\ude00");
  await server.post("/v1/chat/completions", escaped);
  expect(backend.asked[0]).toMatchObject({ messages: [{ content: "\u{1f600} \\ud83d" }] });
});
