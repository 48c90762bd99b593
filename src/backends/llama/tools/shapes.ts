/** How families of models write a call. */
import type { JsonCall, KeyedCall, NamedCall, PythonCall, TaggedCall } from "./form.js";

/** Qwen3-Coder's, Qwen3.5's, Nemotron 3's. */
export const qwenTags: TaggedCall = {
  as: "tagged",
  name: ["\n<function=", ">\n"],
  key: ["<parameter=", ">\n"],
  next: "\n</parameter>\n",
  close: "</function>\n",
};

/** Seed-OSS'. */
export const seedTags: TaggedCall = {
  ...qwenTags,
  key: ["<parameter=", ">"],
  next: "</parameter>\n",
};

/** MiniMax-M2's. */
export const invokeTags: TaggedCall = {
  as: "tagged",
  name: ['<invoke name="', '">\n'],
  key: ['<parameter name="', '">'],
  next: "</parameter>\n",
  close: "</invoke>\n",
};

/** DeepSeek V3.2's and V4's, GigaChat 3.5's. @param space what stands in front of the names of tags */
export const typedTags = (space: string): TaggedCall => ({
  as: "tagged",
  name: [`<${space}invoke name="`, '">\n'],
  key: [`<${space}parameter name="`, '" string="true">'],
  json: '" string="false">',
  next: `</${space}parameter>\n`,
  close: `</${space}invoke>\n`,
});

/** GLM 4.5's and 4.6's. */
export const glmTags: TaggedCall = {
  as: "tagged",
  name: ["", "\n"],
  key: ["<arg_key>", "</arg_key>\n<arg_value>"],
  next: "</arg_value>\n",
  close: "</tool_call>",
};

/** GLM 4.7's, Ling 3's. */
export const tightGlmTags: TaggedCall = {
  ...glmTags,
  name: ["", ""],
  key: ["<arg_key>", "</arg_key><arg_value>"],
  next: "</arg_value>",
};

/** Tencent's Hy3's. */
export const hyTags: TaggedCall = {
  as: "tagged",
  name: ["<tool_call:opensource>", "<tool_sep:opensource>\n"],
  key: ["<arg_key:opensource>", "</arg_key:opensource>\n<arg_value:opensource>"],
  next: "</arg_value:opensource>\n",
  close: "</tool_call:opensource>\n",
};

/** MiniCPM 5's, behind the mark that the name is part of. */
export const miniCpmTags: TaggedCall = {
  as: "tagged",
  name: ["", '">'],
  key: ['<param name="', '">'],
  next: "</param>",
  close: "</function>",
  around: ["<![CDATA[", "]]>"],
};

/** Kimi K3's, whose tags have the number of a call, and the type of an argument. */
export const kimiTags: TaggedCall = {
  as: "tagged",
  name: ['<|open|>call tool="', '" index="1"<|sep|>'],
  key: ['<|open|>argument key="', '" type="string"<|sep|>'],
  json: '" type="object"<|sep|>',
  next: "<|close|>argument<|sep|>",
  close: "<|close|>call<|sep|>",
  tagEnd: "<|sep|>",
};

/** What stands in front of MiniMax-M3's tags. */
const miniMax = "]<]minimax[>[";

/** MiniMax-M3's. */
export const miniMaxTags: TaggedCall = {
  as: "tagged",
  name: [`${miniMax}<invoke name="`, '">'],
  key: [`${miniMax}<`, ">"],
  next: `${miniMax}</`,
  close: `${miniMax}</invoke>\n`,
  tags: miniMax,
};

/** Muse Glimmer's. */
export const atemTags: TaggedCall = {
  as: "tagged",
  name: ['<atem:invoke name="', '">\n'],
  key: ['<atem:parameter name="', '">'],
  next: "</atem:parameter>\n",
  close: "</atem:invoke>\n",
};

/** Mistral's; some have an id between that nobody needs. */
export const mistralName: NamedCall = {
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
export const kimiName: NamedCall = {
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

/** Solar Open's; the word behind the first mark is an id that nobody needs. */
export const solarName: NamedCall = {
  as: "named",
  open: "<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>",
  between: "<|tool_call:args|>",
  close: "<|tool_call:end|>",
  isNumbered: false,
  head: [
    [{ text: "<|tool_call:begin|>", hasWord: true }, { text: "<|tool_call:name|>" }],
    [{ text: "<|tool_call:args|>" }],
  ],
};

/** Functionary v3.2's and GLM-4-0414's, behind the mark that parts begin with. */
export const receiverName: NamedCall = {
  as: "named",
  open: "",
  between: "\n",
  close: "",
  isNumbered: false,
  head: [[], []],
};

/** Gemma 4's and FunctionGemma's. @param quote what stands around texts */
export const gemmaName = (quote: string): NamedCall => ({
  as: "named",
  open: "call:",
  between: "",
  close: "",
  quote,
  isNumbered: false,
  head: [[{ text: "call:" }], []],
});

/** Functionary's, behind the mark that the name is part of. */
export const tagName: NamedCall = {
  as: "named",
  open: "",
  between: ">",
  close: "</function>",
  isNumbered: false,
  head: [[], [{ text: ">" }]],
};

/** DeepSeek V3's and R1's. */
export const deepSeekCode: NamedCall = {
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
export const deepSeekName: NamedCall = {
  as: "named",
  open: "<｜tool▁call▁begin｜>",
  between: "<｜tool▁sep｜>",
  close: "<｜tool▁call▁end｜>",
  isNumbered: false,
  head: [[{ text: "<｜tool▁call▁begin｜>" }], [{ text: "<｜tool▁sep｜>" }]],
};

/** Most others', in JSON. */
export const inJson: JsonCall = { as: "json", name: "name", args: "arguments" };

/** Command R7B's, Command A's. */
export const commandJson: JsonCall = {
  as: "json",
  name: "tool_name",
  args: "parameters",
  number: "tool_call_id",
};

/** Command R's and R+'s. */
export const actionJson: JsonCall = { as: "json", name: "tool_name", args: "parameters" };

/** Apertus'. */
export const keyed: KeyedCall = { as: "keyed" };

/** Olmo 3's. */
export const pythonLine: PythonCall = { as: "python", isLine: true };

/** Llama 4's, LFM2's. */
export const python: PythonCall = { as: "python" };
