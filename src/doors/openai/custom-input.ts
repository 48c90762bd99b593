/** The text that a call of a custom tool has, taken out of its arguments while they come. */
import { parseJson } from "../../core/json.js";
import { WholeCharacters, wellFormed } from "../../core/well-formed.js";

/** The member of the arguments that has it. */
export const inputMember = "input";

/** What arguments begin with, but for blanks. */
const opening = `{"${inputMember}":"`;

/** Ahead of which of its letters blanks may stand: outside of the name. */
const gaps: ReadonlySet<number> = new Set([0, 1, opening.length - 2, opening.length - 1]);

const blanks = /^[ \t\n\r]*$/;
const nothing = /^[ \t\n\r]*\{[ \t\n\r]*\}[ \t\n\r]*$/;

/** What stands in the text for something else, and what may end it. */
const marks = /\\(?:u[\da-fA-F]{4}|["\\/bfnrt])|"/g;

const halfAnEscape = /\\(?:u[\da-fA-F]{0,3})?$/;

/** What follows a quote that ends the text, as far as it is there. */
const behindQuote = /[ \t\n\r]*(?:$|[},])/y;

/**
 * Reads the arguments of one call. Arguments that are no object with the text as its first member are
 * the text themselves: a model that wrote none was still asked for nothing else. Mistakes in the string
 * are read as they were meant: line breaks, backslashes and quotes that nobody escaped are of the text.
 */
export class InputReader {
  #part: "opening" | "nothing" | "text" | "quote" | "closing" | "raw" = "opening";
  /** How much of the opening was there. */
  #matched = 0;
  /**
   * What is not told yet: the opening, half an escape, or what may be the end. Blanks are added without
   * a look at it, which would copy all of it each time.
   */
  #held = "";
  readonly #characters = new WholeCharacters();

  /** The next piece of the text. */
  push(piece: string): string {
    return wellFormed(this.#characters.push(this.#read(piece)));
  }

  /** What is left of it once no more comes. */
  end(): string {
    return wellFormed(this.#characters.push(this.#rest()) + this.#characters.end());
  }

  #read(piece: string): string {
    switch (this.#part) {
      case "raw":
        return piece;
      case "opening":
        return this.#open(piece);
      case "text":
        return this.#text(piece);
      case "nothing":
      case "quote":
        return this.#behind(piece);
      case "closing":
        this.#held += piece;
        return "";
    }
  }

  #open(piece: string): string {
    for (let i = 0; i < piece.length; i++) {
      const letter = piece.charAt(i);
      if (letter === opening[this.#matched]) this.#matched++;
      else if (!gaps.has(this.#matched) || !blanks.test(letter)) return this.#otherwise(piece);
      if (this.#matched === opening.length) {
        this.#part = "text";
        this.#held = "";
        return this.#text(piece.slice(i + 1));
      }
    }
    this.#held += piece;
    return "";
  }

  /** An empty object is what the core makes of no arguments. */
  #otherwise(piece: string): string {
    const all = this.#held + piece;
    const isNothing = nothing.test(all);
    this.#part = isNothing ? "nothing" : "raw";
    this.#held = isNothing ? all : "";
    return isNothing ? "" : all;
  }

  /** Behind an empty object, or a quote that may be the text's last: blanks say nothing. */
  #behind(piece: string): string {
    if (blanks.test(piece)) {
      this.#held += piece;
      return "";
    }
    if (this.#part === "nothing") return this.#otherwise(piece);
    this.#part = "text";
    return this.#text(piece);
  }

  #text(piece: string): string {
    const text = this.#held + piece;
    let said = "";
    let from = 0;
    for (const { 0: mark, index } of text.matchAll(marks)) {
      said += text.slice(from, index);
      from = index + mark.length;
      behindQuote.lastIndex = from;
      if (mark === '"' && behindQuote.test(text)) {
        this.#held = text.slice(index);
        this.#part = blanks.test(text.slice(from)) ? "quote" : "closing";
        return said;
      }
      said += meant(mark);
    }
    const rest = text.slice(from);
    this.#held = halfAnEscape.exec(rest)?.[0] ?? "";
    return said + rest.slice(0, rest.length - this.#held.length);
  }

  #rest(): string {
    const held = this.#held;
    if (this.#part !== "closing" || parseJson(opening + held) !== undefined) return "";
    return withoutEnd(held).replaceAll(marks, meant);
  }
}

/** Without the quote, the brace and the blanks that are behind a text. */
function withoutEnd(held: string): string {
  const object = withoutBlanks(held);
  const text = withoutBlanks(object.endsWith("}") ? object.slice(0, -1) : object);
  return text.endsWith('"') ? text.slice(0, -1) : held;
}

/** Without blanks at its end. Letter by letter: an expression looks at many blanks from each of them on. */
function withoutBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && blanks.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

const meant = (mark: string): string => (mark === '"' ? mark : (JSON.parse(`"${mark}"`) as string));

/** The text of a call that is there as a whole. */
export function inputOf(args: string): string {
  const reader = new InputReader();
  return reader.push(args) + reader.end();
}
