/** Thoughts that OpenAI-compatible servers leave in the text. */
import { describe, expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { gate } from "../support/calls.js";
import { against } from "./openai-calls.js";
import { chatRequest, chunk, streamOf, wholeOf } from "./openai-subject.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const streaming = (...deltas: object[]) => streamOf(deltas);

/** What came of an answer, and in which order. */
async function answered(
  script: Script,
  method: "chat" | "complete",
  config: object = {},
  more: object = {},
) {
  const server = await against(script, config);
  const request = chatRequest(more);
  const answer = server.backend.handlers[method]?.(callOf(method, request) as never) ?? [];
  const kinds: string[] = [];
  let [thought, text] = ["", ""];
  for await (const batch of answer as AsyncIterable<LLMResponse[]>) {
    for (const { choices } of batch) {
      const said = choices[0]?.delta ?? choices[0]?.message;
      thought += said?.reasoningContent ?? "";
      text += said?.content ?? "";
      if (said?.reasoningContent) kinds.push("thought");
      if (said?.content) kinds.push("text");
      if (said?.toolCalls.length) kinds.push("call");
    }
  }
  return { thought, text, kinds: kinds.filter((kind, i) => kind !== kinds[i - 1]) };
}

/** The same text whole, in a stream letter by letter, in one piece, and in a stream of a whole answer. */
async function everyWay(content: string, config: object = {}, more: object = {}) {
  const message = { role: "assistant", content };
  const letters = [...content].map((letter) => ({ content: letter }));
  const ways = [
    await answered(wholeOf(message), "complete", config, more),
    await answered(wholeOf(message), "chat", config, more),
    await answered(streaming(message), "chat", config, more),
    await answered(streaming(...letters), "chat", config, more),
    await answered(streaming(...letters), "complete", config, more),
  ];
  const said = ways.map(({ thought, text }) => [thought, text]);
  for (const one of said) expect(one).toEqual(said[0]);
  return said[0];
}

const thinks = "<think>\nSix < seven.\n</think>\n\n42, </think> or 43\n";

describe("think_tags", () => {
  it("are Gemini's own of its models, at the beginning of the text alone", async () => {
    const model = "google/gemini-3-pro";
    const config = { models: [model] };
    const told = (text: string) => everyWay(text, config, { model });
    expect(await told("<thought>\nSix < seven.\n</thought>\n\n42, </thought>\n")).toEqual([
      "Six < seven.",
      "42, </thought>\n",
    ]);
    for (const text of ["<think>Six</think>42", "See <thought>this</thought>"]) {
      expect(await told(text)).toEqual(["", text]);
    }
    expect(await everyWay("<thought>Six</thought>42")).toEqual(["", "<thought>Six</thought>42"]);
  });

  it("are the usual ones of models that learned from Gemini", async () => {
    const model = "someone/Qwen3-8B-Gemini-2.5-Pro-Distill";
    const told = await everyWay("<think>Six</think>42", { models: [model] }, { model });
    expect(told).toEqual(["Six", "42"]);
  });

  it.each([
    ["thoughts", thinks, "Six < seven.", "42, </think> or 43\n"],
    ["no thoughts", "<think>\n\n</think>\n\n42", "", "42"],
    ["thoughts that are cut off", "\n<think>Six", "Six", ""],
    ["a tag further on", "See <think>this</think>", "", "See <think>this</think>"],
    ["a second tag alone", "Six.\n</think>\n42", "", "Six.\n</think>\n42"],
    ["another tag", "<thinking>Six</thinking>", "", "<thinking>Six</thinking>"],
    ["half a tag", "<thi", "", "<thi"],
    ["blanks in front", " \n42", "", " \n42"],
  ])("auto finds %s", async (_, content, thought, text) => {
    expect(await everyWay(content)).toEqual([thought, text]);
  });

  it.each([
    ["thoughts", "Six.\n</think>\n\n42", "Six.", "42"],
    ["thoughts with both tags", thinks, "Six < seven.", "42, </think> or 43\n"],
    ["thoughts that are cut off", "Six", "Six", ""],
  ])("begun finds %s", async (_, content, thought, text) => {
    expect(await everyWay(content, { think_tags: "begun" })).toEqual([thought, text]);
  });

  it("begun finds none where the template is told not to think", async () => {
    const config = { think_tags: "begun" };
    expect(await everyWay("42", config, { reasoningEffort: "none" })).toEqual(["", "42"]);
    expect(await everyWay(thinks, config, { reasoningEffort: "none" })).toEqual([
      "Six < seven.",
      "42, </think> or 43\n",
    ]);
    expect(await everyWay("42", config, { reasoningEffort: "low" })).toEqual(["42", ""]);
  });

  it("never finds none", async () => {
    expect(await everyWay(thinks, { think_tags: "never" })).toEqual(["", thinks]);
  });

  it("leaves text alone whose server tells thoughts itself", async () => {
    const both = { reasoning_content: "Hm.", content: "<think>x</think>42" };
    const want = { thought: "Hm.", text: "<think>x</think>42" };
    for (const config of [{}, { think_tags: "begun" }]) {
      expect(await answered(wholeOf(both), "complete", config)).toMatchObject(want);
      const details = [{ type: "reasoning.encrypted", data: "x" }];
      const hidden = { reasoning_details: details, content: "<think>x</think>42" };
      expect(await answered(wholeOf(hidden), "complete", config)).toMatchObject({
        thought: "",
        text: hidden.content,
      });
      const pieces = [{ reasoning_content: "Hm." }, { content: both.content }];
      expect(await answered(streaming(...pieces), "chat", config)).toMatchObject(want);
    }
  });

  it("keeps the order of thoughts, text and calls", async () => {
    const call = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const pieces = ["<think>", "Six", "</think>", "\n"].map((content) => ({ content }));
    const calls = { tool_calls: [call] };
    const stream = streaming(...pieces, { content: "42" }, calls);
    expect((await answered(stream, "chat")).kinds).toEqual(["thought", "text", "call"]);
    const silent = streaming({ content: "<thi" }, calls);
    expect(await answered(silent, "chat")).toEqual({
      thought: "",
      text: "<thi",
      kinds: ["text", "call"],
    });
    const whole = { content: "<think>Six</think>", tool_calls: [call] };
    expect(await answered(wholeOf(whole), "complete")).toEqual({
      ...{ thought: "Six", text: "" },
      kinds: ["thought", "call"],
    });
  });

  it("gives thoughts as they come", async () => {
    const read = gate();
    const server = await against(async (exchange) => {
      await exchange.stream(chunk({ content: "<think>\nSix" }));
      await read.opened;
      await exchange.events(chunk({ content: ".</think>42" }, "stop"), "data: [DONE]\n\n");
      await exchange.end();
    });
    const call = callOf("chat", chatRequest()) as never;
    const stream = server.backend.handlers.chat?.(call) as AsyncIterable<LLMResponse[]>;
    const pieces: unknown[] = [];
    for await (const batch of stream) {
      for (const { choices } of batch) {
        const { reasoningContent, content } = choices[0]?.delta ?? {};
        pieces.push(reasoningContent ?? content);
      }
      read.open();
    }
    expect(pieces).toEqual(["Six", ".", "42", ""]);
  });
});
