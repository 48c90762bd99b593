/** Calls of tools as Python writes them. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { LLMRequest, Tool } from "../../gen/lintel/v1/chat_pb.js";
import { LiteralReader } from "../../src/backends/llama/tools/literals.js";
import { CallReader } from "../../src/backends/llama/tools/reader.js";
import { writtenCalls } from "../../src/backends/llama/tools/written.js";
import { functionTool } from "../support/tools.js";
import { fits, grammarOfCalls } from "./llama-grammars.js";
import { callsOf, cuts, form, read } from "./llama-tool-forms.js";
import { templates } from "./llama-tool-templates.js";

const llama4 = form(templates.llamaPython);
const lfm = form(templates.lfm);
const llama3 = form(templates.llama);
const olmo = form(templates.olmo);
const gemma = form("<|tool_call>call:{{ call }}<tool_call|>");

describe("calls", () => {
  const weather = ["weather", { city: 'a")]}, add(b="c', days: [1, { a: -2.5 }] }];
  const add = ["add", {}];
  const call = String.raw`weather(city="a\")]}, add(b=\"c", days=[1, {'a': -2.5}])`;
  it.each([
    ["Llama 4's", llama4, `[${call}]`, "", [weather]],
    ["several", llama4, ` [${call},\n  add()]`, "", [weather, add]],
    ["between tags", llama4, `<|python_start|>[${call}]<|python_end|>`, "", [weather]],
    ["behind a text", llama4, `I look.<|python_start|>[add(),]<|python_end|>`, "I look.", [add]],
    [
      "behind both tags, and in JSON",
      llama3,
      '<|python_start|><|python_end|>{"name": "add", "parameters": {}}',
      "",
      [add],
    ],
    ["in JSON after all", llama4, '[{"name": "add", "parameters": {}}]', "", [add]],
    ["Python after all", llama3, "[add()]", "", [add]],
    [
      "LFM2's",
      lfm,
      `Ok.<|tool_call_start|>[${call}, add( )]<|tool_call_end|>Wait.`,
      "Ok.Wait.",
      [weather, add],
    ],
    [
      "LFM2's, in JSON",
      lfm,
      '<|tool_call_start|>[{"name": "add", "arguments": {}}]<|tool_call_end|>',
      "",
      [add],
    ],
    [
      "Olmo's, each in a line",
      olmo,
      `Ok.<function_calls>\n${call}\nadd( )\n</function_calls>Wait.`,
      "Ok.Wait.",
      [weather, add],
    ],
    [
      "Olmo's, never ended, and in two parts",
      olmo,
      `<function_calls>add()</function_calls>\n<function_calls>\n${call}\n`,
      "",
      [add, weather],
    ],
    [
      "Olmo's, in a list",
      olmo,
      `<function_calls>[${call}, add()]</function_calls>`,
      "",
      [weather, add],
    ],
    [
      "Olmo's, and something else behind",
      olmo,
      "<function_calls>\nadd()\nThat is it.</function_calls>",
      "That is it.</function_calls>",
      [add],
    ],
  ])("are read wherever they are cut: %s", (_, form, answer, text, calls) => {
    for (const pieces of cuts(answer)) {
      const told = read(form, pieces);
      expect([pieces, told.text, told.calls]).toEqual([pieces, text, calls]);
    }
  });

  it.each([
    ["'a'", "a"],
    [`'say "a"'`, 'say "a"'],
    [`"it's"`, "it's"],
    [String.raw`'it\'s \\ \"x\"'`, `it's \\ "x"`],
    [String.raw`"\n\t\x41\u00e9\U0001F600\101\ud83d\ude00"`, "\n\tAé😀A😀"],
    [String.raw`"\d\/"`, String.raw`\d/`],
    ['"a\\\nb"', "ab"],
    ['""', ""],
    ["'''a 'b'\n''c'''", "a 'b'\n''c"],
    ['"""a"""', "a"],
    ["-1", -1],
    ["+1_000", 1000],
    ["1.5e-3", 0.0015],
    [".5", 0.5],
    ["2.", 2],
    ["007", 7],
    ["True", true],
    ["false", false],
    ["None", null],
    ["null", null],
    ["[]", []],
    ["[1, 'a', [None],]", [1, "a", [null]]],
    ["(1, 2)", [1, 2]],
    ["{}", {}],
    [`{'a': {"b": [True]}, 1: 2, None: 3}`, { a: { b: [true] }, "1": 2, null: 3 }],
  ])("have literals as arguments: %s", (literal, value) => {
    for (const pieces of cuts(`[add(a=${literal}, b = 1)]`)) {
      expect([pieces, read(llama4, pieces).calls]).toEqual([pieces, [["add", { a: value, b: 1 }]]]);
    }
  });

  it.each([
    ["another's name", "[rm(a=1)]"],
    ["another's name behind one", "[add(), rm()]"],
    ["no name", "[add(1)]"],
    ["no literal", "[add(a=b)]"],
    ["an expression", "[add(a=1+2)]"],
    ["no number", "[add(a=1.2.3)]"],
    ["a sign alone", "[add(a=-)]"],
    ["lists as names", "[add(a={[1]: 2})]"],
    ["no comma", "[add() add()]"],
    ["a list of something", "[1, 2] and a text"],
    ["an empty list", "[]"],
    ["a link", "[add](https://example.org) it is"],
    ["cut short", '[add(a="b'],
    ["a call in a text", "So: [add()]"],
    ["a call alone", "add()"],
  ])("that are none come out as the text that they are: %s", (_, answer) => {
    for (const pieces of cuts(answer)) {
      expect([pieces, read(llama4, pieces)]).toMatchObject([pieces, { text: answer, calls: [] }]);
    }
  });

  it("hold back no text that only begins with a bracket", () => {
    const { steps } = read(llama4, [..."[1] It rains"]);
    expect(steps.slice(0, "[1] It".length).join("")).toBe("[1] It");
  });

  it.each([
    ["Python", llama4, "[add(größe=1, 高さ=2)]", { größe: 1, 高さ: 2 }],
    [
      "Gemma's",
      gemma,
      '<|tool_call>call:add{größe:<|"|>L<|"|>,first name:{高さ:2}}<tool_call|>',
      { größe: "L", "first name": { 高さ: 2 } },
    ],
  ])("have arguments of any name: %s", (_, form, answer, args) => {
    for (const pieces of cuts(answer)) {
      expect(read(form, pieces)).toMatchObject({ text: "", calls: [["add", args]] });
    }
  });

  it("are not read again with each bracket", () => {
    const value = vi.spyOn(LiteralReader.prototype, "value");
    onTestFinished(() => value.mockRestore());
    const list = Array(2000).fill([1]);
    const reader = new CallReader(llama4, new Map([["add", {}]]));
    const calls = [...`[add(a=${JSON.stringify(list)})]`].flatMap((it) => callsOf(reader.push(it)));
    expect(calls.map(({ args }) => JSON.parse(args))).toEqual([{ a: list }]);
    // There are twice as many values as items.
    expect(value.mock.calls.length).toBeLessThan(100 * list.length);
  });

  it.each([
    ["three quotes", llama4, `[add(a="""it's "b" [ ${"x".repeat(2000)}""")]`],
    ["escapes", llama4, String.raw`[add(a='it\'s (', b="\"[${"x".repeat(2000)}")]`],
    ["JSON", llama3, `{"name": "add", "parameters": {"a": "\\"it's ({${"x".repeat(2000)}"}}`],
    ["Gemma's", gemma, `<|tool_call>call:add{a:<|"|>it's "{\\${"x".repeat(2000)}<|"|>}`],
  ])("that are long are told as soon as they are whole: %s", (_, form, answer) => {
    const reader = new CallReader(form, new Map([["add", {}]]));
    const calls = [...answer].map((letter) => callsOf(reader.push(letter)).length);
    expect(calls.indexOf(1)).toBe(answer.length - 1);
  });

  it.each([
    ["Python", llama4, `[add(a=${"[".repeat(20_000)}${"]".repeat(20_000)})]`],
    ["cut short", llama4, `[add(a=${"[".repeat(20_000)}`],
    [
      "JSON",
      llama3,
      `{"name": "add", "parameters": {"a": ${"[".repeat(20_000)}${"]".repeat(20_000)}}}`,
    ],
  ])("so deep that nothing can go through them are text: %s", (_, form, answer) => {
    expect(read(form, [answer])).toMatchObject({ text: answer, calls: [] });
  });

  it("are written as they are read", () => {
    const args = { a: "b'\"\n", c: [true, null, 1.5], d: { "e f": false } };
    for (const form of [llama4, lfm, olmo]) {
      const written = writtenCalls(
        [
          { name: "add", args },
          { name: "weather", args: {} },
        ],
        form,
      );
      expect(written).toContain("c=[True, None, 1.5]");
      expect(read(form, [written])).toMatchObject({
        text: "",
        calls: [
          ["add", args],
          ["weather", {}],
        ],
      });
    }
  });
});

describe("a grammar of calls", () => {
  const grammarOf = (tools: Tool[], more: Partial<LLMRequest> = {}, of = llama4) =>
    grammarOfCalls(of, tools, more);
  const schema = {
    type: "object",
    properties: {
      path: { type: "string" },
      lines: { type: "integer" },
      more: { $ref: "#/$defs/more" },
      mode: { enum: ["1", "2"] },
    },
    required: ["path"],
    $defs: { more: { type: "object", properties: { a: { type: "boolean" } } } },
  };
  const tools = [functionTool("edit", schema), functionTool("stop", {})];

  it("lets through what fits, and nothing else", async () => {
    const made = await grammarOf(tools);
    const fitting = [
      '[edit(path="a \\"b\\"")]',
      '[edit(path="", lines=12, more={"a": true}, mode="2")]',
      "[stop()]",
      '[stop(any="x", more=[1])]',
      '[stop(), edit(path="a"), stop()]',
    ];
    const others = [
      "[edit()]",
      "[edit(lines=1)]",
      '[edit(path="a", lines="1")]',
      '[edit(path="a", mode="3")]',
      '[edit(path="a", other="x")]',
      '[edit(lines=1, path="a")]',
      "[rm()]",
      "[]",
      "no",
    ];
    for (const text of fitting) expect([text, fits(made, text)]).toEqual([text, true]);
    for (const text of others) expect([text, fits(made, text)]).toEqual([text, false]);
  });

  it("has one call where one is wanted, and its marks", async () => {
    const made = await grammarOf(tools, { parallelToolCalls: false }, lfm);
    expect(fits(made, "<|tool_call_start|>[stop()]<|tool_call_end|>")).toBe(true);
    expect(fits(made, "<|tool_call_start|>[stop(), stop()]<|tool_call_end|>")).toBe(false);
    expect(fits(made, "[stop()]")).toBe(false);
  });

  it("has a call in each line between Olmo's marks", async () => {
    const made = await grammarOf(tools, {}, olmo);
    const calls = (lines: string) => `<function_calls>\n${lines}</function_calls>`;
    expect(fits(made, calls("stop()\n"))).toBe(true);
    expect(fits(made, calls('edit(path="a")\nstop()\n'))).toBe(true);
    expect(fits(made, calls("edit()\n"))).toBe(false);
    expect(fits(made, calls("[stop()]"))).toBe(false);
    const single = await grammarOf(tools, { parallelToolCalls: false }, olmo);
    expect(fits(single, calls("stop()\nstop()\n"))).toBe(false);
  });

  it.each([
    ["can't be held to", { type: "object", properties: { a: { type: "string", pattern: "a" } } }],
    ["has names that Python can't write", { type: "object", properties: { "a b": {} } }],
    ["is of all arguments", { type: "object", minProperties: 1, properties: { a: {} } }],
  ])("takes any arguments where a schema %s, unless it is strict", async (_, parameters) => {
    const made = await grammarOf([functionTool("edit", parameters)]);
    expect(fits(made, '[edit(a="b", c=1)]')).toBe(true);
    await expect(grammarOf([functionTool("edit", parameters, { strict: true })])).rejects.toThrow();
  });
});
