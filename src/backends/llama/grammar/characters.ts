/**
 * Keeps characters whole whose bytes are tokens of their own: llama.cpp's grammars take any byte for
 * the second one of a character, a quote too.
 */
import type { LlamaModel, Token, TokenBias } from "node-llama-cpp";
import type { LlamaLibrary } from "../library.js";

/** Bytes of GPT-2's vocabularies are letters: those that can't be seen stand behind the others, from U+0100 on. */
const seen = (byte: number) =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad && byte <= 0xff);
const byteOfLetter = new Map<string, number>();
let unseen = 0x100;
for (let byte = 0; byte < 0x100; byte++) {
  byteOfLetter.set(String.fromCharCode(seen(byte) ? byte : unseen++), byte);
}

const isContinuing = (byte: number) => byte >= 0x80 && byte < 0xc0;

const lackAfter = (first: number) => (first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3);

/** What a character lacks. */
export interface Lack {
  readonly bytes: number;
  /** The next byte is no smaller. */
  readonly least: number;
}

/** What is whole lacks nothing. */
export const nothing: Lack = { bytes: 0, least: 0 };

/** The characters of one model's tokens. */
export class Characters {
  readonly #library: LlamaLibrary;
  readonly #model: LlamaModel;
  readonly #words: readonly string[];
  readonly #isBytes: boolean;
  readonly #continuing = new Map<number, TokenBias>();
  /** Lets everything through. */
  readonly any: TokenBias;

  constructor(library: LlamaLibrary, model: LlamaModel) {
    const { ggml } = model.fileInfo.metadata.tokenizer ?? {};
    this.#library = library;
    this.#model = model;
    this.any = library.TokenBias.for(model);
    this.#words = ggml?.tokens ?? [];
    this.#isBytes = ggml?.model === "gpt2";
  }

  /**
   * What a character lacks after a token.
   * @param before it
   */
  lack(before: Lack, token: Token): Lack {
    let { bytes, least } = before;
    for (const byte of this.#bytesOf(token)) {
      bytes = isContinuing(byte) ? Math.max(0, bytes - 1) : lackAfter(byte);
      // Else it would be one that has fewer bytes.
      least = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
    }
    return { bytes, least };
  }

  /**
   * Lets through what makes no character broken, as far as the grammar does not see to that.
   * @param usual between characters
   */
  after({ bytes, least }: Lack, usual = this.any): TokenBias {
    if (bytes === 0) return usual;
    const known = this.#continuing.get(least);
    const bias = known ?? this.#onlyContinuing(least);
    if (!known) this.#continuing.set(least, bias);
    return bias;
  }

  #onlyContinuing(least: number): TokenBias {
    const others: Token[] = [];
    for (const token of this.#model.iterateAllTokens()) {
      const bytes = this.#bytesOf(token);
      const goesOn = bytes.every(isContinuing) && (bytes[0] ?? 0) >= least;
      if (!goesOn) others.push(token);
    }
    return this.#library.TokenBias.for(this.#model).set(others, "never");
  }

  /** The bytes of a token; none of one that is whole characters in any case. */
  #bytesOf(token: Token): number[] {
    const word = this.#words[token] ?? "";
    const byte = /^<0x([0-9A-F]{2})>$/i.exec(word)?.[1];
    if (byte) return [Number.parseInt(byte, 16)];
    // ASCII stands for any text that is whole.
    return this.#isBytes ? [...word].map((letter) => byteOfLetter.get(letter) ?? 0x20) : [0x20];
  }
}
