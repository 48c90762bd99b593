/** What a model writes, as it is read: what it thinks, and what it says. */
import type { Token } from "node-llama-cpp";

/** A piece of an answer, or what was held back of one. */
export interface Said {
  /** What the model thinks; empty: nothing. */
  readonly thought: string;
  /** What is for the reader. */
  readonly text: string;
}

/** Reads one answer, token by token. */
export interface AnswerReader {
  /** Whether the next token is part of thoughts, or of the mark that ends them. */
  readonly isThinking: boolean;
  /** Takes the next token, with the text that became whole by it. */
  push(token: Token, text: string): Said;
  /** What was held back, once no more comes. */
  flush(): Said;
}

/** A piece of which nothing comes out. */
export const nothing: Said = { thought: "", text: "" };
