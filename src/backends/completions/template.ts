/** Chunks of one answer differ in their text, as a rule in nothing else: the rest need not be parsed again. */

import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { fromJsonString } from "../../core/json-string.js";
import { inOnePiece } from "../../core/one-piece.js";
import { firstChoice, readText } from "./completion.js";
import { readThoughts } from "./thoughts.js";

/** How often a template may turn out to be of no use for one answer. */
const mostTries = 4;
/** A text that no server sends. */
const probe = "\u0001";

/** A text that changes from chunk to chunk. */
export interface Changing {
  /** Name of its member in a `delta`, as a pattern. */
  readonly member: string;
  /** Reads it of a `delta`. */
  textOf(delta: JsonObject): string;
}

/** What is said. */
export const contents: Changing = { member: "content", textOf: readText };

/** What is thought. */
export const thinking: Changing = {
  member: "reasoning(?:_content)?",
  textOf: (delta) => readThoughts(delta)?.reasoningContent ?? "",
};

/** What stands around the text of an answer's chunks. */
export class ChunkTemplate {
  readonly #changing: Changing;
  #before = "";
  #after = "";
  #tries = 0;

  constructor(changing: Changing) {
    this.#changing = changing;
  }

  /** The text of a chunk that is like the one learned from but for its text; `undefined`: parse it. */
  textOf(chunk: string): string | undefined {
    const before = this.#before;
    const end = chunk.length - this.#after.length;
    if (before === "" || end <= before.length + 1) return undefined;
    // Not `startsWith`: V8 compares letter by letter there, which takes several times as long.
    if (chunk.slice(0, before.length) !== before || chunk.slice(end) !== this.#after) {
      return undefined;
    }
    // Only the text itself can be both: anything with further members is no string.
    return fromJsonString(chunk, before.length, end);
  }

  /**
   * Learns from a chunk that brought a text and said nothing else.
   * @param text what it brought
   */
  learn(chunk: string, text: string): void {
    if (this.#tries >= mostTries) return;
    this.#tries++;
    const literal = JSON.stringify(text);
    const key = new RegExp(`"${this.#changing.member}"\\s*:\\s*`, "g");
    for (const { index, 0: name } of chunk.matchAll(key)) {
      const at = index + name.length;
      if (!chunk.startsWith(literal, at)) continue;
      const before = chunk.slice(0, at);
      const after = chunk.slice(at + literal.length);
      if (this.#textIn(before + JSON.stringify(probe) + after) !== probe) continue;
      // Slices: all that one read brought would stay with them.
      this.#before = inOnePiece(before);
      this.#after = inOnePiece(after);
      return;
    }
  }

  #textIn(chunk: string): string | undefined {
    const value = parseJson(chunk);
    const choice = isObject(value) ? firstChoice(value) : undefined;
    return isObject(choice?.delta) ? this.#changing.textOf(choice.delta) : undefined;
  }
}
