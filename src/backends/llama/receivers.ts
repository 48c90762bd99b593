/**
 * Answers of which each part says first whom it is for, as Functionary's: `all`, a line break and a text, or a tool's name, and
 * between parts `>>>`. Prompts end with the first of these.
 */
import type { Token } from "node-llama-cpp";
import { nothing, type Said } from "../marked-thoughts.js";
import { overlap } from "../stop.js";
import type { AnswerReader } from "./answer.js";

/** Takes away what says that a text is for the reader: what is for tools stays as it is. */
export class ReceiverReader implements AnswerReader {
  readonly #mark: string;
  readonly isThinking = false;
  #held: string;
  #isBlank = true;

  /**
   * @param begin what parts begin with
   * @param said what follows where one is for the reader
   */
  constructor(begin: string, said: string) {
    this.#mark = begin + said;
    this.#held = begin;
  }

  push(_token: Token, text: string): Said {
    if (text === "") return nothing;
    this.#isBlank = false;
    const all = (this.#held + text).replaceAll(this.#mark, "");
    const held = overlap(all, this.#mark);
    this.#held = all.slice(all.length - held);
    return { thought: "", text: all.slice(0, all.length - held) };
  }

  flush(): Said {
    return { thought: "", text: this.#isBlank ? "" : this.#held };
  }
}
