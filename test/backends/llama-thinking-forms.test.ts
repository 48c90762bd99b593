/** GGUF models that think ahead of an answer in a form. */
import type { Token } from "node-llama-cpp";
import { describe, expect, it } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { generate } from "../../src/backends/llama/generate.js";
import type { LoadedModel } from "../../src/backends/llama/model.js";
import { never } from "../support/calls.js";
import { jsonSchema } from "../support/formats.js";
import { functionTool } from "../support/tools.js";
import { chatRequest, ownWords, say, tokenIds } from "./llama-subject.js";
import { answerOf, fileWith, loaded, loadedFrom } from "./llama-thinking-subject.js";

describe("an answer in a form", () => {
  const forms: Record<string, Partial<LLMRequest>> = {
    "a text": { responseFormat: jsonSchema({ const: "<think>" }) },
    "a call": {
      tools: [functionTool("stop", { additionalProperties: false })],
      toolChoice: { $typeName: "lintel.v1.ToolChoice", type: "required" },
    },
  };
  const tokens = { "<|user|>": "<think>", "<|system|>": "</think>" };
  const channels = {
    ...{ "<|user|>": "<|start|>", "<|assistant|>": "<|channel|>", "<|system|>": "<|message|>" },
    // By its token for calls, which is one for a byte here, llama.cpp knows that a message's end is none of an answer.
    ...{ "<|end|>": "<|return|>", "<|bos|>": "<|end|>", ā: "<|call|>" },
  };
  const models = [
    ["qwen", tokens],
    ["harmony", channels],
  ] as const;
  /** As noisy as can be, so that it ends its thoughts some time. */
  const noisy = {
    ...{ temperature: 2, topK: 0, topP: 1, maxTokens: 1000 },
    reasoningEffort: "high",
  };

  /** What it writes by itself. */
  async function written(model: LoadedModel, more: Partial<LLMRequest>) {
    const messages: LLMResponse[] = [];
    for await (const batch of generate(model, chatRequest("hello", more), never)) {
      messages.push(...batch);
    }
    const said = messages.map(({ choices }) => choices[0]?.delta);
    const last = messages.at(-1);
    return {
      thought: said.map((it) => it?.reasoningContent ?? "").join(""),
      text: said.map((it) => it?.content ?? "").join(""),
      calls: said.flatMap((it) => it?.toolCalls ?? []).map(({ function: it }) => it?.name),
      finishReason: last?.choices[0]?.finishReason,
      thoughts: last?.usage?.reasoningTokens,
      warnings: last?.warnings,
    };
  }

  /** What it writes after some thoughts that end: with which seed it has such depends on how a processor adds up. */
  async function thoughtOut(model: LoadedModel, more: Partial<LLMRequest>) {
    for (let seed = 0n; seed < 20n; seed++) {
      const told = await written(model, { ...more, ...noisy, seed });
      if (told.thought !== "" && told.finishReason !== "length") return told;
    }
    throw new Error("of 20 answers none had thoughts that ended");
  }

  it.each(
    models.flatMap(([name, words]) =>
      Object.entries(forms).map(([what, form]) => [name, what, form, words] as const),
    ),
  )("has them in front where they are asked for: %s, %s", async (name, what, form, words) => {
    const model = await loaded(name, words);
    const told = await thoughtOut(model, form);
    const isCall = what === "a call";
    // It may call more than once.
    expect({ ...told, calls: [...new Set(told.calls)] }).toMatchObject({
      text: isCall ? "" : '"<think>"',
      calls: isCall ? ["stop"] : [],
      finishReason: isCall ? "tool_calls" : "stop",
      warnings: [],
    });
    // With the token that ends them.
    expect(told.thoughts).toBeGreaterThan(1);
  });

  it.each([
    ["", "qwen"],
    ["none", "qwen"],
    ["none", "forced"],
  ] as const)("has none where they are not: %j, %s", async (reasoningEffort, name) => {
    const model = await loaded(name, tokens);
    const form = { ...forms["a text"], reasoningEffort, maxTokens: 90 };
    expect(await written(model, form)).toMatchObject({
      ...{ thought: "", text: '"<think>"', finishReason: "stop", thoughts: 0, warnings: [] },
    });
  });

  it("has them in front where their end is no control token, as Qwen's", async () => {
    const model = await loadedFrom(await fileWith("qwen", tokens, ownWords));
    const told = await thoughtOut(model, forms["a text"] ?? {});
    expect(told).toMatchObject({ text: '"<think>"', finishReason: "stop", warnings: [] });
    expect(told.thoughts).toBeGreaterThan(1);
  });

  it("ends them with that token alone: its text may be thought of, letter by letter", async () => {
    const model = await loaded("qwen", tokens);
    const letters = [..."I write </think> there."].map((it) => model.model.tokenize(it)[0]);
    const script = [...letters, tokenIds.system, ...model.model.tokenize('"<think>"')];
    const more = { ...forms["a text"], reasoningEffort: "high" };
    expect(await answerOf(model, script as Token[], more)).toMatchObject({
      thought: "I write </think> there.",
      text: '"<think>"',
      reasoningTokens: letters.length + 1,
    });
  });

  const { ā: _, ...noCall } = channels;
  const cant = "this model can't think before an answer in a form, ignored";
  it.each([
    ["their end is no token", "forced", {}, cant],
    // It is what answers end with, too.
    ["llama.cpp lets none end them", "harmony", noCall, cant],
    ["the model is told of no effort", "untold", tokens, "not supported by this model, ignored"],
  ] as const)("has none where %s, and says so to who wants some", async (_, name, words, why) => {
    const model = await loaded(name, words);
    const form = { ...forms["a text"], reasoningEffort: "high", maxTokens: 90 };
    expect(await written(model, form)).toMatchObject({
      ...{ thought: "", text: '"<think>"', finishReason: "stop", thoughts: 0 },
      warnings: [`reasoning_effort: ${why}`],
    });
  });

  it("begins them where the template leaves that to the model", async () => {
    for (const name of ["qwen", "forced"] as const) {
      const model = await loaded(name, tokens);
      const asked = { effort: "high", thinksFirst: true };
      const prompt = model.model.detokenize(model.tokenize([say("hi")], asked), true);
      expect(prompt).toMatch(/<\|assistant\|><think>\n?$/);
    }
  });
});
