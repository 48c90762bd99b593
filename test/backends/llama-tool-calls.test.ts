/** Calls of tools in what models write: found wherever pieces cut them, and nothing else is. */
import { describe, expect, it } from "vitest";
import { toolFormOf } from "../../src/backends/llama/tools/families.js";
import type { ToolForm } from "../../src/backends/llama/tools/form.js";
import { CallReader } from "../../src/backends/llama/tools/reader.js";
import { callsOf, cuts, form, read } from "./llama-tool-forms.js";
import { templates } from "./llama-tool-templates.js";

const forms = {
  hermes: form("<tool_call>{'name': 'x'}</tool_call>"),
  mistral: form("[TOOL_CALLS] [ {{ call }} ]"),
  mistralNamed: form("[TOOL_CALLS]{{ name }}[ARGS]{{ args }}"),
  llama: form('Respond in the format {"name": function name, "parameters": dictionary of names}.'),
  phi: form("<|tool_call|>[{{ calls }}]<|/tool_call|>"),
  kimi: form("<|tool_calls_section_begin|>{{ calls }}<|tool_calls_section_end|>"),
  jamba: form("<tool_calls>[{{ calls }}]</tool_calls>"),
  gemma: form("<|tool_call>call:{{ call }}<tool_call|>"),
  functionGemma: form("<start_function_call>call:{{ call }}<end_function_call>"),
  command: form("<|START_ACTION|>[{{ calls }}]<|END_ACTION|>"),
  nemotron: form("<TOOLCALL>[{{ calls }}]</TOOLCALL>"),
  deepSeek: form("<｜tool▁calls▁begin｜>```json{{ calls }}```<｜tool▁calls▁end｜>"),
  deepSeekNamed: form("<｜tool▁calls▁begin｜>{{ calls }}<｜tool▁calls▁end｜>"),
  apertus: form("<|tools_prefix|>[{{ calls }}]<|tools_suffix|>"),
  functionary: form("<function=name>{{ args }}</function>"),
  gigaChat: form("function call<|role_sep|>{{ call }}<|message_sep|>"),
  intern: form(templates.intern),
  solar: form(templates.solar),
  fire: form(templates.functools),
  actions: form(templates.actions),
  miniMaxOne: form("<tool_calls>\n{{ calls }}\n</tool_calls>"),
  receivers: form(templates.receivers),
  gemmaPlain: form(templates.gemmaPlain),
  laterGigaChat: form("function call<|role_sep|><|function_call|>{{ call }}"),
};

type Call = [name: string, args: object];
const weather: Call = ["weather", { city: 'Pa"}]r</tool_call>is', days: [1, { a: 2 }] }];
const add: Call = ["add", {}];
const json = (call: Call, args = "arguments") =>
  `{"name": "${call[0]}", "${args}": ${JSON.stringify(call[1])}}`;
const kimi = (call: Call, at = 0) =>
  `<|tool_call_begin|>functions.${call[0]}:${at}<|tool_call_argument_begin|>${JSON.stringify(call[1])}<|tool_call_end|>`;
const command = ([name, args]: Call, at = 0) =>
  `{"tool_call_id": "${at}", "tool_name": "${name}", "parameters": ${JSON.stringify(args)}}`;
const deepSeek = ([name, args]: Call) =>
  `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${JSON.stringify(args)}\n\`\`\`<｜tool▁call▁end｜>`;
const solar = ([name, args]: Call) =>
  `<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>${name}<|tool_call:args|>${JSON.stringify(args)}<|tool_call:end|>`;
const action = ([name, args]: Call) =>
  `{\n        "tool_name": "${name}",\n        "parameters": ${JSON.stringify(args, undefined, 4)}\n    }`;
const fence = "`".repeat(3);
const deepSeekNamed = ([name, args]: Call) =>
  `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${JSON.stringify(args)}<｜tool▁call▁end｜>`;

describe("calls", () => {
  it.each<[string, ToolForm, string, string, Call[]]>([
    ["Hermes", forms.hermes, `<tool_call>\n${json(weather)}\n</tool_call>`, "", [weather]],
    [
      "Hermes, two behind a text, and one before another",
      forms.hermes,
      `I look.<tool_call>${json(weather)}</tool_call>\n<tool_call>\n${json(add)}\n</tool_call>\nDone < 5.`,
      "I look.Done < 5.",
      [weather, add],
    ],
    ["Hermes, never ended", forms.hermes, `<tool_call>\n${json(weather)}`, "", [weather]],
    [
      "Hermes, with the arguments as a text",
      forms.hermes,
      `<tool_call>{"name": "add", "arguments": "{\\"a\\": 1}"}</tool_call>`,
      "",
      [["add", { a: 1 }]],
    ],
    [
      "Mistral",
      forms.mistral,
      `Ok.[TOOL_CALLS][${json(weather)}, ${json(add)}]`,
      "Ok.",
      [weather, add],
    ],
    [
      "Mistral's newer ones",
      forms.mistralNamed,
      `[TOOL_CALLS]weather[ARGS]${JSON.stringify(weather[1])}[TOOL_CALLS]add[CALL_ID]x1[ARGS]{}`,
      "",
      [weather, add],
    ],
    ["Mistral's, without a mark between", forms.mistralNamed, "[TOOL_CALLS]add{}", "", [add]],
    ["Llama", forms.llama, ` ${json(weather, "parameters")}`, "", [weather]],
    [
      "Llama, behind its tag, several",
      forms.llama,
      `<|python_tag|>${json(weather, "parameters")}; ${json(add, "parameters")}`,
      "",
      [weather, add],
    ],
    [
      "Llama, with a type",
      forms.llama,
      '{"type": "function", "function": "x", "name": "add", "parameters": {}}',
      "",
      [add],
    ],
    ["Phi", forms.phi, `<|tool_call|>[${json(weather)}]<|/tool_call|>`, "", [weather]],
    ["Granite", forms.phi, `<|tool_call|> [${json(add)},${json(weather)}]`, "", [add, weather]],
    [
      "Kimi",
      forms.kimi,
      `I look.<|tool_calls_section_begin|>${kimi(weather)}\n${kimi(add, 1)}<|tool_calls_section_end|>`,
      "I look.",
      [weather, add],
    ],
    ["Kimi, without a section", forms.kimi, `So: ${kimi(add, 12)}.`, "So: .", [add]],
    [
      "DeepSeek",
      forms.deepSeek,
      `I look.<｜tool▁calls▁begin｜>${deepSeek(weather)}\n${deepSeek(add)}<｜tool▁calls▁end｜>`,
      "I look.",
      [weather, add],
    ],
    [
      "DeepSeek, without a beginning, and a line more at the end",
      forms.deepSeek,
      `So: ${deepSeek(weather).replace("```<", "```\n<")}<｜tool▁calls▁end｜>`,
      "So: ",
      [weather],
    ],
    [
      "DeepSeek, without the kind of a call, nor that of its arguments",
      forms.deepSeek,
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add\n{}<｜tool▁call▁end｜>",
      "",
      [add],
    ],
    [
      "DeepSeek's newer ones",
      forms.deepSeekNamed,
      `I look.<｜tool▁calls▁begin｜>${deepSeekNamed(weather)}${deepSeekNamed(add)}<｜tool▁calls▁end｜>`,
      "I look.",
      [weather, add],
    ],
    [
      "Gemma",
      forms.gemma,
      `I look.<|tool_call>call:weather{city:<|"|>${(weather[1] as { city: string }).city}<|"|>,days:[1,{a:2}]}<tool_call|><|tool_call>call:add{}<tool_call|>`,
      "I look.",
      [weather, add],
    ],
    [
      "Gemma, all kinds of values",
      forms.gemma,
      `<|tool_call>call:add{a:-1.5,b:true,"c":"d\\n",e:,f:[<|"|>}<|"|>,null],<|"|>g h<|"|>:{}}<tool_call|>`,
      "",
      [["add", { a: -1.5, b: true, c: "d\n", e: null, f: ["}", null], "g h": {} }]],
    ],
    [
      "Gemma, in JSON",
      forms.gemma,
      '<|tool_call>call:add{"a": [1]}<tool_call|>',
      "",
      [["add", { a: [1] }]],
    ],
    [
      "FunctionGemma",
      forms.functionGemma,
      "<start_function_call>call:add{a:<escape>b, {c:<escape>}<end_function_call>",
      "",
      [["add", { a: "b, {c:" }]],
    ],
    [
      "Command",
      forms.command,
      `I look.<|START_ACTION|>[\n    ${command(weather)},\n    ${command(add, 1)}\n]<|END_ACTION|>`,
      "I look.",
      [weather, add],
    ],
    [
      "Command, as others write",
      forms.command,
      `<|START_ACTION|>${json(add)}<|END_ACTION|>`,
      "",
      [add],
    ],
    [
      "Nemotron Nano",
      forms.nemotron,
      `Ok.\n<TOOLCALL>[${json(weather)}, ${json(add)}]</TOOLCALL>\n`,
      "Ok.\n",
      [weather, add],
    ],
    [
      "Apertus",
      forms.apertus,
      `Ok.<|tools_prefix|>[{"weather": ${JSON.stringify(weather[1])}}, {"add": {}}]<|tools_suffix|>`,
      "Ok.",
      [weather, add],
    ],
    [
      "Apertus, as others write",
      forms.apertus,
      `<|tools_prefix|>[${json(add)}]<|tools_suffix|>`,
      "",
      [add],
    ],
    [
      "Functionary, and Llama with tools of users",
      forms.functionary,
      `Ok.<function=weather>${JSON.stringify(weather[1])}</function>\n<function=add>{}</function>`,
      "Ok.",
      [weather, add],
    ],
    [
      "GigaChat",
      forms.gigaChat,
      `Ok.\n\nfunction call<|role_sep|>\n${json(add)}`,
      "Ok.\n\n",
      [add],
    ],
    ["GigaChat 3.1", forms.laterGigaChat, `Ok.<|function_call|>${json(weather)}`, "Ok.", [weather]],
    [
      "Intern-S1",
      forms.intern,
      `Ok.<|action_start|><|plugin|>\n${json(weather, "parameters")}<|action_end|>\n<|action_start|> <|plugin|>\n${json(add)}<|action_end|>`,
      "Ok.",
      [weather, add],
    ],
    [
      "Solar Open",
      forms.solar,
      `Ok.<|tool_calls|>${solar(weather)}${solar(add)}<|calls|>`,
      "Ok.",
      [weather, add],
    ],
    ["Solar Open, without a beginning", forms.solar, `So: ${solar(weather)}.`, "So: .", [weather]],
    [
      "FireFunction",
      forms.fire,
      `Ok. functools[${json(weather)}, ${json(add)}]`,
      "Ok. ",
      [weather, add],
    ],
    [
      "Command R+",
      forms.actions,
      `Ok.\nAction:\n${fence}json\n[\n    ${action(weather)},\n    ${action(add)}\n]${fence}\n`,
      "Ok.\n",
      [weather, add],
    ],
    ["Command R", forms.actions, `Action: ${fence}json\n[${action(add)}]\n${fence}`, "", [add]],
    [
      "MiniMax-M1, each in a line",
      forms.miniMaxOne,
      `Ok.\n<tool_calls>\n${json(weather)}\n${json(add)}\n</tool_calls>\nWait.`,
      "Ok.\nWait.",
      [weather, add],
    ],
    [
      "Functionary v3.2",
      forms.receivers,
      `Ok.>>>weather\n${JSON.stringify(weather[1])}>>>add\n{}`,
      "Ok.",
      [weather, add],
    ],
    [
      "Gemma 3",
      forms.gemmaPlain,
      `[weather(city=${JSON.stringify((weather[1] as { city: string }).city)}, days=[1, {"a": 2}]), add()]`,
      "",
      [weather, add],
    ],
    [
      "Gemma 3, in a code block",
      forms.gemmaPlain,
      `I look.\n${fence}tool_code\n[add()]\n${fence}\n`,
      "I look.\n",
      [add],
    ],
    ["Gemma 3, without a list", forms.gemmaPlain, `${fence}tool_code\nadd()\n${fence}`, "", [add]],
    [
      "Gemma 3, in JSON",
      forms.gemmaPlain,
      `${fence}json\n[${json(weather)}]\n${fence}`,
      "",
      [weather],
    ],
    ["Jamba", forms.jamba, `<tool_calls>\n[${json(add)}]\n</tool_calls>`, "", [add]],
  ])("are read wherever they are cut: %s", (_, form, answer, text, calls) => {
    for (const pieces of cuts(answer)) {
      const told = read(form, pieces);
      expect({ text: told.text, calls: told.calls }).toEqual({ text, calls });
    }
  });

  it.each<[string, ToolForm, string]>([
    ["broken JSON", forms.hermes, 'a<tool_call>{"name": "add", }</tool_call>b'],
    ["no JSON", forms.hermes, "a <tool_call> is a mark; <tool_call>"],
    ["another function", forms.hermes, '<tool_call>{"name": "rm", "arguments": {}}</tool_call>'],
    ["no arguments", forms.hermes, '<tool_call>{"name": "add", "arguments": 5}</tool_call>'],
    ["cut short", forms.hermes, '<tool_call>{"name": "add", "argu'],
    ["half a mark", forms.hermes, "a <tool_"],
    ["one of two", forms.mistral, `[TOOL_CALLS][${json(add)}, {"name": "rm"}]`],
    ["a name alone", forms.mistralNamed, "[TOOL_CALLS]add"],
    ["another's name", forms.mistralNamed, "[TOOL_CALLS]rm[ARGS]{}"],
    ["some object", forms.llama, '{"answer": [1, {"b": "}"}]} and a text'],
    ["later in a text", forms.llama, `I would say ${json(add, "parameters")}`],
    ["Python", forms.llama, "<|python_tag|>print({'a': 1})"],
    ["another's name behind marks", forms.kimi, `a${kimi(["rm", {}])} b`],
    ["a mark alone", forms.kimi, "<|tool_calls_section_begin|> is a mark, <|tool_call_begin|> too"],
    [
      "no arguments behind a name",
      forms.kimi,
      "<|tool_call_begin|>functions.add:0<|tool_call_end|>",
    ],
    ["another's name, as DeepSeek writes", forms.deepSeek, `a${deepSeek(["rm", {}])} b`],
    ["no name, as DeepSeek writes", forms.deepSeekNamed, "<｜tool▁call▁begin｜><｜tool▁sep｜>{} b"],
    [
      "another's name, as Command writes",
      forms.command,
      `<|START_ACTION|>[${command(["rm", {}])}]<|END_ACTION|>`,
    ],
    ["no name, as Command writes", forms.command, '<|START_ACTION|>[{"tool_call_id": "0"}]'],
    ["another's name, as Gemma writes", forms.gemma, "<|tool_call>call:rm{}<tool_call|>"],
    ["no arguments, as Gemma writes", forms.gemma, "<|tool_call>call:add{a b}<tool_call|>"],
    ["cut short, as Gemma writes", forms.gemma, '<|tool_call>call:add{a:<|"|>b}'],
    ["without a mark, as Gemma writes", forms.gemma, "I call:add{} so"],
    ["another's name, as Apertus writes", forms.apertus, '<|tools_prefix|>[{"rm": {}}]'],
    ["two members, as Apertus writes", forms.apertus, '<|tools_prefix|>[{"add": {}, "b": {}}]'],
    ["another's name, as Functionary writes", forms.functionary, "<function=rm>{}</function>"],
    ["no JSON, as Functionary writes", forms.functionary, "a <function=add>1</function>"],
    ["another's name, as Solar writes", forms.solar, `a${solar(["rm", {}])} b`],
    ["Python's prompt, as Functionary writes", forms.receivers, "So: >>> print({})\n>>> x"],
    ["another's name, as Functionary v3.2 writes", forms.receivers, "So: >>>rm\n{}"],
    ["a code block", forms.gemmaPlain, `So:\n${fence}python\nprint(1)\n${fence}\n`],
    ["a block of JSON", forms.actions, `So:\n${fence}json\n{"a": [1]}\n${fence}\n`],
    [
      "what answers itself, as Command R+ does",
      forms.actions,
      `Action: ${fence}json\n[${action(["directly_answer", {}])}]${fence}`,
    ],
    ["nothing", forms.llama, "  "],
  ])("that are none come out as the text that they are: %s", (_, form, answer) => {
    for (const pieces of cuts(answer)) {
      expect(read(form, pieces)).toMatchObject({ text: answer, calls: [] });
    }
  });

  it("are found behind what was none", () => {
    const answer = `<tool_call>no <tool_call>${json(add)}</tool_call>`;
    for (const pieces of cuts(answer)) {
      expect(read(forms.hermes, pieces)).toMatchObject({ text: "<tool_call>no ", calls: [add] });
    }
  });

  it("hold back no text that is none of theirs, and nothing of them comes out", () => {
    const answer = `Wait: 1 < 2.<tool_call>${json(add)}</tool_call>`;
    const { steps } = read(forms.hermes, [...answer]);
    expect(steps.slice(0, "Wait: 1 < 2.".length).join("")).toBe("Wait: 1 < 2.");
    expect(steps.slice("Wait: 1 < 2.".length).join("")).toBe("");
  });
});

describe("a template", () => {
  it("that does not tell of tools, or in a form that is not known, has none", () => {
    expect(toolFormOf("{{ messages }}<tool_call>")).toBeUndefined();
    expect(toolFormOf("{% if tools %}{{ tools }}{% endif %}")).toBeUndefined();
  });
});

const long =
  '{"ids":[9007199254740993,-12345678901234567890],"most":1e400,"t":"12345678901234567890"}';
it.each<[string, ToolForm, string]>([
  ["JSON", forms.hermes, `<tool_call>{"name": "add", "arguments": ${long}}</tool_call>`],
  [
    "JSON in a text",
    forms.hermes,
    `<tool_call>{"name": "add", "arguments": ${JSON.stringify(long)}}</tool_call>`,
  ],
  ["a list of calls", forms.mistral, `[TOOL_CALLS] [{"name": "add", "arguments": ${long}}]`],
  ["a name in front", forms.mistralNamed, `[TOOL_CALLS]add[ARGS]${long}`],
])("numbers that JavaScript has none for are as the model wrote them in %s", (_, form, text) => {
  const reader = new CallReader(form, new Map([["add", {}]]));
  const read = [...reader.push(text), ...reader.flush()];
  expect(callsOf(read)).toEqual([{ name: "add", args: long }]);
});
