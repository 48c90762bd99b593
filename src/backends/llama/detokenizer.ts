/** Tokens back to text, in whole characters. */
import type { LlamaModel, Token } from "node-llama-cpp";

/** What is needed of a model to make text of tokens. */
export type Vocabulary = Pick<LlamaModel, "detokenize">;

const replacement = "\uFFFD";

/** A character has at most four bytes, each of which may be a token. */
const longestCharacter = 4;

/** Some tokenizers look at the tokens before: whether a space goes in front. */
const context = 3;

/**
 * Streams the text of tokens. A token may hold a part of a character; text
 * comes out when the character is whole.
 */
export class Detokenizer {
  readonly #vocabulary: Vocabulary;
  #last: Token[];
  #pending: Token[] = [];
  #sent = 0;

  /** @param before the tokens in front of the first */
  constructor(vocabulary: Vocabulary, before: readonly Token[]) {
    this.#vocabulary = vocabulary;
    this.#last = before.slice(-context);
  }

  /** Takes a token; returns the text that is whole now. */
  push(token: Token): string {
    this.#pending.push(token);
    const text = this.#vocabulary.detokenize(this.#pending, false, this.#last);
    // A replacement character at the end is a character that is not whole yet;
    // after four more tokens it is one that the model wrote.
    const open = text.endsWith(replacement) && this.#pending.length <= longestCharacter;
    const whole = open ? trimEnd(text) : text;
    const fresh = whole.slice(this.#sent);
    this.#sent = whole.length;
    if (!open) {
      this.#last = [...this.#last, ...this.#pending].slice(-context);
      this.#pending = [];
      this.#sent = 0;
    }
    return fresh;
  }
}

function trimEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === replacement) end--;
  return text.slice(0, end);
}
