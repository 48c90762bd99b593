/** Chunks of one answer differ in their text, as a rule in nothing else: the rest need not be parsed again. */

import { isObject, parseJson } from "../../core/json.js";
import { fromJsonString } from "../../core/json-string.js";
import { inOnePiece } from "../../core/one-piece.js";
import { firstChoice, readText } from "./completion.js";

/** How often a template may turn out to be of no use for one answer. */
const mostTries = 4;
/** A text that no server sends. */
const probe = "\u0001";

/** What stands around the text of an answer's chunks. */
export class ChunkTemplate {
  #before = "";
  #after = "";
  #tries = 0;

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
    for (const { index, 0: key } of chunk.matchAll(/"content"\s*:\s*/g)) {
      const at = index + key.length;
      if (!chunk.startsWith(literal, at)) continue;
      const before = chunk.slice(0, at);
      const after = chunk.slice(at + literal.length);
      if (textIn(before + JSON.stringify(probe) + after) !== probe) continue;
      // Slices: all that one read brought would stay with them.
      this.#before = inOnePiece(before);
      this.#after = inOnePiece(after);
      return;
    }
  }
}

function textIn(chunk: string): string | undefined {
  const value = parseJson(chunk);
  const choice = isObject(value) ? firstChoice(value) : undefined;
  return isObject(choice?.delta) ? readText(choice.delta) : undefined;
}
