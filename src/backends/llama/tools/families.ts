/** The forms in which families of models write calls, and the templates that tell of them. */
import type { ToolForm } from "./form.js";
import {
  actionJson,
  atemTags,
  commandJson,
  gemmaName,
  inJson,
  keyed,
  kimiName,
  kimiTags,
  mistralName,
  python,
  pythonLine,
  receiverName,
  solarName,
  tagName,
} from "./shapes.js";
import { type Family, taggedFamilies } from "./tagged-families.js";

/** Muse Glimmer's, in a message to the tool. */
const atem: ToolForm = {
  begin: "<atem:function_calls>\n",
  end: "</atem:function_calls>",
  several: "together",
  call: atemTags,
};

/** Forms by what their templates write, the first that is found. */
const forms: readonly Family[] = [
  ...taggedFamilies,
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
  [
    (template) => template.includes("<|tool_call:begin|>"),
    { begin: "<|tool_calls|>", end: "<|calls|>", several: "together", call: solarName },
  ],
  // Kimi K3's, whose template puts its marks together.
  [
    (template) => template.includes("<|open|>") && template.includes("<|close|>"),
    {
      begin: "<|open|>tools<|sep|>",
      end: "<|close|>tools<|sep|>",
      several: "together",
      call: kimiTags,
    },
  ],
  // Functionary's v3.2.
  [
    (template) => template.includes(">>>all") && template.includes("{recipient}"),
    { begin: ">>>", end: "", several: "apart", said: "all\n", call: receiverName },
  ],
  // GLM-4-0414's: an empty first line says that a text follows.
  [
    (template) => template.includes("# 可用工具") && template.includes("<|observation|>"),
    { begin: "<|assistant|>", end: "", several: "apart", said: "\n", call: receiverName },
  ],
  // Intern-S1's, InternLM's.
  [
    (template) => template.includes("<|action_start|>") && template.includes("<|plugin|>"),
    {
      begin: "<|action_start|><|plugin|>\n",
      others: ["<|action_start|> <|plugin|>"],
      end: "<|action_end|>",
      several: "apart",
      call: { ...inJson, args: "parameters" },
    },
  ],
  // FireFunction's v2.
  [
    (template) => template.includes("functools["),
    { begin: "functools", end: "", several: "list", call: inJson, isFunctions: true },
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
  // Command R's and R+'s.
  [
    (template) => template.includes("Action:") && template.includes("tool_name"),
    {
      begin: "Action:\n```json\n",
      others: ["Action: ```json", "```json"],
      end: "```",
      several: "list",
      call: actionJson,
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
  // Gemma 3's, which tells of no tools: Google has its models told of calls so. They put them into code blocks.
  [
    (template) => template.includes("<start_of_turn>") && template.includes("first_user_prefix"),
    {
      begin: "",
      others: ["```tool_code", "```python", "```json"],
      end: "",
      several: "list",
      call: python,
      untold: "text",
    },
  ],
  // SmolLM3's, as some write its template without tools.
  [
    (template) => template.includes("named SmolLM"),
    {
      begin: "<tool_call>",
      end: "</tool_call>",
      several: "apart",
      call: inJson,
      untold: "text",
    },
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
  return form?.untold || form?.isFunctions || /\b(?:xml_)?tools\b/.test(template)
    ? form
    : undefined;
}
