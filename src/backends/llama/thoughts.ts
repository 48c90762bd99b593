/** What models think in front of their answers, between marks: `<think>…</think>`. */
import type { Token } from "node-llama-cpp";
import { type AnswerReader, nothing, type Said } from "./answer.js";
import { overlap, StopScanner } from "./stop.js";

/** Marks of thoughts, and of the answer behind them. */
export interface ThoughtMarks {
  readonly open: string;
  readonly close: string;
  /** What may stand around the answer behind thoughts; absent: nothing. */
  readonly answer?: { readonly open: string; readonly close: string };
}

/** Marks, the first of which a template has one. */
const known: readonly ThoughtMarks[] = [
  // Qwen's, DeepSeek's, GLM's, SmolLM3's, MiniMax's, Kimi's, Nemotron's, Granite's.
  { open: "<think>", close: "</think>" },
  // Magistral's.
  { open: "[THINK]", close: "[/THINK]" },
  // Seed-OSS'.
  { open: "<seed:think>", close: "</seed:think>" },
  // Gemma 4's.
  { open: "<|channel>thought", close: "<channel|>" },
  // Command's.
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
];

/** Marks of answers, by what a template writes: Granite 3's and Hunyuan's. */
const answers = [
  { written: ["<response></response>"], open: "<response>", close: "</response>" },
  { written: ["<answer>", "</answer>"], open: "<answer>", close: "</answer>" },
];

/** The marks that a template knows; `undefined`: what its model writes is said. */
export function thoughtMarksOf(template: string): ThoughtMarks | undefined {
  const marks = known.find(({ open, close }) => [open, close].some((it) => template.includes(it)));
  const around = answers.find(({ written }) => written.every((it) => template.includes(it)));
  if (!marks || !around) return marks;
  return { ...marks, answer: { open: around.open, close: around.close } };
}

/** Texts of marks that may be control tokens. */
export const textsOf = ({ open, close, answer }: ThoughtMarks): string[] => [
  open,
  close,
  ...(answer ? [answer.open, answer.close] : []),
];

/** Whether a prompt ends with thoughts that are begun. */
export const beginsThoughts = (prompt: string, { open }: ThoughtMarks): boolean =>
  prompt.trimEnd().endsWith(open);

/** The prompt, thoughts that it begins ended: some templates begin them whatever they are told. */
export const withoutThoughts = (prompt: string, marks: ThoughtMarks): string =>
  beginsThoughts(prompt, marks) ? `${prompt.trimEnd()}\n\n${marks.close}\n\n` : prompt;

/** How marks stand in what a model writes. */
export interface WrittenMarks {
  readonly marks: ThoughtMarks;
  /** Texts of the control tokens among them, which else are no text of an answer. */
  readonly tokens: ReadonlyMap<Token, string>;
}

/**
 * Reads one answer. Thoughts stand at its beginning: marks further on are text. Blank lines
 * around marks are dropped.
 */
export class ThoughtReader implements AnswerReader {
  readonly #marks: ThoughtMarks;
  readonly #tokens: ReadonlyMap<Token, string>;
  /** Whether the mark stands there that thoughts begin with. */
  #begun: boolean;
  #at: "start" | "thoughts" | "behind" | "answer" = "start";
  /** What may be the beginning of a mark, or blank lines around one. */
  #held = "";
  /** Finds what stands behind the answer; absent: nothing does. */
  #behind: StopScanner | undefined;
  #ended = false;

  /** @param begun whether the prompt ends with thoughts that are begun */
  constructor({ marks, tokens }: WrittenMarks, begun: boolean) {
    this.#marks = marks;
    this.#tokens = tokens;
    this.#begun = begun;
  }

  get isThinking(): boolean {
    return this.#at === "thoughts" || (this.#at === "start" && this.#begun);
  }

  push(token: Token, text: string): Said {
    return this.#read(this.#at === "answer" ? text : (this.#tokens.get(token) ?? text), false);
  }

  flush(): Said {
    return this.#read("", true);
  }

  #read(piece: string, isLast: boolean): Said {
    this.#held += piece;
    if (this.#at === "start" && !this.#start(isLast)) return nothing;
    const thought = this.#at === "thoughts" ? this.#thoughts(isLast) : "";
    if (this.#at === "behind") this.#passMarks(isLast);
    return { thought, text: this.#at === "answer" ? this.#answer(isLast) : "" };
  }

  /** @returns whether it is known what the answer begins with */
  #start(isLast: boolean): boolean {
    const { open } = this.#marks;
    let rest = this.#held.trimStart();
    // Some models write the mark again that their prompt ends with.
    while (rest.startsWith(open)) {
      this.#begun = true;
      this.#held = rest.slice(open.length);
      rest = this.#held.trimStart();
    }
    if (!isLast && open.startsWith(rest)) return false;
    if (this.#begun) this.#held = withoutBlankLines(this.#held);
    this.#at = this.#begun ? "thoughts" : "answer";
    return true;
  }

  #thoughts(isLast: boolean): string {
    const { close } = this.#marks;
    const at = this.#held.indexOf(close);
    const known = this.#held.length - (isLast ? 0 : overlap(this.#held, close));
    // Blanks are dropped if a mark follows.
    const thought = this.#held.slice(0, at < 0 ? known : at).trimEnd();
    this.#held = this.#held.slice(at < 0 ? thought.length : at + close.length);
    if (at >= 0) this.#at = "behind";
    return thought;
  }

  /** Passes over what stands between thoughts and the answer. */
  #passMarks(isLast: boolean): void {
    const { answer } = this.#marks;
    let rest = this.#held.trimStart();
    if (answer && !this.#behind && rest.startsWith(answer.open)) {
      this.#behind = new StopScanner([`\n${answer.close}`, answer.close]);
      this.#held = rest.slice(answer.open.length);
      rest = this.#held.trimStart();
    }
    const mayBeMark = answer && !this.#behind && answer.open.startsWith(rest);
    if (!isLast && (rest === "" || mayBeMark)) return;
    this.#held = rest && withoutBlankLines(this.#held);
    this.#at = "answer";
  }

  #answer(isLast: boolean): string {
    const piece = this.#held;
    this.#held = "";
    if (!this.#behind || this.#ended) return this.#ended ? "" : piece;
    const { text, stopped } = this.#behind.push(piece);
    this.#ended = stopped;
    return isLast ? text + this.#behind.flush() : text;
  }
}

/** A text without the blank lines that it begins with. */
const withoutBlankLines = (text: string): string => text.replace(/^\s*\n/, "");
