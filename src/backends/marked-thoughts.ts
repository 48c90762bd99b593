/** What models think in front of their answers, between marks in what they write: `<think>…</think>`. */
import { overlap, StopScanner } from "./stop.js";

/** Marks of thoughts, and of the answer behind them. */
export interface ThoughtMarks {
  readonly open: string;
  readonly close: string;
  /** What may stand around the answer behind thoughts; absent: nothing. */
  readonly answer?: AnswerMarks;
}

/** Marks of an answer. */
export interface AnswerMarks {
  readonly open: string;
  readonly close: string;
  /** Whether they stand around one without thoughts, too; absent: they are its text there. */
  readonly isAlone?: true;
}

/** Qwen's, DeepSeek's, GLM's, SmolLM3's, MiniMax's, Kimi's, Nemotron's, Granite's. */
export const thinkTags: ThoughtMarks = { open: "<think>", close: "</think>" };

/** Gemini's, by its endpoint of OpenAI's form. */
export const thoughtTags: ThoughtMarks = { open: "<thought>", close: "</thought>" };

/** A piece of an answer, or what was held back of one. */
export interface Said {
  /** What the model thinks; empty: nothing. */
  readonly thought: string;
  /** What is for the reader. */
  readonly text: string;
}

/** A piece of which nothing comes out. */
export const nothing: Said = { thought: "", text: "" };

/**
 * Reads one answer. Thoughts stand at its beginning: marks further on are text. Blank lines
 * around marks are dropped.
 */
export class MarkedThoughts {
  readonly #marks: ThoughtMarks;
  /** Whether the mark stands there that thoughts begin with. */
  #begun: boolean;
  #at: "start" | "thoughts" | "behind" | "answer" = "start";
  /** What may be the beginning of a mark, or blank lines around one. */
  #held = "";
  /** Whether that is blanks alone. */
  #isBlank = false;
  /** Finds what stands behind the answer; absent: nothing does. */
  #behind: StopScanner | undefined;
  #ended = false;

  /** @param begun whether they are begun before anything is read */
  constructor(marks: ThoughtMarks, begun: boolean) {
    this.#marks = marks;
    this.#begun = begun;
  }

  /** Whether the next piece is part of thoughts, or of the mark that ends them. */
  get isThinking(): boolean {
    return this.#at === "thoughts" || (this.#at === "start" && this.#begun);
  }

  /** Whether thoughts are over, or there were none: what follows is the answer. */
  get isAnswering(): boolean {
    return this.#at === "answer";
  }

  /** Takes the next piece. */
  push(piece: string): Said {
    return this.#read(piece, false);
  }

  /** What was held back, once no more comes. */
  flush(): Said {
    return this.#read("", true);
  }

  #read(piece: string, isLast: boolean): Said {
    this.#held += piece;
    // Blanks behind blanks tell nothing, and to look at all of them for each would take ever longer.
    const isBlank = piece.trim() === "";
    if (!isLast && isBlank && this.#isBlank && this.#at !== "answer") return nothing;
    const said = this.#take(isLast);
    this.#isBlank = isBlank && this.#held.trim() === "";
    return said;
  }

  #take(isLast: boolean): Said {
    if (this.#at === "start" && !this.#start(isLast)) return nothing;
    const thought = this.#at === "thoughts" ? this.#thoughts(isLast) : "";
    if (this.#at === "behind") this.#passMarks(isLast);
    return { thought, text: this.#at === "answer" ? this.#answer(isLast) : "" };
  }

  /** @returns whether it is known what the answer begins with */
  #start(isLast: boolean): boolean {
    const { open, close, answer } = this.#marks;
    const alone = answer?.isAlone ? answer.open : "";
    let rest = this.#held.trimStart();
    // Some models write the mark again that their prompt ends with.
    while (rest.startsWith(open)) {
      this.#begun = true;
      this.#held = rest.slice(open.length);
      rest = this.#held.trimStart();
    }
    const others = this.#begun ? [] : [alone, close];
    if (!isLast && [open, ...others].some((mark) => mark.startsWith(rest))) return false;
    // Some end thoughts that their prompt has ended.
    if (!this.#begun && rest.startsWith(close)) this.#begun = true;
    if (this.#begun) this.#held = withoutBlankLines(this.#held);
    const isMarked = alone !== "" && rest.startsWith(alone);
    this.#at = this.#begun ? "thoughts" : isMarked ? "behind" : "answer";
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
    const { text, stop } = this.#behind.push(piece);
    this.#ended = stop !== undefined;
    return isLast ? text + this.#behind.flush() : text;
  }
}

/** A text without the blank lines that it begins with. */
const withoutBlankLines = (text: string): string => text.replace(/^\s*\n/, "");
