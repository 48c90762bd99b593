/** In what form models write calls of tools. */

/** A form, as the model's chat template tells of it. */
export interface ToolForm {
  /** What calls begin with; empty: they are all of an answer, which then begins with `{`. */
  readonly begin: string;
  /** What stands behind them, as a rule. */
  readonly end: string;
  /** How several stand: each with its own beginning and end, or between one of these, in a list or not. */
  readonly several: "apart" | "list" | "together";
  /** How each is written. */
  readonly call: JsonCall | NamedCall | TaggedCall | ChannelCall;
}

/** A JSON object with the name and the arguments. */
export interface JsonCall {
  readonly as: "json";
  /** Member that holds the arguments. */
  readonly args: "arguments" | "parameters";
}

/** The name, and behind it the arguments as a JSON object. */
export interface NamedCall {
  readonly as: "named";
  /** In front of the name; empty: nothing. */
  readonly open: string;
  readonly between: string;
  /** Behind the arguments; empty: nothing. */
  readonly close: string;
  /** Whether the number of the call stands behind the name, and a call's id is made of these. */
  readonly isNumbered: boolean;
  /** All in front of the arguments, the name in its group. */
  readonly head: RegExp;
  /** What may become that. */
  readonly begun: RegExp;
}

/** The name, and behind it each argument between marks: texts as they are, all else as JSON. */
export interface TaggedCall {
  readonly as: "tagged";
  /** In front of the name, and behind it. */
  readonly name: readonly [open: string, close: string];
  /** In front of an argument's name, and behind it. */
  readonly key: readonly [open: string, close: string];
  /** Behind an argument. */
  readonly next: string;
  /** Behind the last one. */
  readonly close: string;
}

/** A message to the tool, on a channel of its own, as gpt-oss writes it. */
export interface ChannelCall {
  readonly as: "channel";
}

/** Qwen3-Coder's, Qwen3.5's, Nemotron 3's. */
const qwenTags: TaggedCall = {
  as: "tagged",
  name: ["\n<function=", ">\n"],
  key: ["<parameter=", ">\n"],
  next: "\n</parameter>\n",
  close: "</function>\n",
};

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
  head: /^\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\]\s*)?(?=\{)/,
  begun: /^\s*(?:[\w.-]+\s*(?:\[[\w\s[\]]*)?)?$/,
};

/** Kimi K2's. */
const kimiName: NamedCall = {
  as: "named",
  open: "<|tool_call_begin|>functions.",
  between: "<|tool_call_argument_begin|>",
  close: "<|tool_call_end|>",
  isNumbered: true,
  head: /^\s*<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*(?=\{)/,
  begun: /^\s*(?:<[|\w]*(?:>\s*[\w.-]*(?::\d*)?\s*(?:<[|\w]*(?:>\s*)?)?)?)?$/,
};

const inJson: JsonCall = { as: "json", args: "arguments" };

/** Forms by what their templates write, the first that is found. */
const forms: readonly (readonly [isIt: (template: string) => boolean, form: ToolForm])[] = [
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
  // Llama 3's.
  [
    (template) => /"parameters": ?(?:dictionary|')/.test(template),
    { begin: "", end: "", several: "apart", call: { as: "json", args: "parameters" } },
  ],
];

/** What stands in front of Llama's calls, sometimes. */
export const pythonTag = "<|python_tag|>";

/** The form of a template that tells the model of tools; `undefined` where there is none that is known. */
export function toolFormOf(template: string): ToolForm | undefined {
  if (!/\btools\b/.test(template)) return undefined;
  return forms.find(([isIt]) => isIt(template))?.[1];
}

/** Texts that calls begin with, besides the name of a tool. */
export function beginningsOf({ begin, call }: ToolForm): string[] {
  const open =
    call.as === "tagged"
      ? call.name[0]
      : call.as === "named"
        ? (call.open.match(/^<.*>/)?.[0] ?? "")
        : "";
  return [begin || pythonTag, open.trim()].filter((text) => text !== "");
}

/** Texts that may stand behind a call. */
export function endingsOf({ begin, end, call }: ToolForm): string[] {
  const close = call.as === "named" ? call.close : "";
  return [begin === "" ? ";" : end, close].filter((text) => text !== "");
}

/** Texts of a form that may be control tokens. */
export function textsOf(form: ToolForm): string[] {
  const { end, call } = form;
  if (call.as === "channel") return [];
  const within =
    call.as === "tagged"
      ? [...call.name, ...call.key, call.next, call.close].flatMap(marksIn)
      : call.as === "named"
        ? [call.open, call.between, call.close, "[CALL_ID]"]
        : [];
  return [...new Set([...beginningsOf(form), end, ...within])].filter((text) => text !== "");
}

/** The marks of a text that has blanks, or nothing, between them. */
export const marksIn = (text: string): string[] => text.split(/\s+/).filter((mark) => mark !== "");
