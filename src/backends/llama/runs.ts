/** Keeps prompts from overflowing the stack of the tokenizer. */
import { quote } from "./control-tokens.js";

/** Letters: a third of a stack of 1 MiB, and more than words have, or the blanks between them. */
const longest = 1000;

/**
 * Cuts texts where words, or blanks, go on for long. For many vocabularies (DeepSeek's,
 * gpt-oss', Mistral's) llama.cpp finds words by expressions whose evaluation goes one call
 * deeper with each letter: a word of 20,000 ends the process.
 */
export class ShortRuns {
  readonly #control: RegExp | undefined;
  readonly #reach: number;

  /** @param control texts that are not cut themselves */
  constructor(control: readonly string[]) {
    // Longer ones, which no known vocabulary has, would leave no place for a cut.
    const whole = control.filter(({ length }) => length < longest / 2);
    if (whole.length > 0) this.#control = new RegExp(whole.map(quote).join("|"), "gu");
    this.#reach = Math.max(0, ...whole.map(({ length }) => length));
  }

  /** The text in pieces, each to be tokenized alone. */
  cut(text: string): string[] {
    if (text.length <= longest) return [text];
    const pieces: string[] = [];
    let from = 0;
    for (const { 0: run, index } of text.matchAll(/\S+|\s+/gu)) {
      const end = index + run.length;
      for (let at = index; end - at > longest; ) {
        at = this.#placeBefore(text, at + longest);
        pieces.push(text.slice(from, at));
        from = at;
      }
    }
    pieces.push(text.slice(from));
    return pieces;
  }

  /** Where to cut: there, or before the character or the control token that it would halve. */
  #placeBefore(text: string, there: number): number {
    const begin = Math.max(0, there - this.#reach);
    const around = text.slice(begin, there + this.#reach);
    for (const { 0: token, index } of this.#control ? around.matchAll(this.#control) : []) {
      const at = begin + index;
      if (at < there && at + token.length > there) return at;
    }
    return isSecondHalf(text.charCodeAt(there)) ? there - 1 : there;
  }
}

const isSecondHalf = (code: number) => code >= 0xdc00 && code <= 0xdfff;
