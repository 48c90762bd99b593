/** Forms of families whose calls have arguments between tags, and of those whose marks others' templates have as well. */
import type { ToolForm } from "./form.js";
import {
  deepSeekCode,
  deepSeekName,
  glmTags,
  hyTags,
  inJson,
  invokeTags,
  miniCpmTags,
  miniMaxTags,
  qwenTags,
  seedTags,
  tightGlmTags,
  typedTags,
} from "./shapes.js";

/** A form, and how the templates of its family are known. */
export type Family = readonly [isIt: (template: string) => boolean, form: ToolForm];

/** DeepSeek V3.2's and V4's, GigaChat 3.5's. */
const typedSection = (space: string, name: string): ToolForm => ({
  begin: `<${space}${name}>\n`,
  end: `</${space}${name}>`,
  several: "together",
  call: typedTags(space),
});

/** What stands around DeepSeek's calls. Its own templates write them, and tell of no tools. */
const deepSeek = {
  begin: "<｜tool▁calls▁begin｜>",
  end: "<｜tool▁calls▁end｜>",
  several: "together",
  untold: "text",
} as const;

/** These are looked for first. */
export const taggedFamilies: readonly Family[] = [
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
];
