/** The forms in which families of models write calls, and the templates that tell of them. */
import type { JsonCall, NamedCall, PythonCall, TaggedCall, ToolForm } from "./form.js";

/** Qwen3-Coder's, Qwen3.5's, Nemotron 3's. */
const qwenTags: TaggedCall = {
  as: "tagged",
  name: ["\n<function=", ">\n"],
  key: ["<parameter=", ">\n"],
  next: "\n</parameter>\n",
  close: "</function>\n",
};

/** Seed-OSS'. */
const seedTags: TaggedCall = {
  ...qwenTags,
  key: ["<parameter=", ">"],
  next: "</parameter>\n",
};

/** MiniMax-M2's. */
const invokeTags: TaggedCall = {
  as: "tagged",
  name: ['<invoke name="', '">\n'],
  key: ['<parameter name="', '">'],
  next: "</parameter>\n",
  close: "</invoke>\n",
};

/** DeepSeek V3.2's and V4's. */
const deepSeekTags: TaggedCall = {
  as: "tagged",
  name: ['<｜DSML｜invoke name="', '">\n'],
  key: ['<｜DSML｜parameter name="', '" string="true">'],
  json: '" string="false">',
  next: "</｜DSML｜parameter>\n",
  close: "</｜DSML｜invoke>\n",
};

/** What stands around them. */
const deepSeekSection = (name: string): ToolForm => ({
  begin: `<｜DSML｜${name}>\n`,
  end: `</｜DSML｜${name}>`,
  several: "together",
  call: deepSeekTags,
});

/** GLM 4.5's and 4.6's. */
const glmTags: TaggedCall = {
  as: "tagged",
  name: ["", "\n"],
  key: ["<arg_key>", "</arg_key>\n<arg_value>"],
  next: "</arg_value>\n",
  close: "</tool_call>",
};

/** GLM 4.7's, Ling 3's. */
const tightGlmTags: TaggedCall = {
  ...glmTags,
  name: ["", ""],
  key: ["<arg_key>", "</arg_key><arg_value>"],
  next: "</arg_value>",
};

/** Mistral's; some have an id between that nobody needs. */
const mistralName: NamedCall = {
  as: "named",
  open: "",
  between: "[ARGS]",
  close: "",
  isNumbered: false,
  head: [
    [],
    [
      { text: "[CALL_ID]", isOptional: true, hasWord: true },
      { text: "[ARGS]", isOptional: true },
    ],
  ],
};

/** Kimi K2's. */
const kimiName: NamedCall = {
  as: "named",
  open: "<|tool_call_begin|>functions.",
  between: "<|tool_call_argument_begin|>",
  close: "<|tool_call_end|>",
  isNumbered: true,
  head: [
    [{ text: "<|tool_call_begin|>" }, { text: "functions.", isOptional: true }],
    [{ text: ":", isOptional: true, hasWord: true }, { text: "<|tool_call_argument_begin|>" }],
  ],
};

/** Gemma 4's and FunctionGemma's. */
const gemma = (begin: string, end: string, quote: string): ToolForm => ({
  begin,
  end,
  several: "apart",
  call: {
    as: "named",
    open: "call:",
    between: "",
    close: "",
    quote,
    isNumbered: false,
    head: [[{ text: "call:" }], []],
  },
});

/** DeepSeek V3's and R1's. */
const deepSeekCode: NamedCall = {
  as: "named",
  open: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
  between: "\n```json\n",
  close: "\n```<｜tool▁call▁end｜>",
  isNumbered: false,
  head: [
    [{ text: "<｜tool▁call▁begin｜>" }, { text: "function<｜tool▁sep｜>", isOptional: true }],
    [{ text: "```json", isOptional: true }],
  ],
};

/** DeepSeek V3.1's. */
const deepSeekName: NamedCall = {
  as: "named",
  open: "<｜tool▁call▁begin｜>",
  between: "<｜tool▁sep｜>",
  close: "<｜tool▁call▁end｜>",
  isNumbered: false,
  head: [[{ text: "<｜tool▁call▁begin｜>" }], [{ text: "<｜tool▁sep｜>" }]],
};

/** What stands around DeepSeek's calls. Its own templates write them, and tell of no tools. */
const deepSeek = {
  begin: "<｜tool▁calls▁begin｜>",
  end: "<｜tool▁calls▁end｜>",
  several: "together",
  isUntold: true,
} as const;

const inJson: JsonCall = { as: "json", name: "name", args: "arguments" };

/** Command R7B's, Command A's. */
const commandJson: JsonCall = {
  as: "json",
  name: "tool_name",
  args: "parameters",
  number: "tool_call_id",
};

const python: PythonCall = { as: "python" };

/** Forms by what their templates write, the first that is found. */
const forms: readonly (readonly [isIt: (template: string) => boolean, form: ToolForm])[] = [
  [
    (template) => template.includes(deepSeek.begin) && template.includes("```json"),
    { ...deepSeek, call: deepSeekCode },
  ],
  [(template) => template.includes(deepSeek.begin), { ...deepSeek, call: deepSeekName }],
  // Templates put these marks together.
  [
    (template) => template.includes("DSML") && template.includes("function_calls>"),
    deepSeekSection("function_calls"),
  ],
  [
    (template) => template.includes("DSML") && template.includes("tool_calls>"),
    deepSeekSection("tool_calls"),
  ],
  [
    (template) => template.includes("<seed:tool_call>"),
    { begin: "<seed:tool_call>", end: "</seed:tool_call>", several: "apart", call: seedTags },
  ],
  [
    (template) => template.includes("<minimax:tool_call>"),
    {
      begin: "<minimax:tool_call>\n",
      end: "</minimax:tool_call>",
      several: "together",
      call: invokeTags,
    },
  ],
  [
    (template) => template.includes("<tool_call>") && template.includes("<function="),
    { begin: "<tool_call>", end: "</tool_call>", several: "apart", call: qwenTags },
  ],
  [
    (template) => template.includes("</arg_key><arg_value>"),
    { begin: "<tool_call>", end: "", several: "apart", call: tightGlmTags },
  ],
  [
    (template) => template.includes("<arg_key>"),
    { begin: "<tool_call>", end: "", several: "apart", call: glmTags },
  ],
  // Qwen's, Hermes', Granite 4's, SmolLM3's.
  [
    (template) => template.includes("<tool_call>"),
    { begin: "<tool_call>", end: "</tool_call>", several: "apart", call: inJson },
  ],
  [
    (template) => template.includes("<|tool_calls_section_begin|>"),
    {
      begin: "<|tool_calls_section_begin|>",
      end: "<|tool_calls_section_end|>",
      several: "together",
      call: kimiName,
    },
  ],
  [
    (template) => template.includes("<|channel|>commentary"),
    { begin: "", end: "", several: "apart", call: { as: "channel" } },
  ],
  // Mistral's newer ones.
  [
    (template) => template.includes("[TOOL_CALLS]") && template.includes("[ARGS]"),
    {
      begin: "[TOOL_CALLS]",
      end: "",
      several: "apart",
      call: mistralName,
    },
  ],
  [
    (template) => template.includes("[TOOL_CALLS]"),
    { begin: "[TOOL_CALLS]", end: "", several: "list", call: inJson },
  ],
  // Granite 3's, Phi-4-mini's.
  [
    (template) => template.includes("<|tool_call|>"),
    { begin: "<|tool_call|>", end: "<|/tool_call|>", several: "list", call: inJson },
  ],
  // Jamba's, Apriel's.
  [
    (template) => template.includes("<tool_calls>"),
    { begin: "<tool_calls>", end: "</tool_calls>", several: "list", call: inJson },
  ],
  [
    (template) => template.includes("<|tool_call>call:"),
    gemma("<|tool_call>", "<tool_call|>", '<|"|>'),
  ],
  [
    (template) => template.includes("<start_function_call>"),
    gemma("<start_function_call>", "<end_function_call>", "<escape>"),
  ],
  [
    (template) => template.includes("<|START_ACTION|>"),
    {
      begin: "<|START_ACTION|>",
      end: "<|END_ACTION|>",
      several: "list",
      call: commandJson,
    },
  ],
  // LFM2's.
  [
    (template) => /<\|tool_(?:call|list)_start\|>|List of tools: \[/.test(template),
    { begin: "<|tool_call_start|>", end: "<|tool_call_end|>", several: "list", call: python },
  ],
  // Llama 4's, and others' that are told to write Python.
  [
    (template) => template.includes("[func_name1("),
    { begin: "", end: "", several: "list", call: python },
  ],
  // Llama 3's.
  [
    (template) => /"parameters": ?(?:dictionary|')/.test(template),
    { begin: "", end: "", several: "apart", call: { ...inJson, args: "parameters" } },
  ],
];

/** The form of a template that tells the model of tools, or need not; `undefined`: none that is known. */
export function toolFormOf(template: string): ToolForm | undefined {
  const form = forms.find(([isIt]) => isIt(template))?.[1];
  return form?.isUntold || /\btools\b/.test(template) ? form : undefined;
}
