/** Events of one type that differ in a piece of text and in their number: most of a stream. */
import { isBare, toJsonString } from "../../../core/json-string.js";
import { inOnePiece } from "../../../core/one-piece.js";
import type { EventSink } from "../../json/sse.js";

/** Writes such events. */
export class TextDeltas {
  /** What a piece begins with: nothing changes there. */
  readonly #ahead: string;
  readonly #behind: string;
  /** Bytes of all but the text and the number. */
  readonly #around: number;

  /**
   * @param at where the text stands, as members of an object
   * @param behind what stands behind the text, up to the number
   */
  constructor(type: string, at: string, behind: string) {
    this.#ahead = inOnePiece(`event: ${type}\ndata: {"type":"${type}",${at},"delta":"`);
    this.#behind = behind;
    this.#around = Buffer.byteLength(this.#ahead) + behind.length + end.length;
  }

  /** @param number of the event */
  write(text: string, number: number, to: EventSink): void {
    const said = `${this.#behind}${number}${end}`;
    if (!isBare(text)) to.add(this.#ahead + toJsonString(text).slice(1, -1) + said);
    else to.add(this.#ahead + text + said, this.#around + text.length + digitsOf(number));
  }
}

const end = "}\n\n";

const digitsOf = (number: number): number => `${number}`.length;
