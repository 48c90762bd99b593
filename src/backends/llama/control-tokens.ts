/**
 * Keeps what people write from being read as the model's control tokens.
 *
 * A chat template is text: it puts `<|im_end|>` and the like around messages,
 * and all of it is tokenized in one go. Who writes such a text in a message
 * would end the message and speak as somebody else. Here each such text is cut
 * inside by a mark that nobody can guess, and the prompt is tokenized in the
 * pieces between the marks, so that no piece has a control token that the
 * template did not write. Texts without any pass unchanged, so templates that
 * look into messages work.
 */
import { randomBytes } from "node:crypto";

/** The marks: puts them into texts, and takes them out again. */
export class ControlTokenMarks {
  readonly #mark = randomBytes(16).toString("hex");
  readonly #inside: RegExp | undefined;
  readonly #beginnings = new Set<string>();
  readonly #endings = new Set<string>();
  readonly #longest: number;

  /** @param texts of the control tokens */
  constructor(texts: readonly string[]) {
    // A text of one character can't be cut; no known vocabulary has one.
    const cut = texts.filter((text) => text.length > 1);
    this.#longest = Math.max(0, ...cut.map((text) => text.length));
    for (const text of cut) {
      for (let at = 1; at < text.length; at++) {
        this.#beginnings.add(text.slice(0, at));
        this.#endings.add(text.slice(at));
      }
    }
    if (cut.length > 0) {
      this.#inside = new RegExp(`(?=${cut.map(quote).join("|")})[^]`, "gu");
    }
  }

  /** A text, marked so that it may stand in the template's output. */
  insert(text: string): string {
    if (!this.#inside) return text;
    const body = text.trim();
    if (body === "") return text;
    const start = text.indexOf(body);
    // Marks stand inside of the white space, since templates like to trim.
    return (
      text.slice(0, start) +
      (this.#has(this.#endings, (length) => body.slice(0, length)) ? this.#mark : "") +
      body.replace(this.#inside, `$&${this.#mark}`) +
      (this.#has(this.#beginnings, (length) => body.slice(-length)) ? this.#mark : "") +
      text.slice(start + body.length)
    );
  }

  /** The template's output in pieces, each to be tokenized alone. */
  split(prompt: string): string[] {
    return prompt.split(this.#mark);
  }

  /** Whether the text begins (or ends) like the rest (or start) of a control token. */
  #has(parts: ReadonlySet<string>, edge: (length: number) => string): boolean {
    for (let length = 1; length < this.#longest; length++) {
      if (parts.has(edge(length))) return true;
    }
    return false;
  }
}

/** The text as an expression. */
export const quote = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
