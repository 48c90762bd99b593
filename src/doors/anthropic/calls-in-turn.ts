/** Calls of a stream, one after the other: of several at once the pieces may come in turns. */
import type { ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, parseJson } from "../../core/json.js";

/**
 * Puts the pieces of calls in order. Clients take the last block that began for the one that ends: a call
 * is to be over before the next begins, so pieces of the next wait until the arguments of the first are
 * an object, or the calls are over.
 */
export class CallsInTurn {
  /** The call whose pieces pass. */
  #index: number | undefined;
  #arguments = "";
  /** Whether its last piece ends as an object does: else there is nothing to parse yet. */
  #ends = false;
  /** Indexes of calls that are over. */
  readonly #over = new Set<number>();
  /** Pieces of further calls, by their index. Where there are any, the one that passes is not complete. */
  readonly #waiting = new Map<number, ToolCall[]>();

  /** The pieces that may follow now. */
  take(piece: ToolCall): ToolCall[] {
    const { index } = piece;
    // Of what was taken for complete; it has its place already. That it has no arguments its end has said.
    if (this.#over.has(index)) return piece.function?.arguments === "{}" ? [] : [piece];
    if (this.#index !== undefined && this.#index !== index) {
      const others = this.#waiting.get(index);
      if (others) others.push(piece);
      else this.#waiting.set(index, [piece]);
      return this.#isComplete() ? this.#next() : [];
    }
    this.#pass(piece);
    const goesOn = this.#waiting.size > 0 && this.#isComplete();
    return goesOn ? [piece, ...this.#next()] : [piece];
  }

  /** Calls are over: something else begins, or the answer ends. Gives what waited. */
  end(): ToolCall[] {
    const rest = [...this.#waiting.values()].flat();
    if (this.#index !== undefined) this.#over.add(this.#index);
    for (const index of this.#waiting.keys()) this.#over.add(index);
    this.#waiting.clear();
    this.#index = undefined;
    return rest;
  }

  #pass({ index, function: called }: ToolCall): void {
    if (this.#index !== index) {
      this.#arguments = "";
      this.#ends = false;
    }
    this.#index = index;
    const said = called?.arguments ?? "";
    this.#arguments += said;
    if (said.trim() !== "") this.#ends = said.trimEnd().endsWith("}");
  }

  /** Nothing can follow a whole object. */
  #isComplete(): boolean {
    return this.#ends && isObject(parseJson(this.#arguments));
  }

  /** What waited of the calls that follow, up to one that is not complete. */
  #next(): ToolCall[] {
    const told: ToolCall[] = [];
    for (const [index, pieces] of this.#waiting) {
      if (this.#index !== undefined) this.#over.add(this.#index);
      this.#waiting.delete(index);
      for (const piece of pieces) {
        this.#pass(piece);
        told.push(piece);
      }
      if (!this.#isComplete()) break;
    }
    return told;
  }
}
