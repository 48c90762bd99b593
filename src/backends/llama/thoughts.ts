/** What local models think in front of their answers: the marks that their templates know. */
import type { Token } from "node-llama-cpp";
import {
  type AnswerMarks,
  MarkedThoughts,
  nothing,
  type Said,
  type ThoughtMarks,
  thinkTags,
} from "../marked-thoughts.js";
import type { AnswerReader } from "./answer.js";

/** Marks, and by what a template knows them, if not by one of them. */
interface KnownMarks extends ThoughtMarks {
  readonly written?: string;
}

/** The first that a template has counts. */
const known: readonly KnownMarks[] = [
  thinkTags,
  // Hy3's, whose template puts them together.
  { written: "<think{}>", open: "<think:opensource>", close: "</think:opensource>" },
  // MiniMax-M3's.
  { open: "<mm:think>", close: "</mm:think>" },
  // Apriel's.
  {
    written: "[BEGIN FINAL RESPONSE]",
    open: "Here are my reasoning steps:",
    close: "[BEGIN FINAL RESPONSE]",
    answer: { open: "", close: "[END FINAL RESPONSE]" },
  },
  // Magistral's.
  { open: "[THINK]", close: "[/THINK]" },
  // Seed-OSS'.
  { open: "<seed:think>", close: "</seed:think>" },
  // Gemma 4's.
  { open: "<|channel>thought", close: "<channel|>" },
  // Command's.
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
];

/** Marks of answers, by what a template writes. */
const answers: readonly (AnswerMarks & { readonly written: readonly string[] })[] = [
  // Granite 3's.
  { written: ["<response></response>"], open: "<response>", close: "</response>" },
  // Hunyuan's.
  { written: ["<answer>", "</answer>"], open: "<answer>", close: "</answer>" },
  // Command's.
  ...["RESPONSE", "TEXT"].map((name) => {
    const [open, close] = [`<|START_${name}|>`, `<|END_${name}|>`] as const;
    return { written: [open, close], open, close, isAlone: true as const };
  }),
];

/** The marks that a template knows; `undefined`: what its model writes is said. */
export function thoughtMarksOf(template: string): ThoughtMarks | undefined {
  const marks = known.find(({ written, open, close }) =>
    (written === undefined ? [open, close] : [written]).some((it) => template.includes(it)),
  );
  const around = answers.find(({ written }) => written.every((it) => template.includes(it)));
  if (!marks || !around) return marks;
  const { written, ...answer } = around;
  return { ...marks, answer };
}

/** Texts of marks that may be control tokens. */
export const textsOf = ({ open, close, answer }: ThoughtMarks): string[] => [
  open,
  close,
  ...(answer ? [answer.open, answer.close].filter((text) => text !== "") : []),
];

/** Whether a prompt ends with thoughts that are begun. */
export const beginsThoughts = (prompt: string, { open }: ThoughtMarks): boolean =>
  prompt.trimEnd().endsWith(open);

/** The prompt, thoughts that it begins ended: some templates begin them whatever they are told. */
export const withoutThoughts = (prompt: string, marks: ThoughtMarks): string =>
  beginsThoughts(prompt, marks) ? `${prompt.trimEnd()}\n\n${marks.close}\n\n` : prompt;

/** The prompt, thoughts begun, if it does not begin them itself. */
export const withThoughts = (prompt: string, marks: ThoughtMarks): string =>
  beginsThoughts(prompt, marks) ? prompt : prompt + marks.open;

/** How marks stand in what a model writes. */
export interface WrittenMarks {
  readonly marks: ThoughtMarks;
  /** Texts of the control tokens among them, which else are no text of an answer. */
  readonly tokens: ReadonlyMap<Token, string>;
  /** The token that thoughts end with, control token or not; absent: their mark is several. */
  readonly end?: Token | undefined;
}

/** No text of a model has half a character. */
const noText = "\ud800";

/** Reads one answer, in which marks may be control tokens. */
export class ThoughtReader implements AnswerReader {
  #text: MarkedThoughts;
  readonly #marks: ThoughtMarks;
  readonly #tokens: ReadonlyMap<Token, string>;
  /** The token that alone ends thoughts; absent: the text of their mark does. */
  readonly #end: Token | undefined;
  #last: Token | undefined;

  /**
   * @param begun whether the prompt ends with thoughts that are begun
   * @param first whether a grammar knows thoughts in front, which only the token ends for it
   */
  constructor({ marks, tokens, end }: WrittenMarks, begun: boolean, first = false) {
    this.#end = first ? end : undefined;
    const close = this.#end === undefined ? marks.close : noText;
    this.#marks = { ...marks, close };
    this.#text = new MarkedThoughts(this.#marks, begun);
    this.#tokens = tokens;
  }

  get isThinking(): boolean {
    return this.#text.isThinking;
  }

  push(token: Token, text: string): Said {
    const mark = this.#tokens.get(token);
    if (mark !== undefined && this.#marks.open.startsWith(mark)) {
      const isTwice = this.#last === token;
      this.#last = token;
      if (isTwice) return nothing;
      if (this.#text.isAnswering && this.#end === undefined) return this.#again(mark);
    }
    this.#last = token;
    const known = this.#text.isAnswering ? undefined : mark;
    const isEnd = token === this.#end && this.#text.isThinking;
    return this.#text.push(isEnd ? noText : (known ?? text));
  }

  flush(): Said {
    return this.#text.flush();
  }

  /** Thoughts behind a part of the answer: a control token is no text. Gemma 4 has empty ones at the end, too. */
  #again(mark: string): Said {
    const { text } = this.#text.flush();
    this.#text = new MarkedThoughts(this.#marks, false);
    this.#text.push(mark);
    return { ...nothing, text };
  }
}
