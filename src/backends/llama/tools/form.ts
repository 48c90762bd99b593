/** In what form models write calls of tools. */

/** A form, as the model's chat template tells of it. */
export interface ToolForm {
  /** What calls begin with; empty: they are all of an answer, which then begins with a bracket. */
  readonly begin: string;
  /** What stands behind them, as a rule. */
  readonly end: string;
  /** How several stand: each with its own beginning and end, or between one of these, in a list or not. */
  readonly several: "apart" | "list" | "together";
  /** What else models begin calls with, such as the beginning of a code block; absent: nothing. */
  readonly others?: readonly string[];
  /**
   * What stands in front of a text that is no call, where each part of an answer says first whom it is for, and prompts end with
   * `begin`; absent: nothing does.
   */
  readonly said?: string;
  /** How each is written. */
  readonly call: JsonCall | KeyedCall | NamedCall | TaggedCall | PythonCall | ChannelCall;
  /**
   * How models are told of tools whose templates do not tell of those that they are given: in the text of the
   * system message, or as a member of it, `tools`; absent: they have to.
   */
  readonly untold?: "text" | "member";
  /** Whether the template has tools in JSON as `functions`, and not as `tools`. */
  readonly isFunctions?: true;
}

/** A JSON object with the name and the arguments. */
export interface JsonCall {
  readonly as: "json";
  /** Member that holds the name. */
  readonly name: string;
  /** Member that holds the arguments. */
  readonly args: string;
  /** Member in front of them that holds the call's number, as a text; absent: none. */
  readonly number?: string;
}

/** A JSON object whose one member has the name, and holds the arguments. */
export interface KeyedCall {
  readonly as: "keyed";
}

/** The name, and behind it the arguments as a JSON object. */
export interface NamedCall {
  readonly as: "named";
  /** In front of the name; empty: nothing. */
  readonly open: string;
  readonly between: string;
  /** Behind the arguments; empty: nothing. */
  readonly close: string;
  /** What stands around texts within the arguments, whose members' names then stand as they are; absent: they are JSON. */
  readonly quote?: string;
  /** Whether the number of the call stands behind the name, and a call's id is made of these. */
  readonly isNumbered: boolean;
  /** What is read in front of the name, and what between it and the arguments, blanks besides. */
  readonly head: readonly [before: readonly HeadMark[], behind: readonly HeadMark[]];
}

/** A mark around the name of a call. */
export interface HeadMark {
  readonly text: string;
  /** Whether models leave it out. */
  readonly isOptional?: true;
  /** Whether a word follows that nobody needs. */
  readonly hasWord?: true;
}

/** The name, and behind it each argument between marks: texts as they are, all else as JSON. */
export interface TaggedCall {
  readonly as: "tagged";
  /** In front of the name, and behind it. */
  readonly name: readonly [open: string, close: string];
  /** In front of an argument's name, and behind it. */
  readonly key: readonly [open: string, close: string];
  /** Behind its name where it is no text; absent: the same. */
  readonly json?: string;
  /** Behind an argument. */
  readonly next: string;
  /** Behind the last one. */
  readonly close: string;
  /** What may stand around a value; absent: nothing. */
  readonly around?: readonly [open: string, close: string];
  /**
   * What stands in front of every tag, where `next` has the argument's name, and what it holds may stand in tags within;
   * absent: none of this.
   */
  readonly tags?: string;
  /**
   * What ends a tag that has further attributes behind the name, as that of an argument's type; absent: tags end with what stands
   * behind the name.
   */
  readonly tagEnd?: string;
}

/** What stands behind an argument. */
export const nextOf = ({ next, tags }: TaggedCall, name: string): string =>
  tags === undefined ? next : `${next}${name}>`;

/** The name, and in brackets the arguments, as Python has them: `name(of="value")`. */
export interface PythonCall {
  readonly as: "python";
  /** Whether each stands in a line of its own, and not in a list. */
  readonly isLine?: true;
}

/** A message to the tool, of its own, as gpt-oss writes it. */
export interface ChannelCall {
  readonly as: "channel";
  /** How the message is written; absent: it is the arguments in JSON, on a channel. */
  readonly message?: ToolForm;
}

/** What stands in front of Llama's calls, sometimes. */
const pythonTags = ["<|python_tag|>", "<|python_start|>"];

/** What stands behind Llama 4's, or between that in front and them. */
export const pythonEnd = "<|python_end|>";

/** What a call begins with that has no mark in front of it; empty: nothing that can be told. */
export function openOf({ call }: ToolForm): string {
  if (call.as === "tagged") return call.name[0].trim();
  const first = (call.as === "named" && call.head[0][0]?.text) || "";
  return first.startsWith("<") ? first : "";
}

/** Marks that stand in front of calls. */
export const beginningsOf = ({ begin, others = [] }: ToolForm): readonly string[] => [
  ...(begin === "" ? pythonTags : [begin.trim()]),
  ...others,
];

/** Texts that may stand behind a call. */
export function endingsOf({ begin, end, others, call }: ToolForm): string[] {
  const close = call.as === "named" ? marksIn(call.close) : [];
  const ends = begin === "" ? [";", pythonEnd] : [end];
  const fence = others?.some((text) => text.startsWith("```")) ? ["```"] : [];
  return [...ends, ...close, ...fence].filter((text) => text !== "");
}

/** Texts of a form that may be control tokens. */
export function textsOf(form: ToolForm): string[] {
  const { call } = form;
  if (call.as === "channel") return call.message ? textsOf(call.message) : [];
  const within =
    call.as === "tagged"
      ? [...call.name, ...call.key, call.json ?? "", call.next, call.close]
      : call.as === "named"
        ? [
            call.open,
            call.between,
            call.close,
            call.quote ?? "",
            ...call.head.flat().map(({ text }) => text),
          ]
        : [];
  return [...new Set([...beginningsOf(form), ...endingsOf(form), ...within].flatMap(marksIn))];
}

/** The marks of a text, which have blanks or nothing between them; MiniMax' `]<]minimax[>[` is one. */
export const marksIn = (text: string): string[] =>
  text.split(/\s+|(?<!\])(?=<)/).filter((mark) => mark !== "");
