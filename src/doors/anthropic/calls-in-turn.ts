/** Calls of a stream, one after the other: of several at once the pieces may come in turns. */
import type { ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, parseJson } from "../../core/json.js";
import { JsonEnd } from "../../core/json-end.js";

/**
 * Puts the pieces of calls in order. Clients take the last block that began for the one that ends: a call
 * is to be over before the next begins, so pieces of the next wait until the arguments of the first are
 * an object, or the calls are over.
 */
export class CallsInTurn {
  /** The call whose pieces pass. */
  #index: number | undefined;
  #arguments = new Arguments();
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
      return this.#arguments.isComplete ? this.#next() : [];
    }
    this.#pass(piece);
    const goesOn = this.#waiting.size > 0 && this.#arguments.isComplete;
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
    if (this.#index !== index) this.#arguments = new Arguments();
    this.#index = index;
    this.#arguments.add(called?.arguments ?? "");
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
      if (!this.#arguments.isComplete) break;
    }
    return told;
  }
}

/** Arguments of one call as they come: each letter is looked at once, and all of them are parsed once. */
class Arguments {
  #text = "";
  readonly #end = new JsonEnd();
  #isWhole: boolean | undefined;

  add(piece: string): void {
    this.#text += piece;
    // Nothing can follow a whole object.
    if (this.#isWhole !== undefined) this.#isWhole &&= piece.trim() === "";
    else if (this.#end.find(piece) !== undefined) this.#isWhole = isObject(parseJson(this.#text));
  }

  /** Whether they are an object, to its end. */
  get isComplete(): boolean {
    return this.#isWhole === true;
  }
}
