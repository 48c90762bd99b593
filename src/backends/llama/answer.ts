/** What a model writes, as it is read: what it thinks, and what it says. */
import type { Token } from "node-llama-cpp";
import type { Said } from "../marked-thoughts.js";

/** Reads one answer, token by token. */
export interface AnswerReader {
  /** Whether the next token is part of thoughts, or of the mark that ends them. */
  readonly isThinking: boolean;
  /** Takes the next token, with the text that became whole by it. */
  push(token: Token, text: string): Said;
  /** What was held back, once no more comes. */
  flush(): Said;
}
