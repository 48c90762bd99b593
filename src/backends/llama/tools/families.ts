/** The forms in which families of models write calls, and the templates that tell of them. */
import type { ToolForm } from "./form.js";
import {
  atemTags,
  commandJson,
  deepSeekCode,
  deepSeekName,
  gemmaName,
  glmTags,
  hyTags,
  inJson,
  invokeTags,
  keyed,
  kimiName,
  miniCpmTags,
  miniMaxTags,
  mistralName,
  python,
  pythonLine,
  qwenTags,
  seedTags,
  tagName,
  tightGlmTags,
  typedTags,
} from "./shapes.js";

/** DeepSeek V3.2's and V4's, GigaChat 3.5's. */
const typedSection = (space: string, name: string): ToolForm => ({
  begin: `<${space}${name}>\n`,
  end: `</${space}${name}>`,
  several: "together",
  call: typedTags(space),
});

/** Muse Glimmer's, in a message to the tool. */
const atem: ToolForm = {
  begin: "<atem:function_calls>\n",
  end: "</atem:function_calls>",
  several: "together",
  call: atemTags,
};

/** What stands around DeepSeek's calls. Its own templates write them, and tell of no tools. */
const deepSeek = {
  begin: "<｜tool▁calls▁begin｜>",
  end: "<｜tool▁calls▁end｜>",
  several: "together",
  untold: "text",
} as const;

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
    typedSection("｜DSML｜", "function_calls"),
  ],
  [
    (template) => template.includes("DSML") && template.includes("tool_calls>"),
    typedSection("｜DSML｜", "tool_calls"),
  ],
  // GigaChat 3.5's, and before it, which had messages of their own for calls.
  [(template) => template.includes("<｜GCML｜tool_calls>"), typedSection("｜GCML｜", "tool_calls")],
  [
    (template) => template.includes("<|function_call|>"),
    { begin: "<|function_call|>", end: "", several: "apart", call: inJson },
  ],
  [
    (template) => template.includes("<|role_sep|>") && template.includes("function call"),
    {
      begin: "function call<|role_sep|>\n",
      end: "",
      several: "apart",
      call: inJson,
    },
  ],
  // Hy3's, whose template puts its marks together.
  [
    (template) => template.includes("<tool_sep{}>") && template.includes(":opensource"),
    {
      begin: "<tool_calls:opensource>\n",
      end: "</tool_calls:opensource>",
      several: "together",
      call: hyTags,
    },
  ],
  // MiniMax-M3's: others' tags stand in it, too.
  [
    (template) => template.includes("]<]minimax[>["),
    {
      begin: "]<]minimax[>[<tool_call>\n",
      end: "]<]minimax[>[</tool_call>",
      several: "together",
      call: miniMaxTags,
    },
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
  // MiniCPM 5's.
  [
    (template) => template.includes('<function name="') && template.includes('<param name="'),
    { begin: '<function name="', end: "", several: "apart", call: miniCpmTags },
  ],
  // Apriel's, whose template speaks of Qwen's as well.
  [
    (template) => /<tool_calls>\[/.test(template),
    { begin: "<tool_calls>", end: "</tool_calls>", several: "list", call: inJson },
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
  [
    (template) => template.includes("<atem:function_calls>"),
    { begin: "", end: "", several: "apart", call: { as: "channel", message: atem } },
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
  // Phi-4-mini's own, which has tools in its system message.
  [
    (template) => template.includes("<|tool|>") && template.includes("message['tools']"),
    {
      begin: "<|tool_call|>",
      end: "<|/tool_call|>",
      several: "list",
      call: inJson,
      untold: "member",
    },
  ],
  // Nemotron Nano 2's.
  [
    (template) => template.includes("<TOOLCALL>"),
    { begin: "<TOOLCALL>", end: "</TOOLCALL>", several: "list", call: inJson },
  ],
  // Jamba's, MiniMax-M1's.
  [
    (template) => template.includes("<tool_calls>"),
    { begin: "<tool_calls>", end: "</tool_calls>", several: "list", call: inJson },
  ],
  [
    (template) => template.includes("<|tool_call>call:"),
    { begin: "<|tool_call>", end: "<tool_call|>", several: "apart", call: gemmaName('<|"|>') },
  ],
  [
    (template) => template.includes("<start_function_call>"),
    {
      begin: "<start_function_call>",
      end: "<end_function_call>",
      several: "apart",
      call: gemmaName("<escape>"),
    },
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
  // Apertus'.
  [
    (template) => template.includes("<|tools_prefix|>"),
    { begin: "<|tools_prefix|>", end: "<|tools_suffix|>", several: "list", call: keyed },
  ],
  // Olmo 3's.
  [
    (template) => template.includes("<function_calls>"),
    {
      begin: "<function_calls>\n",
      end: "</function_calls>",
      several: "together",
      call: pythonLine,
    },
  ],
  // Functionary's v3.1, and others' that are told to call as Llama 3.1 does tools of users.
  [
    (template) => template.includes("<function=") && template.includes("</function>"),
    { begin: "<function=", end: "", several: "apart", call: tagName },
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
  return form?.untold || /\b(?:xml_)?tools\b/.test(template) ? form : undefined;
}
