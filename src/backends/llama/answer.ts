/** What a model writes, as it is read: what it thinks, and what it says. */
import type { Token } from "node-llama-cpp";
import type { Said } from "../marked-thoughts.js";
import type { WrittenCall } from "./tools/calls.js";

/** A piece of an answer, and the calls of tools behind it that are no text of it; absent: none. */
export interface Heard extends Said {
  readonly calls?: readonly WrittenCall[];
}

/** Reads one answer, token by token. */
export interface AnswerReader {
  /** Whether the next token is part of thoughts, or of the mark that ends them. */
  readonly isThinking: boolean;
  /** Takes the next token, with the text that became whole by it. */
  push(token: Token, text: string): Heard;
  /** What was held back, once no more comes. */
  flush(): Heard;
}
