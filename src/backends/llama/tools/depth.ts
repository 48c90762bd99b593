/** Where what may be a call may be whole: it is not read again before, as long as it goes on. */

const quotes = ['"', "'"];

/** Follows a text in pieces, each letter once. */
export interface Follower {
  /**
   * Goes on to the end of a text.
   * @param text with what was there before
   * @returns whether it may have become whole on the way
   */
  follow(text: string): boolean;
}

/** What ends with a mark. */
export class UpToMark implements Follower {
  readonly #mark: string;
  #at = 0;

  constructor(mark: string) {
    this.#mark = mark;
  }

  follow(text: string): boolean {
    // Its beginning may have stood there before.
    const from = Math.max(0, this.#at - this.#mark.length + 1);
    this.#at = text.length;
    return text.includes(this.#mark, from);
  }
}

/** What ends with the bracket that it begins with. */
export class Depth implements Follower {
  readonly #quotes: readonly string[];
  /** What may stand around a text as it is; absent: nothing. */
  readonly #mark: string | undefined;
  /** What ends the text that it is in; absent: it is in none. */
  #end: string | undefined;
  #depth = 0;
  #at = 0;

  /**
   * @param isPython whether texts stand in Python's quotes; else in JSON's
   * @param mark what may stand around texts besides; absent: nothing
   */
  constructor(isPython: boolean, mark: string | undefined) {
    this.#quotes = isPython ? quotes : ['"'];
    this.#mark = mark;
  }

  /** @returns whether the outermost bracket was closed on the way */
  follow(text: string): boolean {
    let isClosed = false;
    while (this.#at < text.length) {
      const before = this.#depth;
      const step = this.#end === undefined ? this.#outside(text) : this.#inText(text, this.#end);
      // The rest may be the beginning of something.
      if (step === 0) break;
      isClosed ||= this.#depth === 0 && before > 0;
      this.#at += step;
    }
    return isClosed;
  }

  #inText(text: string, end: string): number {
    if (text[this.#at] === "\\" && end !== this.#mark) return 2;
    if (!text.startsWith(end, this.#at)) return startsShort(text, this.#at, end) ? 0 : 1;
    this.#end = undefined;
    return end.length;
  }

  #outside(text: string): number {
    const letter = text[this.#at] ?? "";
    const mark = this.#mark;
    if (mark !== undefined && letter === mark[0]) {
      if (startsShort(text, this.#at, mark)) return 0;
      if (text.startsWith(mark, this.#at)) return this.#begin(mark);
    }
    if (this.#depth > 0 && this.#quotes.includes(letter)) {
      const three = letter.repeat(3);
      if (this.#quotes.length === 1) return this.#begin(letter);
      if (startsShort(text, this.#at, three)) return 0;
      return this.#begin(text.startsWith(three, this.#at) ? three : letter);
    }
    if ("([{".includes(letter)) this.#depth++;
    if (")]}".includes(letter)) this.#depth = Math.max(0, this.#depth - 1);
    return 1;
  }

  #begin(quote: string): number {
    this.#end = quote;
    return quote.length;
  }
}

/** Whether a text ends in the middle of what may stand there. */
const startsShort = (text: string, at: number, whole: string): boolean =>
  text.length - at < whole.length && whole.startsWith(text.slice(at));
