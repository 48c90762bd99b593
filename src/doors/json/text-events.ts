/** Events of a stream that differ in one text, as most do. */
import { isBare, toJsonString } from "../../core/json-string.js";
import { inOnePiece } from "../../core/one-piece.js";
import type { EventSink } from "./sse.js";

/** Writes them: what stands around the text is made once. */
export class TextEvents {
  #ahead: string | undefined;
  #behind = "";
  /** Bytes ahead of the text and behind it. */
  #around = 0;

  /** Whether it is known what stands around the text. */
  get begun(): boolean {
    return this.#ahead !== undefined;
  }

  /** @param ahead up to the quote in front of the text; behind it, from the quote on */
  begin(ahead: string, behind: string): void {
    this.#ahead = inOnePiece(ahead);
    this.#behind = behind;
    this.#around = Buffer.byteLength(ahead) + Buffer.byteLength(behind);
  }

  /** Something else stands around it from now on. */
  forget(): void {
    this.#ahead = undefined;
  }

  /** @param end ASCII that stands behind what is the same; absent: nothing */
  write(text: string, to: EventSink, end = ""): void {
    const behind = this.#behind + end;
    if (isBare(text)) to.add(this.#ahead + text + behind, this.#around + text.length + end.length);
    else to.add(this.#ahead + toJsonString(text).slice(1, -1) + behind);
  }
}
