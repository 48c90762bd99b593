/** Answers of models that write on several channels, as gpt-oss does. */
import type { Token } from "node-llama-cpp";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ChannelReader, channelTokens, onChannel } from "../../src/backends/llama/channels.js";
import { Evaluation } from "../../src/backends/llama/evaluation.js";
import { generate } from "../../src/backends/llama/generate.js";
import { loadModel } from "../../src/backends/llama/load.js";
import type { LoadedModel } from "../../src/backends/llama/model.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { chatRequest, say, tiny } from "./llama-subject.js";
import { form } from "./llama-tool-forms.js";

const names = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>", "<|eom|>"];
const tokenOf = (text: string) => names.indexOf(text) as Token;
const tokensOf = (template: string) => channelTokens(template, (text) => [tokenOf(text)]);
const tokens = tokensOf(names.join(" "));
/** Muse Glimmer's. */
const receivers = tokensOf("<|start|><|message|><|eom|>");
const atem = form("<atem:function_calls>").call;

/**
 * What comes of an answer, piece by piece; both are written as the model writes them.
 * @param known names of tools; absent: there are none
 * @param thinksFirst whether what has a form stands behind a first message of thoughts
 */
function read(
  answer: string,
  prompt: string,
  known?: readonly string[],
  thinksFirst = false,
  of = tokens,
) {
  if (!of || atem.as !== "channel") throw new Error("no tokens");
  const piecesOf = (text: string) => text.split(/(<\|\w+\|>|\s)/).filter((piece) => piece !== "");
  const texts = piecesOf(prompt);
  // Of words it does not matter which tokens they are.
  const words = texts.map((text, i) => (names.includes(text) ? tokenOf(text) : 100 + i) as Token);
  const textOf = (token: Token) => texts[words.indexOf(token)] ?? "";
  const may = known && new Map(known.map((name) => [name, {}]));
  const reader = new ChannelReader(
    of,
    words,
    textOf,
    may,
    thinksFirst,
    of === receivers ? atem.message : undefined,
  );
  // The engine does not write this one out.
  const written = (piece: string) => (piece === "<|constrain|>" ? "" : piece);
  const said = piecesOf(answer).map((piece) => reader.push(tokenOf(piece), written(piece)));
  const all = [...said, reader.flush()];
  return {
    texts: all.map(({ text }) => text).filter((text) => text !== ""),
    thoughts: all.map(({ thought }) => thought).filter((thought) => thought !== ""),
    ...(known && { calls: all.flatMap(({ calls = [] }) => calls) }),
  };
}

const prompt = "<|start|>user<|message|>hello<|end|><|start|>assistant";

describe("what is for the reader, and what is thought", () => {
  it.each([
    [
      "<|channel|>analysis<|message|>They say hi.<|end|><|start|>assistant<|channel|>final<|message|>Hi there!",
      "Hi there!",
      "They say hi.",
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
    ["<|channel|>analysis<|message|>They say", "", "They say"],
    // Tools of the model's own are called in its thoughts.
    [
      "<|channel|>analysis to=python code<|message|>1+1<|end|><|start|>assistant<|channel|>analysis<|message|>2.",
      "",
      "2.",
    ],
    // It may be for itself, or for nobody.
    [
      "<|channel|>commentary to=assistant<|channel|>analysis<|message|>They say hi.<|end|><|start|>assistant<|channel|>commentary to=assistant<|channel|>final<|message|>Hi!",
      "Hi!",
      "They say hi.",
    ],
    ["<|channel|>final to=user<|message|>Hi!", "Hi!"],
    // Who writes none of it is read as it is.
    ["Hi there!", "Hi there!"],
  ])("%s", (answer, shown, thought = "") => {
    const { texts, thoughts } = read(answer, prompt);
    expect([texts.join(""), thoughts.join("")]).toEqual([shown, thought]);
  });

  it("comes as it is made, also where the prompt has chosen the channel", () => {
    const hi = { texts: ["Hi", " ", "there"], thoughts: [] };
    expect(read("Hi there", `${prompt}<|channel|>final<|message|>`)).toEqual(hi);
    expect(read("hm hm<|end|>", `${prompt}<|channel|>analysis<|message|>`)).toEqual({
      texts: [],
      thoughts: ["hm", " ", "hm"],
    });
    expect(read("<|channel|>final<|message|>Hi there", prompt)).toEqual(hi);
    expect(read("Hi there", "hello")).toEqual({ texts: ["Hi there"], thoughts: [] });
  });
});

describe("messages that are told by whom they are for", () => {
  const call =
    '<atem:function_calls>\n<atem:invoke name="weather">\n<atem:parameter name="city"> Oslo </atem:parameter>\n<atem:parameter name="days">[1, 2]</atem:parameter>\n</atem:invoke>\n</atem:function_calls>';
  const args = '{"city":" Oslo ","days":[1,2]}';
  const weather = { name: "weather", args };

  it.each([
    ["a text", " to=user<|message|>Hi there!", { text: "Hi there!" }],
    ["a text for nobody", "<|message|>Hi!", { text: "Hi!" }],
    [
      "thoughts, and a text",
      ` to=self<|message|>I could ${call} here<|eom|><|start|>assistant to=user<|message|>Hi!`,
      { thought: `I could ${call} here`, text: "Hi!" },
    ],
    [
      "a text, and a call",
      ` to=user<|message|>I look.<|eom|><|start|>assistant to=weather<|message|>${call}`,
      { text: "I look.", calls: [weather] },
    ],
    [
      "two calls",
      ` to=weather<|message|>${call}<|eom|><|start|>assistant to=weather<|message|>\n${call}`,
      { calls: [weather, weather] },
    ],
    ["what a call looks like", ` to=user<|message|>Write:\n${call}`, { text: `Write:\n${call}` }],
    ["no call", " to=weather<|message|>Oslo?", { text: "to=weather<|message|>Oslo?" }],
    [
      "another tool",
      ` to=rm<|message|>${call.replace("weather", "rm")}`,
      {
        text: `to=rm<|message|>${call.replace("weather", "rm")}`,
      },
    ],
  ])("are read: %s", (_, answer, expected) => {
    const begin = "<|start|>user<|message|>hello<|start|>assistant";
    const { texts, thoughts, calls } = read(answer, begin, ["weather"], false, receivers);
    const told = { text: texts.join(""), thought: thoughts.join(""), calls };
    expect(told).toEqual({ text: "", thought: "", calls: [], ...expected });
  });

  it("are for the reader, or thought, where the answer begins at once", () => {
    const [message, start, end] = [2, 3, 4] as Token[] as [Token, Token, Token];
    const begun = (name: "final" | "analysis", prompt: number[]) =>
      onChannel(name, { message, start, end }, prompt as Token[], (text) => [text.length as Token]);
    expect(begun("final", [3, 8, 2, 9, 3, 8])).toEqual([" to=user".length, message]);
    expect(begun("analysis", [3, 8])).toEqual([" to=self".length, message]);
    expect(begun("final", [3, 8, 2])).toEqual([]);
  });
});

describe("an answer that has a form, behind thoughts", () => {
  const thinking = `${prompt}<|channel|>analysis<|message|>`;
  const behind = "<|end|><|start|>assistant<|channel|>final<|message|>{}";

  it.each([
    ["", "Hm."],
    ["<|channel|>final<|message|>oops", "Hm.oops"],
    ["<|start|>assistant<|channel|>commentary to=functions.stop json<|message|>{}", "Hm.{}"],
  ])("has none of what is written ahead of their end: %j", (more, thought) => {
    const { texts, thoughts, calls } = read(`Hm.${more}${behind}`, thinking, ["stop"], true);
    expect({ text: texts.join(""), thought: thoughts.join(""), calls }).toEqual({
      text: "{}",
      thought,
      calls: [],
    });
  });

  it("may be a call", () => {
    const call =
      "<|end|><|start|>assistant<|channel|>commentary to=functions.stop json<|message|>{}";
    const { texts, calls } = read(`Hm.${call}`, thinking, ["stop"], true);
    expect({ texts, calls }).toEqual({ texts: [], calls: [{ name: "stop", args: "{}" }] });
  });
});

describe("a call of a tool", () => {
  const args = '{"city":"Oslo","at":[1]}';
  const call = { name: "weather", args };
  const known = ["weather", "stop"];
  const told = (answer: string) => {
    const { texts, thoughts, calls } = read(answer, prompt, known);
    return { text: texts.join(""), thought: thoughts.join(""), calls };
  };

  it.each([
    [
      "behind thoughts",
      `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>${args}`,
      { text: "", thought: "Hm.", calls: [call] },
    ],
    [
      "with no blank in front of its type",
      `<|channel|>commentary to=functions.weather<|constrain|>json<|message|>${args}`,
      { text: "", thought: "", calls: [call] },
    ],
    [
      "its receiver with the role",
      ` to=functions.weather<|channel|>commentary json<|message|>${args}`,
      { text: "", thought: "", calls: [call] },
    ],
    [
      "behind what is said, and before another",
      `<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.weather json<|message|>${args}<|end|><|start|>assistant to=stop<|channel|>analysis<|message|>`,
      { text: "I look.", thought: "", calls: [call, { name: "stop", args: "{}" }] },
    ],
    [
      "of no tool, which is text",
      "<|channel|>commentary to=functions.rm json<|message|>{}",
      { text: "commentary to=functions.rm json<|message|>{}", thought: "", calls: [] },
    ],
    [
      "cut short, which is text",
      '<|channel|>commentary to=functions.weather json<|message|>{"city',
      {
        text: 'commentary to=functions.weather json<|message|>{"city',
        thought: "",
        calls: [],
      },
    ],
    [
      "of a tool of the model's own, which is part of thoughts",
      "<|channel|>analysis to=python code<|message|>1+1<|end|><|start|>assistant<|channel|>final<|message|>2.",
      { text: "2.", thought: "", calls: [] },
    ],
  ])("is read: %s", (_, answer, expected) => {
    expect(told(answer)).toEqual(expected);
  });

  it("is read also where its mark is written letter by letter", () => {
    if (!tokens) throw new Error("no tokens");
    const answer = `commentary to=functions.weather <|constrain|>json<|message|>${args}`;
    for (const size of [1, 2, 7, answer.length]) {
      const again = new ChannelReader(
        tokens,
        [],
        () => "",
        new Map(known.map((name) => [name, {}])),
      );
      const pieces = answer.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
      for (const piece of pieces) {
        expect(again.push(99 as Token, piece)).toMatchObject({ text: "", thought: "" });
      }
      expect(again.flush().calls).toEqual([call]);
    }
  });
});

it("an answer that begins at once is on the last channel", () => {
  const [channel, message, start, end] = [1, 2, 3, 4] as Token[] as [Token, Token, Token, Token];
  const tokens = { channel, message, start, end };
  const tokenize = () => [7 as Token];
  const header = (...prompt: number[]) => onChannel("final", tokens, prompt as Token[], tokenize);
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

  it("and tells and counts what it thought, in which no answer stops", async () => {
    const of = (text: string) => model.model.tokenize(text, true);
    const [channel, message, start, end] = ["<|user|>", "<|assistant|>", "<|system|>", "<|end|>"]
      .map(of)
      .map(([token]) => token as Token);
    Object.assign(model, { channels: { channel, message, start, end } });
    // Where nothing is to be thought, the answer is begun.
    const asked = [say("hi", "system")];
    const [most, none] = ["high", "none"].map((effort) => model.tokenize(asked, { effort }));
    expect(none).toEqual([...(most ?? []), ...of("<|user|>final<|assistant|>")]);
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
    const deltas = messages.map(({ choices }) => choices[0]?.delta);
    expect(deltas.map((delta) => delta?.content).join("")).toBe("Hi");
    const thoughts = "stop they say hi";
    expect(deltas.map((delta) => delta?.reasoningContent).join("")).toBe(thoughts);
    expect(model.ends(end as Token)).toBe(false);
    expect(messages.at(-1)).toMatchObject({
      choices: [{ finishReason: "length" }],
      // With the token that ends them.
      usage: { completionTokens: script.length, reasoningTokens: thoughts.length + 1 },
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
