/** Which text of `stop` ended an answer, as model servers tell it. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { startLintel } from "../support/lintel.js";
import { chatModel } from "../support/models.js";
import { scripted, stopsAt } from "../support/scripted.js";
import { asked } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleKinds } from "./ai-sdk-subject.js";
import { connectTo } from "./node-peer.js";
import { backendFor, chunk } from "./openai-subject.js";
import { restAt } from "./rest-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const methods = ["complete", "chat"] as const;

/** What a backend tells of an answer to a request that names such texts, whole and streamed. */
const told = (backend: Backend, stop: readonly string[]) =>
  Promise.all(
    methods.map(async (method) => {
      const { messages, text } = await asked(backend, method, { stop });
      return [text, messages.at(-1)?.choices[0]?.finishReason, stopIn(messages)];
    }),
  );

const stopIn = (messages: Awaited<ReturnType<typeof asked>>["messages"]) =>
  messages.map(({ choices: [choice] }) => choice?.stopSequence ?? "").join("");

/** A server of OpenAI's form that says so much of the end beside the reason. */
const ends =
  (beside: object): Script =>
  async (exchange) => {
    const end = { finish_reason: "stop", ...beside };
    if (!exchange.json().stream) {
      const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, ...end }];
      return exchange.sendJson(200, { ...{ id: "1", created: 1, model: "m" }, choices });
    }
    // In each chunk, as SGLang has it.
    const none = Object.fromEntries(Object.keys(beside).map((name) => [name, null]));
    const said = (delta: object, more: object) => ({
      ...chunk({}),
      choices: [{ index: 0, delta, ...more }],
    });
    await exchange.stream(
      said({ content: "Hi" }, { finish_reason: null, ...none }),
      said({}, end),
      "data: [DONE]\n\n",
    );
    await exchange.end();
  };

/** Anthropic's API, of an answer that ended so. */
const message =
  (stop_reason: string, stop_sequence: string | null): Script =>
  async (exchange) => {
    const about = { id: "msg_1", type: "message", role: "assistant", model: "m" };
    const usage = { input_tokens: 3, output_tokens: 1 };
    const content = [{ type: "text", text: "Hi" }];
    const end = { stop_reason, stop_sequence };
    if (!exchange.json().stream) {
      return exchange.sendJson(200, { ...about, content, ...end, usage });
    }
    const none = { content: [], stop_reason: null, stop_sequence: null, usage };
    const events = [
      { type: "message_start", message: { ...about, ...none } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: end, usage },
      { type: "message_stop" },
    ];
    await exchange.stream(
      ...events.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`),
    );
    await exchange.end();
  };

const both = (stop: string) => [
  ["Hi", "stop", stop],
  ["Hi", "stop", stop],
];

describe.each(compatibleKinds)("a server of OpenAI's form, by %s,", (_, backendAt) => {
  const came = async (beside: object, stop = ["###", "END"]) =>
    told(opened(backendAt((await serve(ends(beside))).url)), stop);

  it.each([
    ["vLLM", { stop_reason: "END" }],
    ["SGLang", { matched_stop: "END" }],
    ["Lintel", { stop_sequence: "END" }],
    ["one with more than one of the names", { stop_reason: null, matched_stop: "END" }],
  ])("that names the text, as %s", async (_, beside) => {
    expect(await came(beside)).toEqual(both("END"));
  });

  it.each([
    ["a token, as vLLM and SGLang", { stop_reason: 128009, matched_stop: 128009 }],
    ["nothing", { stop_reason: null }],
    ["a text that nobody asked for", { stop_reason: "<|im_end|>" }],
    ["something else", { stop_reason: { text: "END" }, matched_stop: ["END"] }],
  ])("that names %s, says nothing", async (_, beside) => {
    expect(await came(beside)).toEqual(both(""));
  });
});

describe("Anthropic", () => {
  it("names the text", async () => {
    const server = await serve(message("stop_sequence", "END"));
    expect(await told(opened(anthropicAt(server.url)), ["###", "END"])).toEqual(both("END"));
    expect(server.requests[0]?.body.toString()).toContain('"stop_sequences":["###","END"]');
  });

  it("names none where a turn ended by itself", async () => {
    const server = await serve(message("end_turn", null));
    expect(await told(opened(anthropicAt(server.url)), ["END"])).toEqual(both(""));
  });
});

it.each([
  ["openai", (url: string) => backendFor(url, { api_key: "me" })],
  ["rest", (url: string) => restAt(url, { token: "me" })],
  ["node", (url: string) => connectTo(url, { token: "me" })],
] as const)("another Lintel names the text, by %s", async (_, backendAt) => {
  const behind = await startLintel([scripted({ chat: stopsAt("Hi", "END") }, [chatModel("m")])]);
  onTestFinished(() => behind.close());
  const backend = opened(backendAt(behind.url));
  await backend.ready?.("m", never);
  expect(await told(backend, ["###", "END"])).toEqual(both("END"));
});
