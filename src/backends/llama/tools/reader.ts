/** Takes calls of tools out of an answer, also where pieces cut them. */
import { overlap } from "../../stop.js";
import { type KnownTools, readCalls, type WrittenCall } from "./calls.js";
import { Depth, type Follower, UpToMark } from "./depth.js";
import { beginningsOf, endingsOf, marksIn, openOf, type ToolForm } from "./form.js";

/** What came out of an answer, in its order: text, and calls. */
export type Read = readonly (string | WrittenCall)[];

interface Begun {
  readonly mark: string;
  rest: string;
  /** Absent: there is nothing but blanks yet. */
  follower?: Follower;
  /** Length from which on it is read once more, though it can't be whole: it may be no call. */
  next: number;
}

/**
 * Reads one answer. Nothing of a call comes out as text, from its first letter on; what began
 * like one and is none comes out as text once that is sure.
 */
export class CallReader {
  readonly #form: ToolForm;
  readonly #known: KnownTools;
  readonly #marks: readonly string[];
  /** What is part of a call, where that has no mark in front; empty: nothing. */
  readonly #open: string;
  /** The beginning of a mark, maybe. */
  #held = "";
  /** The mark of what may be a call, and what stands behind it; absent: text. */
  #begun: Begun | undefined;
  /** What stands behind a call, and the blanks there, as far as it may be a mark. */
  #behind: string | undefined;
  /** Whether nothing came yet but blanks: calls without a mark begin there. */
  #atStart = true;

  constructor(form: ToolForm, known: KnownTools) {
    this.#form = form;
    this.#known = known;
    this.#open = openOf(form);
    this.#marks = [...beginningsOf(form), this.#open].filter((mark) => mark !== "");
  }

  /** Takes the next piece. */
  push(piece: string): Read {
    return this.#read(piece, false);
  }

  /** What was held back, once no more comes. */
  flush(): Read {
    return this.#read("", true);
  }

  #read(piece: string, isLast: boolean): Read {
    const read: (string | WrittenCall)[] = [];
    const say = (text: string) => {
      if (text !== "") read.push(text);
    };
    let left: string | undefined = piece;
    while (left !== undefined) {
      if (this.#begun) left = this.#call(left, isLast, read, say);
      else if (this.#behind !== undefined) left = this.#afterCall(left, isLast);
      else left = this.#text(left, isLast, say);
    }
    return read;
  }

  /** @returns what is left to be read */
  #text(piece: string, isLast: boolean, say: (text: string) => void): string | undefined {
    if (this.#form.begin === "" && this.#atStart) {
      // Only blanks are held there.
      const at = piece.search(/\S/);
      if (piece[at] === "{" || piece[at] === "[") {
        this.#begun = { mark: this.#held + piece.slice(0, at), rest: "", next: 0 };
        this.#held = "";
        return piece.slice(at);
      }
      if (at < 0 && !isLast) {
        this.#held += piece;
        return undefined;
      }
      this.#atStart = false;
    }
    const text = this.#held + piece;
    const found = this.#marks
      .map((mark) => ({ mark, at: text.indexOf(mark) }))
      .filter(({ at }) => at >= 0);
    if (found.length === 0) {
      const held = Math.max(...this.#marks.map((mark) => overlap(text, mark)));
      const out = isLast ? text.length : text.length - held;
      say(text.slice(0, out));
      this.#held = text.slice(out);
      return undefined;
    }
    const { mark, at } = found.reduce((one, other) => (other.at < one.at ? other : one));
    say(text.slice(0, at));
    this.#held = "";
    const passed = mark === this.#open ? "" : mark;
    this.#begun = { mark: passed, rest: "", next: 0 };
    return text.slice(at + passed.length);
  }

  #call(
    piece: string,
    isLast: boolean,
    read: (string | WrittenCall)[],
    say: (text: string) => void,
  ): string | undefined {
    const begun = this.#begun as Begun;
    begun.rest += piece;
    if (!isLast && !this.#isDue(begun, piece)) return undefined;
    const found = readCalls(begun.rest, this.#form, this.#known);
    if (found === "more" && !isLast) {
      begun.next = begun.rest.length * 1.5;
      return undefined;
    }
    this.#begun = undefined;
    this.#atStart = false;
    if (typeof found === "string") {
      // The text may have another mark in it.
      say(begun.mark);
      const first = this.#marks.includes(begun.mark) ? "" : begun.rest.slice(0, 1);
      say(first);
      return begun.rest.slice(first.length);
    }
    read.push(...found.calls);
    this.#behind = "";
    return begun.rest.slice(found.end);
  }

  /** Whether it is read: it may be whole, or has become half as long again. All of it is read each time. */
  #isDue(begun: Begun, piece: string): boolean {
    if (!begun.follower) {
      const [first] = /\S/.exec(piece) ?? [];
      if (first === undefined) return false;
      begun.follower = this.#follower(first);
    }
    return begun.follower.follow(begun.rest) || begun.rest.length >= begun.next;
  }

  /** @param first letter of what is followed */
  #follower(first: string): Follower {
    const { begin, call } = this.#form;
    const isJson = first === "{" || first === "[";
    // Between marks brackets are text.
    if (call.as === "tagged" && !isJson) return new UpToMark(marksIn(call.close).at(-1) ?? "");
    const quote = call.as === "named" ? call.quote : undefined;
    const isPython = begin === "" || call.as === "python" || quote !== undefined;
    return new Depth(isPython, quote);
  }

  /** Whether another call, without a mark, stands behind one: in a line of its own, as Olmo's and MiniMax-M1's. */
  #isNext(rest: string): boolean {
    const { begin, call } = this.#form;
    if (call.as === "python") return call.isLine === true && /^\w/.test(rest);
    return call.as === "json" && begin !== "" && rest.startsWith("{");
  }

  /** Passes over the blanks and the mark behind a call. */
  #afterCall(piece: string, isLast: boolean): string | undefined {
    const rest = (this.#behind + piece).trimStart();
    const ends = endingsOf(this.#form);
    const end = ends.find((it) => rest.startsWith(it));
    const mayEnd = rest === "" || ends.some((it) => it.startsWith(rest));
    if (end === undefined && !isLast && mayEnd) {
      this.#behind = rest;
      return undefined;
    }
    this.#behind = undefined;
    if (rest === "") return undefined;
    // Another call may stand right there.
    this.#atStart = true;
    if (end === undefined) {
      if (this.#isNext(rest)) this.#begun = { mark: "", rest: "", next: 0 };
      return rest;
    }
    this.#behind = "";
    return rest.slice(end.length);
  }
}
