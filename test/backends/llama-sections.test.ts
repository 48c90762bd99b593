/** Answers in sections, as Solar Open and Kimi K3 write them, and in parts for receivers, as Functionary does. */
import type { Token } from "node-llama-cpp";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { Evaluation } from "../../src/backends/llama/evaluation.js";
import { generate } from "../../src/backends/llama/generate.js";
import { ReceiverReader } from "../../src/backends/llama/receivers.js";
import { SectionReader, sectionsOf, textsOf } from "../../src/backends/llama/sections.js";
import { never } from "../support/calls.js";
import { jsonSchema } from "../support/formats.js";
import { chatRequest } from "./llama-subject.js";
import { cuts } from "./llama-tool-forms.js";
import { templates } from "./llama-tool-templates.js";
import { loaded, tools } from "./llama-tools-subject.js";

const solar = sectionsOf(templates.solar);
const kimi = sectionsOf(templates.kimiTags);

function read(of: typeof solar, prompt: string, pieces: readonly string[]) {
  if (!of) throw new Error("no sections");
  const reader = new SectionReader(of, new Map(), prompt);
  const all = [...pieces.map((piece) => reader.push(0 as Token, piece)), reader.flush()];
  return {
    thought: all.map(({ thought }) => thought).join(""),
    text: all.map(({ text }) => text).join(""),
  };
}

const call = "<|tool_call:begin|>a<|tool_call:name|>f<|tool_call:args|>{}<|tool_call:end|>";
const kimiCall = '<|open|>call tool="f" index="1"<|sep|><|close|>call<|sep|>';

describe("what is thought, and what is for the reader", () => {
  it.each<[string, typeof solar, string, string, string, string]>([
    [
      "Solar Open's",
      solar,
      "<|begin|>assistant",
      "<|think|>Hm < 3.<|end|><|begin|>assistant<|content|>Hi!<|end|>",
      "Hm < 3.",
      "Hi!",
    ],
    [
      "without thoughts",
      solar,
      "<|begin|>assistant",
      "<|content|>Hi <|x|>!<|end|>",
      "",
      "Hi <|x|>!",
    ],
    [
      "with calls behind thoughts, whose marks stay",
      solar,
      "<|begin|>assistant",
      `<|think|>Hm.<|end|><|begin|>assistant<|tool_calls|>${call}<|calls|>`,
      "Hm.",
      `<|tool_calls|>${call}<|calls|>`,
    ],
    ["cut in thoughts", solar, "<|begin|>assistant", "<|think|>Hm <|en", "Hm <|en", ""],
    ["without a section", solar, "<|begin|>assistant", "Hi!", "", "Hi!"],
    [
      "Kimi K3's, whose prompt begins thoughts",
      kimi,
      "<|open|>think<|sep|>",
      "Hm.<|close|>think<|sep|><|open|>response<|sep|>Hi!<|close|>response<|sep|><|close|>message<|sep|>",
      "Hm.",
      "Hi!",
    ],
    [
      "with a text and calls",
      kimi,
      "<|open|>think<|sep|>",
      `<|close|>think<|sep|><|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|>${kimiCall}<|close|>tools<|sep|><|close|>message<|sep|>`,
      "",
      `I look.<|open|>tools<|sep|>${kimiCall}<|close|>tools<|sep|>`,
    ],
    ["whose prompt begins the text", kimi, "<|open|>response<|sep|>", "Hi!", "", "Hi!"],
  ])("are told apart wherever they are cut: %s", (_, of, prompt, answer, thought, text) => {
    for (const pieces of cuts(answer)) expect(read(of, prompt, pieces)).toEqual({ thought, text });
  });

  it("is held back no longer than it may be a mark", () => {
    if (!solar) throw new Error("no sections");
    const reader = new SectionReader(solar, new Map(), "<|begin|>assistant");
    const steps = ["<|content|>", "a", " <|", "x"].map(
      (piece) => reader.push(0 as Token, piece).text,
    );
    expect(steps).toEqual(["", "a", " ", "<|x"]);
  });

  it("is known by control tokens, which are no text else", () => {
    if (!kimi) throw new Error("no sections");
    expect(textsOf(kimi)).toEqual(expect.arrayContaining(["<|open|>", "<|close|>", "<|sep|>"]));
    const tokens = new Map([
      [7 as Token, "<|open|>"],
      [8 as Token, "<|sep|>"],
    ]);
    const reader = new SectionReader(kimi, tokens, "");
    reader.push(7 as Token, "");
    reader.push(1 as Token, "think");
    reader.push(8 as Token, "");
    expect(reader.isThinking).toBe(true);
    expect(reader.push(2 as Token, "Hm.")).toEqual({ thought: "Hm.", text: "" });
  });

  it("is none of others' templates", () => {
    const others = Object.entries(templates).filter(([name]) => !/^(solar|kimiTags)$/.test(name));
    for (const [, template] of others) expect(sectionsOf(template)).toBeUndefined();
  });
});

describe("parts for receivers", () => {
  it.each([
    ["for all", "all\nHi >>> there!", "Hi >>> there!"],
    ["for a tool", 'f\n{"a": 1}', '>>>f\n{"a": 1}'],
    ["for all, and for tools", "all\nI look.>>>f\n{}>>>f\n{}", "I look.>>>f\n{}>>>f\n{}"],
    ["that say nothing of it", "Hi >>> there!", "Hi >>> there!"],
    ["of one word", "f", "f"],
    ["that look like a call's at first", "f\nand more", "f\nand more"],
    ["that never begin", "", ""],
    ["cut in a mark", "all\nHi>>>al", "Hi>>>al"],
  ])("lose what is for the reader's mark alone, wherever they are cut: %s", (_, answer, text) => {
    for (const pieces of cuts(answer)) {
      const reader = new ReceiverReader(">>>", "all\n");
      const all = [...pieces.map((piece) => reader.push(0 as Token, piece)), reader.flush()];
      expect(all.map((said) => said.text).join("")).toBe(text);
    }
  });
});

it.each([
  ["a text", "\nHi!", "Hi!"],
  ["a text without the line", "Hi!", "Hi!"],
  ["a call", "f\n{}", "<|assistant|>f\n{}"],
  ["two calls", "f\n{}<|assistant|>g\n{}", "<|assistant|>f\n{}<|assistant|>g\n{}"],
])("an empty first line says that a text follows, as GLM-4 has it: %s", (_, answer, text) => {
  for (const pieces of cuts(answer)) {
    const reader = new ReceiverReader("<|assistant|>", "\n");
    const all = [...pieces.map((piece) => reader.push(0 as Token, piece)), reader.flush()];
    expect(all.map((said) => said.text).join("")).toBe(text);
  }
});

describe("a model's answer", () => {
  async function told(
    name: keyof typeof templates,
    answer: string,
    more: Partial<LLMRequest> = {},
  ) {
    const model = await loaded(name);
    const next = vi.spyOn(Evaluation.prototype, "next");
    onTestFinished(() => next.mockRestore());
    for (const token of model.model.tokenize(answer, true)) next.mockResolvedValueOnce(token);
    next.mockResolvedValueOnce(undefined);
    const request = chatRequest("hello", { maxTokens: 900, tools, ...more });
    const messages: LLMResponse[] = [];
    for await (const batch of generate(model, request, never)) messages.push(...batch);
    const said = messages.map(({ choices }) => choices[0]?.delta);
    return {
      text: said.map((it) => it?.content ?? "").join(""),
      thought: said.map((it) => it?.reasoningContent ?? "").join(""),
      calls: said.flatMap((it) => it?.toolCalls ?? []).map((it) => it.function?.name),
      reasoning: (messages.at(-1)?.usage?.reasoningTokens ?? 0) > 0,
    };
  }

  it.each<[keyof typeof templates, string]>([
    [
      "solar",
      `<|think|>Hm.<|end|><|begin|>assistant<|tool_calls|>${call.replace("f<", "stop<")}<|calls|>`,
    ],
    [
      "kimiTags",
      `Hm.<|close|>think<|sep|><|open|>tools<|sep|>${kimiCall.replace('"f"', '"stop"')}<|close|>tools<|sep|>`,
    ],
  ])("has thoughts and calls: %s", async (name, answer) => {
    expect(await told(name, answer)).toEqual({
      text: "",
      thought: "Hm.",
      calls: ["stop"],
      reasoning: true,
    });
  });

  it("has what is for the reader, and calls: receivers", async () => {
    const said = await told("receivers", "all\nI look.>>>stop\n{}");
    expect(said).toMatchObject({ text: "I look.", calls: ["stop"] });
    expect(await told("glmNames", "stop\n{}")).toMatchObject({ text: "", calls: ["stop"] });
    expect(await told("glmNames", "\nHi.")).toMatchObject({ text: "Hi.", calls: [] });
    // Without tools, too, it says for whom it is.
    expect(await told("receivers", "all\nHi.", { tools: [] })).toMatchObject({ text: "Hi." });
  });

  it.each(["solar", "kimiTags", "receivers", "glmNames"] as const)(
    "keeps to a form, without what stands around it: %s",
    async (name) => {
      const model = await loaded(name);
      const responseFormat = jsonSchema({ const: "no" });
      const request = chatRequest("hello", { maxTokens: 900, responseFormat });
      const messages: LLMResponse[] = [];
      for await (const batch of generate(model, request, never)) messages.push(...batch);
      const text = messages.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
      expect(text).toBe('"no"');
    },
  );
});
