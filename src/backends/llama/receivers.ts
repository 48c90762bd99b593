/**
 * Answers of which each part says first whom it is for, as Functionary's: `all`, a line break and a text, or a tool's name, and
 * between parts `>>>`; or as GLM-4-0414's: a line break and a text, or a tool's name. Prompts end with the first mark of a part.
 */
import type { Token } from "node-llama-cpp";
import type { Said } from "../marked-thoughts.js";
import { overlap } from "../stop.js";
import type { AnswerReader } from "./answer.js";

/** Takes away what says that a text is for the reader: what is for tools stays as it is. */
export class ReceiverReader implements AnswerReader {
  readonly #begin: string;
  readonly #mark: string;
  readonly isThinking = false;
  #held = "";
  /** Whether it is not known yet for whom the first part is. */
  #isFirst = true;

  /**
   * @param begin what parts begin with
   * @param said what follows where one is for the reader
   */
  constructor(begin: string, said: string) {
    this.#begin = begin;
    this.#mark = begin + said;
  }

  push(_token: Token, text: string): Said {
    return { thought: "", text: this.#read(text, false) };
  }

  flush(): Said {
    return { thought: "", text: this.#read("", true) };
  }

  #read(text: string, isLast: boolean): string {
    let all = this.#held + text;
    this.#held = "";
    if (this.#isFirst) {
      const isOpen = !isLast && (maybeCall.test(all) || this.#mark.startsWith(this.#begin + all));
      if (isOpen) {
        this.#held = all;
        return "";
      }
      this.#isFirst = false;
      const isMarked = call.test(all) || (this.#begin + all).startsWith(this.#mark);
      if (isMarked) all = this.#begin + all;
    }
    const rest = all.replaceAll(this.#mark, "");
    const held = isLast ? 0 : overlap(rest, this.#mark);
    this.#held = rest.slice(rest.length - held);
    return rest.slice(0, rest.length - held);
  }
}

/** The name of a tool, and the beginning of its arguments; and what may become that. */
const call = /^[\w.-]+[ \t]*\n\s*\{/;
const maybeCall = /^[\w.-]*[ \t]*(?:\n\s*)?$/;
