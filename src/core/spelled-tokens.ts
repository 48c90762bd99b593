/**
 * Which tokens of an answer spell its text. Servers tell of all tokens that a model made: those of thoughts, of calls
 * and of marks, too, and of some ahead of their text. Where not all that a model made is for the caller, none is told
 * but those whose bytes are all in a text that the caller gets.
 */
import type { TokenLogprob } from "../../gen/lintel/v1/chat_pb.js";

const utf8 = (text: string): Buffer => Buffer.from(text, "utf8");

/** Of a text that is another than the bytes say the bytes are not believed, unless they are parts of characters. */
function bytesOf({ token, bytes }: TokenLogprob): Uint8Array {
  if (!bytes) return utf8(token);
  const text = Buffer.from(bytes).toString("utf8");
  return text === token || text.includes("\ufffd") ? bytes : utf8(token);
}

/**
 * The tokens of an answer, or a piece of one, that spell its text, which they do at their last place: thoughts stand
 * ahead of it. `undefined` where they spell it nowhere: some servers tell no bytes of tokens that are parts of characters.
 */
export function spelling(
  tokens: readonly TokenLogprob[],
  text: string,
): TokenLogprob[] | undefined {
  const all = tokens.map(bytesOf);
  const said = utf8(text);
  const begin = Buffer.concat(all).lastIndexOf(said);
  if (begin < 0) return undefined;
  const end = begin + said.length;
  let at = 0;
  let length = 0;
  const spelled = tokens.filter((_, i) => {
    const from = at;
    const bytes = all[i]?.length ?? 0;
    at += bytes;
    const isWithin = from >= begin && at <= end && from < end;
    if (isWithin) length += bytes;
    return isWithin;
  });
  return length === said.length ? spelled : undefined;
}

/** Tokens of a text that goes on. */
export class SpelledTokens {
  /** What no text has come for. */
  #tokens: TokenLogprob[] = [];
  /** The begin of the first of them, where a part of its text came. */
  #begun: Buffer = utf8("");
  /** Whether that is of a text that nobody gets. */
  #hidden = false;

  /** Takes tokens, ahead of their text or with it. */
  add(tokens: readonly TokenLogprob[]): void {
    // Not as arguments, of which there may be too many for the stack.
    for (const token of tokens) this.#tokens.push(token);
  }

  /**
   * Takes the text that follows.
   * @param told whether the caller gets it
   * @returns the tokens that it completes: none of which a part is not told; others than it has are dropped
   */
  take(text: string, told: boolean): TokenLogprob[] {
    if (this.#tokens.length === 0) return [];
    const said = Buffer.concat([this.#begun, utf8(text)]);
    const spelled: TokenLogprob[] = [];
    let at = 0;
    let next = 0;
    for (; next < this.#tokens.length && at < said.length; next++) {
      const token = this.#tokens[next] as TokenLogprob;
      const bytes = bytesOf(token);
      const length = Math.min(bytes.length, said.length - at);
      if (said.compare(bytes, 0, length, at, at + length) !== 0) continue;
      if (length < bytes.length) break;
      at += length;
      if (told && !this.#hidden) spelled.push(token);
      if (length > 0) this.#hidden = false;
    }
    this.#tokens.splice(0, next);
    const isBegun = this.#tokens.length > 0 && at < said.length;
    this.#hidden = isBegun && (this.#hidden || !told);
    this.#begun = isBegun ? Buffer.from(said.subarray(at)) : utf8("");
    return spelled;
  }
}
