/** What models think: found at the beginning of what they write, wherever pieces cut it. */
import type { Token } from "node-llama-cpp";
import { describe, expect, it } from "vitest";
import { effortFields, effortsOf } from "../../src/backends/llama/effort.js";
import {
  beginsThoughts,
  ThoughtReader,
  thoughtMarksOf,
} from "../../src/backends/llama/thoughts.js";
import type { ThoughtMarks } from "../../src/backends/marked-thoughts.js";

/** Marks, by a template that has them. */
const marksIn = (template: string): ThoughtMarks => {
  const found = thoughtMarksOf(template);
  if (!found) throw new Error("no marks");
  return found;
};
const think = marksIn("{% set content = content.split('</think>')[-1] %}");
const magistral = marksIn("{{ '[THINK]' + m.thinking + '[/THINK]' }}");
const seed = marksIn("{% set think_begin_token = '<seed:think>' %}");
const gemma = marksIn("{{ '<|channel>thought\n<channel|>' }}");
const miniMax = marksIn("{%- set think_end_token = '</mm:think>' -%}");
const hy = marksIn("{%- set think_begin_token = '<think{}>'.format(mark) %}");
const apriel = marksIn("response after the marker [BEGIN FINAL RESPONSE].");
const command = marksIn("<|START_THINKING|>{{ plan }}<|END_THINKING|>");
const commandMarks = ["THINKING", "RESPONSE"].map((it) => `<|START_${it}|><|END_${it}|>`).join("");
const command7 = marksIn(commandMarks);
const commandText = marksIn(commandMarks.replaceAll("RESPONSE", "TEXT"));
const granite = marksIn(
  "Write your thoughts between <think></think> and your response between <response></response>.",
);
const hunyuan = marksIn("{{ content.split('</think>')[-1].split('<answer>')[-1] }}</answer>");

const word = -1 as Token;

/** What becomes of an answer that comes in pieces. */
function read(marks: ThoughtMarks, pieces: readonly string[], begun = false) {
  const reader = new ThoughtReader({ marks, tokens: new Map() }, begun);
  const said = pieces.map((piece) => {
    const { isThinking } = reader;
    return { ...reader.push(word, piece), isThinking };
  });
  const all = [...said, { ...reader.flush(), isThinking: reader.isThinking }];
  return {
    thought: all.map(({ thought }) => thought).join(""),
    text: all.map(({ text }) => text).join(""),
    steps: all,
  };
}

/** The pieces of a text, cut at each place alone, at each two, and letter by letter. */
function* cuts(text: string): Generator<string[]> {
  yield [...text];
  for (let a = 0; a <= text.length; a++) {
    for (let b = a; b <= text.length; b++) {
      yield [text.slice(0, a), text.slice(a, b), text.slice(b)];
    }
  }
}

const begun = true;

describe("thoughts", () => {
  it.each<[string, ThoughtMarks, string, string, string, boolean?]>([
    ["Qwen's", think, "<think>\nHm < 5.\n\nOk.\n</think>\n\nHi\n", "Hm < 5.\n\nOk.", "Hi\n"],
    ["GLM's", think, "\n<think>Hm.</think>\nHi", "Hm.", "Hi"],
    ["without lines between", think, "<think> Hm. </think> Hi", " Hm.", " Hi"],
    ["with code behind them", think, "<think>\nHm.\n</think>\n \n  if x:\n", "Hm.", "  if x:\n"],
    ["none, between marks", think, "<think>\n\n</think>\n\nHi", "", "Hi"],
    ["begun by the prompt", think, "Hm.\n</think>\n\nHi", "Hm.", "Hi", begun],
    ["begun by the prompt, and again", think, "<think>\nHm.</think>Hi", "Hm.", "Hi", begun],
    ["ended by the prompt", think, "Hi", "", "Hi"],
    ["never ended", think, "<think>\nHm. </thin", "Hm. </thin", ""],
    ["never ended, before a line", think, "Hm.\n\n", "Hm.", "", begun],
    ["alone", think, "<think>Hm.</think>\n\n", "Hm.", ""],
    ["only ended", think, "\n</think>\n\nHi", "", "Hi"],
    ["ended by the prompt, and again", miniMax, "</mm:think>Hi </mm:think>", "", "Hi </mm:think>"],
    ["MiniMax-M3's", miniMax, "<mm:think>Hm.</mm:think>Hi", "Hm.", "Hi"],
    ["Hy3's", hy, "<think:opensource>Hm.</think:opensource>Hi", "Hm.", "Hi"],
    [
      "Apriel's",
      apriel,
      "Here are my reasoning steps:\nHm.\n[BEGIN FINAL RESPONSE]\nHi.\n[END FINAL RESPONSE]\n",
      "Hm.",
      "Hi.",
    ],
    ["Apriel's, begun", apriel, "Hm.\n[BEGIN FINAL RESPONSE]\nHi.", "Hm.", "Hi.", begun],
    ["that begin twice", think, "<think>a <think> b</think>Hi", "a <think> b", "Hi"],
    ["Magistral's", magistral, "[THINK]Hm.[/THINK]Hi", "Hm.", "Hi"],
    ["Seed's", seed, "<seed:think>\nHm.</seed:think>\nHi", "Hm.", "Hi"],
    ["Gemma's", gemma, "<|channel>thought\nHm.\n<channel|>Hi", "Hm.", "Hi"],
    ["Command's", command, "<|START_THINKING|>Hm.<|END_THINKING|>Hi", "Hm.", "Hi"],
    [
      "Command's, before a marked answer",
      command7,
      "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hi.<|END_RESPONSE|>",
      "Hm.",
      "Hi.",
    ],
    ["Command's, none", command7, "<|START_RESPONSE|>Hi <b<|END_RESPONSE|>", "", "Hi <b"],
    ["Command's, none, as text", commandText, "\n<|START_TEXT|>Hi<|END_TEXT|>", "", "Hi"],
    ["Command's, begun", command7, "Hm.<|END_THINKING|>Hi", "Hm.", "Hi", begun],
    [
      "Command's, before calls",
      command7,
      "<|START_THINKING|>Hm.<|END_THINKING|><|START_A",
      "Hm.",
      "<|START_A",
    ],
    ["Command's, no marks at all", command7, "\nHi", "", "\nHi"],
    ["Granite's", granite, "<think>Hm.</think>\n<response>\nHi.\n</response> ", "Hm.", "Hi."],
    ["Granite's, cut short", granite, "<think>Hm.</think><response>Hi </resp", "Hm.", "Hi </resp"],
    ["Granite's, without a mark", granite, "<think>Hm.</think>\n<resp Hi", "Hm.", "<resp Hi"],
    ["Hunyuan's", hunyuan, "<think>\nHm.\n</think>\n<answer>\nHi\n</answer>", "Hm.", "Hi"],
  ])("are told apart wherever they are cut: %s", (_, marks, answer, thought, text, from) => {
    for (const pieces of cuts(answer)) {
      const told = read(marks, pieces, from);
      expect([pieces, told.thought, told.text]).toEqual([pieces, thought, text]);
    }
  });

  it.each<[string, ThoughtMarks, string]>([
    ["later in an answer", think, "A mark is <think>, and\n\n</think> its end."],
    ["half a mark", think, "<thin"],
    ["another mark", think, " [THINK]Hm.[/THINK]"],
    ["blanks", think, "\n \n"],
    ["nothing", think, ""],
    ["an answer between marks, without thoughts", granite, "<response>Hi</response>"],
  ])("that are none are text: %s", (_, marks, answer) => {
    for (const pieces of cuts(answer)) {
      expect(read(marks, pieces)).toMatchObject({ thought: "", text: answer });
    }
  });

  it("come out at once, but for what may be a mark, or a line before one", () => {
    const { steps } = read(think, [..."<think>a b</think>\nHi <b"]);
    const told = steps.map(({ thought, text }) => thought || text);
    expect(told.slice(0, "<think>".length).join("")).toBe("");
    expect(told.slice("<think>".length)).toEqual([
      ...["a", "", " b", "", "", "", "", "", "", "", ""],
      ...["", "H", "i", " ", "<", "b", ""],
    ]);
  });

  it("last until their mark is whole", () => {
    const { steps } = read(think, ["<think>", "Hm.", "</th", "ink>", "Hi"]);
    expect(steps.map(({ isThinking }) => isThinking)).toEqual([
      ...[false, true, true, true],
      ...[false, false],
    ]);
    expect(read(think, ["Hm."], begun).steps[0]?.isThinking).toBe(true);
    expect(read(think, ["Hi"]).steps[0]?.isThinking).toBe(false);
  });

  it("are marked by control tokens, too, which stay none of an answer", () => {
    const [open, close] = [7 as Token, 8 as Token];
    const tokens = new Map([
      [open, "[THINK]"],
      [close, "[/THINK]"],
    ]);
    const reader = new ThoughtReader({ marks: magistral, tokens }, false);
    const said = [
      reader.push(open, ""),
      reader.push(word, "Hm."),
      reader.push(close, ""),
      reader.push(word, "Hi"),
      // It thinks again.
      reader.push(open, ""),
      reader.push(open, ""),
      reader.push(word, "So."),
      reader.push(close, ""),
      reader.push(word, "!"),
      reader.push(close, ""),
      reader.flush(),
    ];
    expect(said.map(({ thought }) => thought).join("")).toBe("Hm.So.");
    expect(said.map(({ text }) => text).join("")).toBe("Hi!");
  });

  it("are begun by a prompt that ends with their mark", () => {
    expect(beginsThoughts("<|assistant|><think>\n\n", think)).toBe(true);
    expect(beginsThoughts("<|assistant|><think>\n\n</think>\n\n", think)).toBe(false);
    expect(beginsThoughts("<think> is a mark.<|assistant|>", think)).toBe(false);
  });
});

describe("a template", () => {
  it("without marks has a model without thoughts", () => {
    expect(thoughtMarksOf("{{ messages }}<|think|> <thinking> <response></response>")).toBe(
      undefined,
    );
    // What tools said, as MiniMax's has it, is no mark of an answer.
    expect(thoughtMarksOf("<think></think><response>{{ m.content }}</response>")).toEqual({
      open: "<think>",
      close: "</think>",
    });
  });

  it.each([
    // gpt-oss' names the one alone that it takes where nothing is said.
    ["gpt-oss", "{% set effort = 'medium' %}", "low low low medium high high high"],
    ["GLM", "{{ 'high' if effort == \"high\" else 'max' }}", "high high high high high max max"],
    ["Qwen", "{# 'xhigh' 'medium' 'low' #}", "low low low medium xhigh xhigh xhigh"],
    ["Mistral", "{% if e not in ['none', 'high'] %}", "none high high high high high high"],
    [
      "Hy3",
      "{% if e not in ['high', 'low', 'no_think'] %}",
      "no_think low low high high high high",
    ],
  ])("is told of the effort that is next to the one asked for: %s", (_, template, told) => {
    const asked = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    const efforts = effortsOf(template);
    const fields = asked.map((effort) => effortFields(effort, efforts));
    expect(fields).toEqual(
      told.split(" ").map((reasoning_effort, i) => ({
        enable_thinking: i > 0,
        thinking: i > 0,
        thinking_mode: i > 0 ? "enabled" : "disabled",
        reasoning_effort,
        reasoning_strength: reasoning_effort,
        thinking_effort: reasoning_effort,
      })),
    );
    expect(effortFields("", efforts)).toEqual({});
  });
});
