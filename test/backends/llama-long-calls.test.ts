/** Answers that go on for long where calls stand: each letter is looked at a few times, in however many pieces they come. */
import { describe, expect, it, vi } from "vitest";
import type { ToolForm } from "../../src/backends/llama/tools/form.js";
import { Place } from "../../src/backends/llama/tools/place.js";
import { form, read } from "./llama-tool-forms.js";
import { templates } from "./llama-tool-templates.js";

const forms = {
  hermes: form(templates.hermes),
  kimi: form(templates.kimi),
  mistral: form(templates.mistralNamed),
  qwen: form(templates.qwenCoder),
  glm: form(templates.glm),
  python: form(templates.llamaPython),
  gemma: form(templates.gemma),
};

/** Letters of all texts that are read as calls, or searched, while something is done. */
function lettersIn(act: () => void): number {
  const spies = [
    vi.spyOn(Place.prototype, "next"),
    vi.spyOn(String.prototype, "search"),
    vi.spyOn(String.prototype, "trimStart"),
  ];
  try {
    act();
    const all = spies.flatMap(({ mock }) => mock.contexts as (Place | string)[]);
    return all.reduce((sum, it) => sum + (typeof it === "string" ? it : it.text).length, 0);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const many = 4000;
const blanks = " \n".repeat(many / 2);
const html = "<p>[(</p>".repeat(many / 10);
const add = ["add", {}];

describe("long answers are read in a time that grows with their length", () => {
  it.each<[string, ToolForm, string, string, unknown[]]>([
    ["behind a mark", forms.hermes, `<tool_call>${blanks}{"name": "add"}</tool_call>`, "", [add]],
    ["behind one of marks", forms.qwen, `<tool_call>${blanks}<function=add></function>`, "", [add]],
    ["behind a name", forms.mistral, `[TOOL_CALLS]add${blanks}{}`, "", [add]],
    ["behind a name among marks", forms.glm, `<tool_call>add${blanks}</tool_call>`, "", [add]],
    ["within Python", forms.python, `[add(${blanks})]`, "", [add]],
    ["in front of a call", forms.python, `${blanks}[add()]`, "", [add]],
    [
      "behind a call",
      forms.hermes,
      `<tool_call>{"name": "add"}${blanks}</tool_call>${blanks}.`,
      ".",
      [add],
    ],
    ["and nothing else", forms.hermes, `<tool_call>${blanks}`, `<tool_call>${blanks}`, []],
    ["and a text", forms.hermes, `<tool_call>${blanks}no`, `<tool_call>${blanks}no`, []],
  ])("of blanks %s", (_, form, answer, text, calls) => {
    const count = lettersIn(() => {
      expect(read(form, [...answer])).toMatchObject({ text, calls });
    });
    expect(count).toBeLessThan(50 * answer.length);
  });

  it.each<[string, ToolForm, string, string, unknown[]]>([
    [
      "tags in an argument",
      forms.qwen,
      `<tool_call><function=add><parameter=a>${html}</parameter></function></tool_call>`,
      "",
      [["add", { a: html }]],
    ],
    [
      "brackets in a text",
      forms.kimi,
      `<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": "${html}"}`,
      "",
      [["add", { a: html }]],
    ],
    [
      "brackets in a text between marks",
      forms.gemma,
      `<|tool_call>call:add{a:<|"|>${html}<|"|>}`,
      "",
      [["add", { a: html }]],
    ],
    ...[
      ["a name", forms.kimi, `<|tool_call_begin|>functions.${"a".repeat(many)}`] as const,
      ["a name behind a mark", forms.qwen, `<tool_call><function=${"a".repeat(many)}>`] as const,
    ].map(([what, form, answer]) => [what, form, answer, answer, []] as never),
  ])("of %s", (_, form, answer, text, calls) => {
    const count = lettersIn(() => {
      expect(read(form, [...answer])).toMatchObject({ text, calls });
    });
    expect(count).toBeLessThan(50 * answer.length);
  });
});
