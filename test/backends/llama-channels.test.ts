/** Answers of models that write on several channels, as gpt-oss does. */
import type { Token } from "node-llama-cpp";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ChannelReader, channelTokens, finalChannel } from "../../src/backends/llama/channels.js";
import { Evaluation } from "../../src/backends/llama/evaluation.js";
import { generate } from "../../src/backends/llama/generate.js";
import { loadModel } from "../../src/backends/llama/load.js";
import type { LoadedModel } from "../../src/backends/llama/model.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { chatRequest, tiny } from "./llama-subject.js";

const names = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>"];
const tokenOf = (text: string) => names.indexOf(text) as Token;
const tokens = channelTokens(names.join(" "), (text) => [tokenOf(text)]);

/** What a reader is given of an answer, piece by piece; both are written as the model writes them. */
function read(answer: string, prompt: string): string[] {
  if (!tokens) throw new Error("no tokens");
  const piecesOf = (text: string) => text.split(/(<\|\w+\|>|\s)/).filter((piece) => piece !== "");
  const texts = piecesOf(prompt);
  // Of words it does not matter which tokens they are.
  const words = texts.map((text, i) => (names.includes(text) ? tokenOf(text) : 100 + i) as Token);
  const reader = new ChannelReader(tokens, words, (token) => texts[words.indexOf(token)] ?? "");
  const shown = piecesOf(answer).map((piece) => reader.push(tokenOf(piece), piece));
  return [...shown, reader.flush()].filter((text) => text !== "");
}

const prompt = "<|start|>user<|message|>hello<|end|><|start|>assistant";

describe("what is for the reader", () => {
  it.each([
    [
      "<|channel|>analysis<|message|>They say hi.<|end|><|start|>assistant<|channel|>final<|message|>Hi there!",
      "Hi there!",
    ],
    ["<|channel|>final<|message|>Hi!", "Hi!"],
    ["<|channel|>final<|message|>Hi<|start|>assistant<|channel|>final<|message|>!<|end|>", "Hi!"],
    ["<|channel|>final <|constrain|>json<|message|>{}", "{}"],
    [
      "<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant<|channel|>commentary to=f <|constrain|>json<|message|>{}",
      "I look it up.",
    ],
    // The receiver stands with the channel, or with the role.
    [" to=f<|channel|>commentary <|constrain|>json<|message|>{}", ""],
    [
      "<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant to=f<|channel|>commentary json<|message|>{}",
      "I look it up.",
    ],
    ["<|start|>assistant<|message|>Hi!", "Hi!"],
    // Cut by the limit.
    ["<|channel|>analysis<|message|>They say", ""],
    // Who writes none of it is read as it is.
    ["Hi there!", "Hi there!"],
  ])("%s", (answer, shown) => {
    expect(read(answer, prompt).join("")).toBe(shown);
  });

  it("comes as it is made, also where the prompt has chosen the channel", () => {
    expect(read("Hi there", `${prompt}<|channel|>final<|message|>`)).toEqual(["Hi", " ", "there"]);
    expect(read("hm<|end|>", `${prompt}<|channel|>analysis<|message|>`)).toEqual([]);
    expect(read("<|channel|>final<|message|>Hi there", prompt)).toEqual(["Hi", " ", "there"]);
    expect(read("Hi there", "hello")).toEqual(["Hi there"]);
  });
});

it("an answer that begins at once is on the last channel", () => {
  const [channel, message, start, end] = [1, 2, 3, 4] as Token[] as [Token, Token, Token, Token];
  const tokens = { channel, message, start, end };
  const tokenize = () => [7 as Token];
  const header = (...prompt: number[]) => finalChannel(tokens, prompt as Token[], tokenize);
  expect(header(3, 8, 1, 9, 2, 4, 3, 8)).toEqual([channel, 7, message]);
  // The template chose one.
  expect(header(3, 8, 1, 9, 2)).toEqual([]);
});

describe("a model has channels", () => {
  let model: LoadedModel;
  beforeAll(async () => {
    model = await loadModel(
      { path: tiny, sequences: 1, gpu: false },
      { log: silent, signal: never },
    );
  });
  afterAll(() => model.close());

  it("only if it has their tokens, and its template writes them", () => {
    const tokenize = (text: string) => model.model.tokenize(text, true);
    expect(model.channels).toBeUndefined();
    expect(channelTokens(names.join(" "), tokenize)).toBeUndefined();
    expect(channelTokens("<|start|>", (text) => [tokenOf(text)])).toBeUndefined();
  });

  it("and counts what it thought, of which nothing is said", async () => {
    const of = (text: string) => model.model.tokenize(text, true);
    const [channel, message, start, end] = ["<|user|>", "<|assistant|>", "<|system|>", "<|end|>"]
      .map(of)
      .map(([token]) => token as Token);
    Object.assign(model, { channels: { channel, message, start, end } });
    const script = [
      ...of("<|user|>analysis<|assistant|>stop they say hi<|end|>"),
      ...of("<|system|>assistant<|user|>final<|assistant|>Hi"),
    ];
    // The engine takes the end of a message for that of the answer.
    expect(model.model.isEogToken(end as Token)).toBe(true);
    const next = vi.spyOn(Evaluation.prototype, "next");
    for (const token of script) next.mockResolvedValueOnce(token);
    const request = chatRequest("hello", { maxTokens: script.length, stop: ["stop"] });
    const messages = [];
    for await (const batch of generate(model, request, never)) messages.push(...batch);
    next.mockRestore();
    expect(messages.map(({ choices }) => choices[0]?.delta?.content).join("")).toBe("Hi");
    expect(model.ends(end as Token)).toBe(false);
    expect(messages.at(-1)).toMatchObject({
      choices: [{ finishReason: "length" }],
      usage: { completionTokens: script.length },
    });
  });

  it("and goes on behind what is no end of the answer", async () => {
    const sampling = { temperature: 0, topK: 1, topP: 1, seed: 1 };
    const made = async (ends: boolean) => {
      const place = await model.pool.acquire(never, () => 0);
      const work = { prompt: model.tokenize([]), sampling, limit: 3, ends: () => ends };
      const evaluation = model.begin(new Evaluation(place, work));
      let count = 0;
      while (count < 5 && (await evaluation.next(never)) !== undefined) count++;
      await model.end(evaluation);
      return count;
    };
    expect(await made(true)).toBe(1);
    expect(await made(false)).toBe(3);
  });
});
