/** What was asked and answered, in spans: as it is configured, and nothing otherwise. */
import { expect, onTestFinished, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { drawnImage } from "../../src/core/drawn.js";
import { LintelError } from "../../src/core/errors.js";
import type { Guard } from "../../src/core/guards/guard.js";
import { type Logger, silent } from "../../src/core/log.js";
import type { CallLogSettings } from "../../src/core/log-call.js";
import type { MethodName } from "../../src/core/methods.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { mail } from "../core/guarding.js";
import { coreOf, run } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import {
  breaksAfter,
  callsTools,
  draws,
  paints,
  says,
  scripted,
  thinks,
  thought,
} from "../support/scripted.js";
import { Collector } from "./collector.js";
import { otlpTo, telemetryOf } from "./support.js";

interface Told {
  readonly otlp?: object;
  readonly chat?: Handle<"chat">;
  readonly callLog?: CallLogSettings;
  readonly guards?: readonly Guard[];
}

/** The attributes of a call's spans, and the fields of its line in the log. */
async function spansOf(
  method: MethodName,
  request: object,
  { otlp, chat, callLog, guards }: Told = {},
) {
  const sink = await Collector.start();
  onTestFinished(() => sink.close());
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url, otlp ?? { content: true }) });
  const handlers = { chat: chat ?? says("Hi"), streamTextToImage: paints(1) };
  const supports = ["image_url", "file", "input_audio", "tools", "reasoning"];
  const models = [{ ...chatModel("m"), supports }, imageModel("draw")];
  const lines: object[] = [];
  const log: Logger = { ...silent, info: (fields) => void lines.push(fields) };
  const backend = scripted(handlers, models);
  const core = coreOf([backend], callLog && { callLog }, {
    telemetry: telemetry.telemetry,
    log,
    guards,
  });
  await run(core, method, request).catch(() => {});
  await telemetry.close();
  const [call, attempt] = [2, 3].map((kind) => sink.spans.find((span) => span.kind === kind));
  return { call: call?.attributes ?? {}, attempt: attempt?.attributes ?? {}, lines };
}

const input = "gen_ai.input.messages";
const output = "gen_ai.output.messages";
const read = (attribute: unknown) => JSON.parse(String(attribute));
const tool = { type: "function", function: { name: "f" } };
const deep = `{"a":${"[".repeat(7000)}${"]".repeat(7000)}}`;
const text = (content: string) => ({ type: "text", content });

test("nothing is told where nobody asks for it, in the log neither", async () => {
  const { call, lines } = await spansOf("chat", hello, { otlp: {} });
  expect(Object.keys(call)).toContain("gen_ai.operation.name");
  expect(Object.keys(call).filter((name) => /messages|content/.test(name))).toEqual([]);
  const asked = await spansOf("chat", hello);
  for (const { lines: told } of [asked, { lines }]) {
    expect(JSON.stringify(told)).not.toContain('completion"');
  }
});

test("the span of a call has it, that of an attempt not; the log has its own", async () => {
  const callLog = { sample: 1, content: true };
  const { call, attempt, lines } = await spansOf("complete", hello, { callLog });
  expect(read(call[input])).toEqual([{ role: "user", parts: [text("Hello")] }]);
  expect(read(call[output])).toEqual([
    { role: "assistant", parts: [text("Hi")], finish_reason: "stop" },
  ]);
  expect(Object.keys(attempt).filter((name) => name.includes("messages"))).toEqual([]);
  expect(lines).toContainEqual(expect.objectContaining({ completion: "Hi" }));
});

test("thoughts, calls of tools, their results, and what is no text", async () => {
  const call = (id: string, args: string) => {
    return { id, type: "function", function: { name: "f", arguments: args } };
  };
  const parts = [
    { type: "text", text: "What is" },
    { type: "image_url", imageUrl: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    { type: "image_url", imageUrl: { url: "https://pictures.example/a.png" } },
    { type: "file", file: { fileData: "data:text/plain;base64,YQ==", filename: "a.txt" } },
    { type: "input_audio", inputAudio: { data: "AAAA", format: "mp3" } },
  ];
  const messages = [
    { role: "user", parts },
    {
      role: "assistant",
      reasoningContent: "Hm",
      toolCalls: [call("1", '{"n":12345678901234567}')],
    },
    { role: "tool", toolCallId: "1", content: "42" },
  ];
  const chat = callsTools([toolCall(0, "c", "f", '{"a":1}')]);
  const told = await spansOf("chat", { model: "m", messages, tools: [tool] }, { chat });
  expect(read(told.call[input])).toEqual([
    {
      role: "user",
      parts: [
        text("What is"),
        { type: "blob", modality: "image", mime_type: "image/png", content: "" },
        { type: "uri", modality: "image", uri: "https://pictures.example/a.png" },
        { type: "blob", modality: "file", filename: "a.txt", content: "" },
        { type: "blob", modality: "audio", mime_type: "audio/mp3", content: "" },
      ],
    },
    {
      role: "assistant",
      parts: [
        { type: "reasoning", content: "Hm" },
        // JavaScript would have another number.
        { type: "tool_call", id: "1", name: "f", arguments: '{"n":12345678901234567}' },
      ],
    },
    { role: "tool", parts: [{ type: "tool_call_response", id: "1", response: "42" }] },
  ]);
  const [answer] = read(told.call[output]);
  expect(answer).toMatchObject({ role: "assistant", finish_reason: "tool_call" });
  expect(answer.parts).toEqual([
    { type: "tool_call", id: expect.any(String), name: "f", arguments: { a: 1 } },
  ]);
});

test.each([
  ["of lists in lists, too deep to be written", deep],
  ["of numbers beyond what JavaScript has", '{"n":1e400}'],
])("arguments %s are told as text", async (_, args) => {
  const toolCalls = [{ id: "1", type: "function", function: { name: "f", arguments: args } }];
  const messages = [
    { role: "assistant", toolCalls },
    { role: "tool", toolCallId: "1", content: "42" },
  ];
  const chat = callsTools([toolCall(0, "c", "f", args)]);
  const { call } = await spansOf("chat", { model: "m", messages, tools: [tool] }, { chat });
  const asked = read(call[input])[0].parts[0];
  const answered = read(call[output])[0].parts[0];
  expect([asked.arguments, answered.arguments]).toEqual([args, args]);
});

test("a text is not cut within a character, which no reader of UTF-8 would take", async () => {
  const content = `${"x".repeat(15_999)}🌍 y`;
  const { call } = await spansOf("chat", { messages: [{ role: "user", content }] });
  expect(call[input]).not.toMatch(/\\ud/i);
  expect(read(call[input])[0].parts[0].content).toMatch(/^x{15999}… \(4 more letters\)$/);
});

test("of an answer that breaks off it is what the caller got", async () => {
  const { call } = await spansOf("chat", hello, {
    chat: breaksAfter(new LintelError("upstream_failed", "gone"), "Hi"),
  });
  const [answer] = read(call[output]);
  expect(answer.finish_reason).toBe("error");
  expect(answer.parts).toHaveLength(1);
});

test("long conversations have their first message and their last ones, long texts their beginning", async () => {
  const long = "x".repeat(15_000);
  const turns = Array.from({ length: 9 }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: `${i}${long}`,
  }));
  const messages = [{ role: "system", content: "Be brief" }, ...turns];
  const { call } = await spansOf("chat", { model: "m", messages });
  const told = read(call[input]) as { role: string; parts: { content: string }[] }[];
  expect(told.map(({ parts }) => parts[0]?.content.slice(0, 2))).toEqual(["Be", "6x", "7x", "8x"]);
  expect(call["lintel.content.omitted_messages"]).toBe(6);
  const one = await spansOf(
    "chat",
    { model: "m", messages: [...messages, { role: "user", content: "y".repeat(60_000) }] },
    { chat: says("z".repeat(20_000)) },
  );
  const last = read(one.call[input]).at(-1).parts[0].content as string;
  expect(last).toBe(`${"y".repeat(16_000)}… (44000 more letters)`);
  expect(read(one.call[output])[0].parts[0].content).toMatch(/^z{16000}… \(4000 more letters\)$/);
});

test("the first message and the last are told, and one part of each, however much room that takes", async () => {
  // Written down each of these letters takes two.
  const long = (i: number) => `${i}${"\n".repeat(15_999)}`;
  const turns = [0, 1, 2].map((i) => ({ role: "user", content: long(i) }));
  const { call } = await spansOf("chat", { model: "m", messages: turns });
  const told = read(call[input]) as { parts: { content: string }[] }[];
  expect(told.map(({ parts }) => parts.map(({ content }) => content))).toEqual([
    [long(0)],
    [long(2)],
  ]);
  expect(call["lintel.content.omitted_messages"]).toBe(1);
  expect(call).not.toHaveProperty(["lintel.content.omitted_parts"]);
});

test("what guards took out of a prompt is not told", async () => {
  const messages = [{ role: "user", content: "I am me@example.com" }];
  const { call } = await spansOf("complete", { messages }, { guards: [mail()] });
  expect(read(call[input])).toEqual([{ role: "user", parts: [text("I am [email]")] }]);
});

test("of a text-to-image call it is the prompts", async () => {
  const request = { modelId: "draw", prompt: "a dog", negativePrompt: "cats" };
  const { call } = await spansOf("textToImage", request);
  expect(read(call[input])).toEqual([{ role: "user", parts: [text("a dog"), text("cats")] }]);
  expect(call[output]).toBeUndefined();
});

test("of a call for the tokens of a prompt it is nothing", async () => {
  const { call } = await spansOf("countTokens", { model: "m", messages: hello.messages });
  expect(call["lintel.method"]).toBe("countTokens");
  expect(call[input]).toBeUndefined();
});

test("thoughts of an answer stand ahead of it", async () => {
  const { call } = await spansOf("chat", hello, { chat: thinks([thought("Hm")], "So") });
  expect(read(call[output])[0].parts).toEqual([{ type: "reasoning", content: "Hm" }, text("So")]);
});

test("pictures of an answer, and of a conversation, are named", async () => {
  const url = "data:image/png;base64,iVBORw0KGgo=";
  const pictures = [drawnImage(url), drawnImage("https://images.example/a.png")];
  const before = { role: "assistant", content: "Here.", images: pictures.slice(0, 1) };
  const request = { model: "m", messages: [...hello.messages, before] };
  const { call } = await spansOf("chat", request, { chat: draws("So", pictures) });
  const blob = { type: "blob", modality: "image", content: "" };
  const png = { ...blob, mime_type: "image/png" };
  expect(read(call[output])[0].parts).toEqual([text("So"), png, blob]);
  expect(read(call[input])[1].parts).toEqual([text("Here."), png]);
});

test("arguments that are nested deeper than can be written are told as text", async () => {
  const args = `${"[".repeat(8000)}${"]".repeat(8000)}`;
  const toolCalls = [{ id: "1", type: "function", function: { name: "f", arguments: args } }];
  const messages = [
    { role: "assistant", toolCalls },
    { role: "tool", toolCallId: "1", content: "42" },
  ];
  const { call } = await spansOf("chat", { model: "m", messages });
  expect(read(call[input])[0].parts).toEqual([
    { type: "tool_call", id: "1", name: "f", arguments: args },
  ]);
});

test("a text is not cut in the middle of a letter", async () => {
  const content = `${"x".repeat(15_999)}🙂y`;
  const { call } = await spansOf("chat", { model: "m", messages: [{ role: "user", content }] });
  expect(read(call[input])[0].parts).toEqual([text(`${"x".repeat(15_999)}… (3 more letters)`)]);
});

test("messages of many parts have as many as there is room for, and it is told how many not", async () => {
  const long = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ type: "text", text: `${i}${"x".repeat(9000)}` }));
  const messages = [
    { role: "system", content: "", parts: long(20) },
    { role: "assistant", toolCalls: [{ id: "1", type: "function", function: { name: "f" } }] },
    { role: "tool", toolCallId: "1", parts: long(20) },
  ];
  const calls = Array.from({ length: 9 }, (_, i) =>
    toolCall(i, `${i}`, "f", JSON.stringify({ a: "y".repeat(9000) })),
  );
  const tools = [{ type: "function", function: { name: "f" } }];
  const chat = callsTools(calls);
  const { call } = await spansOf("chat", { model: "m", messages, tools }, { chat });
  expect(String(call[input]).length).toBeLessThan(50_000);
  expect(String(call[output]).length).toBeLessThan(50_000);
  const [first, , last] = read(call[input]);
  expect(first.parts).toHaveLength(2);
  expect(last.parts[0].response).toHaveLength(2);
  const answered = read(call[output])[0].parts.length;
  expect(answered).toBeGreaterThan(1);
  expect(call["lintel.content.omitted_parts"]).toBe(2 * 18 + 9 - answered);
});
