/** In what form models write calls of tools. */

/** A form, as the model's chat template tells of it. */
export interface ToolForm {
  /** What calls begin with; empty: they are all of an answer, which then begins with `{`. */
  readonly begin: string;
  /** What stands behind them, as a rule. */
  readonly end: string;
  /** Whether calls stand in a list. */
  readonly inList: boolean;
  /** Whether the name stands in front of the arguments, and not in JSON with them; and what between. */
  readonly between?: string;
  /** Member of a call that holds its arguments. */
  readonly args: "arguments" | "parameters";
}

/** Forms by what their templates write, the first that is found. */
const forms: readonly (readonly [isIt: (template: string) => boolean, form: ToolForm])[] = [
  // Qwen's, Hermes', Granite 4's, SmolLM3's.
  [
    (template) => template.includes("<tool_call>") && !/<function=|<arg_key>/.test(template),
    { begin: "<tool_call>", end: "</tool_call>", inList: false, args: "arguments" },
  ],
  // Mistral's newer ones.
  [
    (template) => template.includes("[TOOL_CALLS]") && template.includes("[ARGS]"),
    { begin: "[TOOL_CALLS]", end: "", inList: false, between: "[ARGS]", args: "arguments" },
  ],
  [
    (template) => template.includes("[TOOL_CALLS]"),
    { begin: "[TOOL_CALLS]", end: "", inList: true, args: "arguments" },
  ],
  // Granite 3's, Phi-4-mini's.
  [
    (template) => template.includes("<|tool_call|>"),
    { begin: "<|tool_call|>", end: "<|/tool_call|>", inList: true, args: "arguments" },
  ],
  // Jamba's, Apriel's.
  [
    (template) => template.includes("<tool_calls>"),
    { begin: "<tool_calls>", end: "</tool_calls>", inList: true, args: "arguments" },
  ],
  // Llama 3's.
  [
    (template) => /"parameters": ?(?:dictionary|')/.test(template),
    { begin: "", end: "", inList: false, args: "parameters" },
  ],
];

/** What stands in front of Llama's calls, sometimes. */
export const pythonTag = "<|python_tag|>";

/** The form of a template that tells the model of tools; `undefined` where there is none that is known. */
export function toolFormOf(template: string): ToolForm | undefined {
  if (!/\btools\b/.test(template)) return undefined;
  return forms.find(([isIt]) => isIt(template))?.[1];
}

/** Texts of a form that may be control tokens. */
export const textsOf = ({ begin, end, between = "" }: ToolForm): string[] =>
  [
    begin,
    end,
    between,
    ...(begin === "" ? [pythonTag] : []),
    ...(between ? ["[CALL_ID]"] : []),
  ].filter((text) => text !== "");
