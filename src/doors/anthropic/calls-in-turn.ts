/** Calls of a stream, one after the other: of several at once the pieces may come in turns. */
import type { ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, parseJson } from "../../core/json.js";
import { JsonEnd } from "../../core/json-end.js";
import { argumentsText, toolCall } from "../../core/tool-calls.js";

/**
 * Puts the pieces of calls in order. Clients take the last block that began for the one that ends: a call
 * is to be over before the next begins, so pieces of the next wait until the arguments of the first are
 * an object, or the calls are over. What clients can't read is told as whole answers have it, or not at all.
 */
export class CallsInTurn {
  /** The call whose pieces pass. */
  #index: number | undefined;
  readonly #arguments = new Map<number, Arguments>();
  /** Indexes of calls that are over. */
  readonly #over = new Set<number>();
  /** Pieces of further calls, by their index. Where there are any, the one that passes is not complete. */
  readonly #waiting = new Map<number, ToolCall[]>();

  /** Whether something stood behind the arguments of a call, which is left out. */
  get hasRest(): boolean {
    return [...this.#arguments.values()].some((it) => it.hasRest);
  }

  /** Whether more of a call's arguments is to come: its block can't end yet. */
  get isOpen(): boolean {
    if (this.#index === undefined) return false;
    const known = this.#of(this.#index);
    // One without any that others wait for has none.
    return known.hasBegun ? !known.isComplete : this.#waiting.size === 0;
  }

  /** The pieces that may follow now. */
  take(piece: ToolCall): ToolCall[] {
    const { index } = piece;
    // Of what was taken for complete; it has its place already.
    if (this.#over.has(index)) return [this.#pass(piece)];
    if (this.#index !== undefined && this.#index !== index) {
      const others = this.#waiting.get(index);
      if (others) others.push(piece);
      else this.#waiting.set(index, [piece]);
      return this.#of(this.#index).isComplete ? this.#next() : [];
    }
    this.#index = index;
    const told = this.#pass(piece);
    const goesOn = this.#waiting.size > 0 && this.#of(index).isComplete;
    return goesOn ? [told, ...this.#next()] : [told];
  }

  /** Calls are over: something else begins, or the answer ends. Gives what waited. */
  end(): ToolCall[] {
    const rest = this.#index === undefined ? [] : this.#finish(this.#index);
    for (const [index, pieces] of this.#waiting) {
      rest.push(...pieces.map((piece) => this.#pass(piece)), ...this.#finish(index));
    }
    this.#waiting.clear();
    this.#index = undefined;
    return rest;
  }

  #of(index: number): Arguments {
    const known = this.#arguments.get(index) ?? new Arguments();
    this.#arguments.set(index, known);
    return known;
  }

  /** The piece with as much of the arguments as may be told. */
  #pass(piece: ToolCall): ToolCall {
    const { index, id, function: called, extraContent } = piece;
    const { name = "", arguments: args = "" } = called ?? {};
    const told = this.#of(index).add(args);
    return told === args ? piece : toolCall(index, id, name, told, extraContent);
  }

  #finish(index: number): ToolCall[] {
    this.#over.add(index);
    const told = this.#of(index).end();
    return told === "" ? [] : [toolCall(index, "", "", told)];
  }

  /** What waited of the calls that follow, up to one that is not complete. */
  #next(): ToolCall[] {
    const told: ToolCall[] = [];
    for (const [index, pieces] of this.#waiting) {
      if (this.#index !== undefined) this.#over.add(this.#index);
      this.#waiting.delete(index);
      this.#index = index;
      told.push(...pieces.map((piece) => this.#pass(piece)));
      if (!this.#of(index).isComplete) break;
    }
    return told;
  }
}

/**
 * Arguments of one call as they come: each letter is looked at once, and all of them are parsed once. Clients
 * read an object and nothing else, and fail at what follows one.
 */
class Arguments {
  #text = "";
  readonly #end = new JsonEnd();
  /** Whether they begin as an object does; absent: there is nothing but blanks. */
  #isObject: boolean | undefined;
  /** Whether they were one where it came to its end. */
  #isWhole: boolean | undefined;
  /** Whether it was over while there were none: clients made an empty object of that. */
  #isBare = false;
  /** Whether something stood behind the object. */
  hasRest = false;

  /** Whether they are an object, to its end. */
  get isComplete(): boolean {
    return this.#isWhole === true;
  }

  get hasBegun(): boolean {
    return this.#isObject !== undefined;
  }

  /** Takes the next piece. @returns what may be told of them */
  add(piece: string): string {
    if (this.#isWhole) {
      this.hasRest ||= piece.trim() !== "";
      return "";
    }
    if (this.#isObject !== undefined) return this.#go(piece);
    const begun = piece.trimStart();
    if (begun === "") return "";
    this.#isObject = begun.startsWith("{");
    if (this.#isBare && (begun === none || !this.#isObject)) {
      this.#isWhole = true;
      this.hasRest = begun !== none;
      return "";
    }
    return this.#go(begun);
  }

  /** No more comes. @returns what is to be told of arguments that are no object */
  end(): string {
    const isOther = this.#isObject === false && !this.#isWhole;
    if (isOther) this.#isWhole = true;
    this.#isBare = this.#isObject === undefined;
    return isOther ? argumentsText(toolCall(0, "", "", this.#text)) : "";
  }

  #go(piece: string): string {
    if (this.#isWhole === false) return piece;
    this.#text += piece;
    if (!this.#isObject) return "";
    const end = this.#end.find(piece);
    if (end === undefined) return piece;
    const rest = piece.slice(end);
    this.#isWhole = isObject(parseJson(this.#text.slice(0, this.#text.length - rest.length)));
    this.#text = "";
    if (!this.#isWhole) return piece;
    this.hasRest = rest.trim() !== "";
    return piece.slice(0, end);
  }
}

/** What is told of a call without arguments once the answer ends. */
const none = "{}";
