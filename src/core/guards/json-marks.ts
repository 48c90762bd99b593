/** Answers in JSON in which something was masked. */

/**
 * What stands in a text's place in brackets, and the rest of a number of which it took a part; no list of
 * values. No blank may be told by two of its items: models that are to answer in JSON write them without end.
 */
const mark =
  /[-+\d.eE]{0,40}\[(?!\s*(?:(?:true|false|null|[-+\d.eE]+)\s*)?\])[^[\]{}",]+\][-+\d.eE]{0,40}/g;

/** Longest name of a guard, in brackets, with the rest of a number, and more. */
const longestMark = 400;

/** A number, or a mark, at the end. */
const openMark = /(?:[-+\d.eE]{0,40}\[[^[\]{}",]+\])?[-+\d.eE]{0,40}$/;

/** Follows a text from its begin, piece by piece, and makes strings of what took the place of a number: a bare one is no JSON. */
export class JsonMarks {
  #inString = false;
  /** Whether a backslash was the last of what came. */
  #escaped = false;
  /** A number, or a mark, at the end of what came: what follows may belong to it. */
  #open = "";
  #replaced = false;

  /** @param replaced whether something in this piece took another's place */
  pass(piece: string, replaced: boolean): string {
    const text = this.#open + piece;
    this.#replaced = replaced || (this.#open !== "" && this.#replaced);
    this.#open = "";
    let out = "";
    for (let from = 0; from < text.length; ) {
      const isBare = !this.#inString;
      const quote = isBare ? text.indexOf('"', from) : this.#endOfString(text, from);
      const end = quote < 0 ? text.length : quote + 1;
      let said = text.slice(from, end);
      if (quote >= 0) this.#inString = isBare;
      else if (isBare) {
        [this.#open] = openMark.exec(said.slice(-longestMark)) ?? [""];
        said = said.slice(0, said.length - this.#open.length);
      }
      out += isBare ? this.#marked(said) : said;
      from = end;
    }
    return out;
  }

  /** What is left where nothing follows. */
  end(): string {
    const left = this.#marked(this.#open);
    this.#open = "";
    return left;
  }

  #marked(text: string): string {
    return this.#replaced ? text.replace(mark, (found) => JSON.stringify(found)) : text;
  }

  /** Place of the quote that ends a string; -1: none does here. */
  #endOfString(piece: string, from: number): number {
    for (let at = from; at < piece.length; at++) {
      if (this.#escaped) this.#escaped = false;
      else if (piece[at] === "\\") this.#escaped = true;
      else if (piece[at] === '"') return at;
    }
    return -1;
  }
}
