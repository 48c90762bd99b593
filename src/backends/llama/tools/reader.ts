/** Takes calls of tools out of an answer, also where pieces cut them. */
import { overlap } from "../../stop.js";
import { type KnownTools, readCalls, type WrittenCall } from "./calls.js";
import { Depth } from "./depth.js";
import { beginningsOf, endingsOf, openOf, type ToolForm } from "./form.js";

/** What came out of an answer, in its order: text, and behind it calls. */
export interface Read {
  readonly text: string;
  readonly calls: readonly WrittenCall[];
}

interface Begun {
  readonly mark: string;
  rest: string;
  isOpen?: boolean;
  /** How deep in brackets it is. */
  readonly depth: Depth;
  /** Length from which on it is read once more, though brackets are open: it may be no call. */
  next: number;
}

/** What is shorter is read whenever a bracket is closed; what is longer, where the outermost is, or after half as much more. */
const short = 1000;

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
  /** What stands behind a call, as far as it is known to be nothing but that. */
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
    let text = "";
    const calls: WrittenCall[] = [];
    let left: string | undefined = piece;
    while (left !== undefined) {
      if (this.#begun) left = this.#call(left, isLast, calls, (said) => (text += said));
      else if (this.#behind !== undefined) left = this.#afterCall(left, isLast);
      else left = this.#text(left, isLast, (said) => (text += said));
    }
    return { text, calls };
  }

  /** @returns what is left to be read */
  #text(piece: string, isLast: boolean, say: (text: string) => void): string | undefined {
    if (this.#form.begin === "" && this.#atStart) {
      const all = this.#held + piece;
      const at = all.search(/\S/);
      if (all[at] === "{" || all[at] === "[") {
        this.#held = "";
        this.#begun = this.#begin(all.slice(0, at));
        return all.slice(at);
      }
      if (at < 0 && !isLast) {
        this.#held = all;
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
    this.#begun = this.#begin(passed);
    return text.slice(at + passed.length);
  }

  #begin(mark: string): Begun {
    const { begin, call } = this.#form;
    const quote = call.as === "named" ? call.quote : undefined;
    const isPython = begin === "" || call.as === "python" || quote !== undefined;
    return { mark, rest: "", depth: new Depth(isPython, quote), next: 0 };
  }

  #call(
    piece: string,
    isLast: boolean,
    calls: WrittenCall[],
    say: (text: string) => void,
  ): string | undefined {
    const begun = this.#begun as Begun;
    begun.rest += piece;
    // Nothing in brackets, or between marks, is read before these may be closed.
    const { call } = this.#form;
    const [open, close] = call.as === "tagged" ? [call.key[0], />/] : [/[({]/, /[)\]}]/];
    if (begun.isOpen && !isLast && !close.test(piece)) return undefined;
    if (!isLast && this.#isInside(begun)) return undefined;
    begun.isOpen = begun.rest.search(open) >= 0;
    const found = readCalls(begun.rest, this.#form, this.#known);
    if (found === "more" && !isLast) {
      begun.next = begun.rest.length < short ? 0 : begun.rest.length * 1.5;
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
    calls.push(...found.calls);
    this.#behind = "";
    return begun.rest.slice(found.end);
  }

  /** Whether it is so long that it is not read within brackets. */
  #isInside({ rest, depth, next }: Begun): boolean {
    // Between marks brackets are text.
    if (this.#form.call.as === "tagged" && !/^\s*[[{]/.test(rest)) return false;
    return !depth.follow(rest) && rest.length < next;
  }

  /** Passes over the blanks and the mark behind a call. */
  #afterCall(piece: string, isLast: boolean): string | undefined {
    const all = this.#behind + piece;
    const from = all.search(/\S/);
    const ends = endingsOf(this.#form);
    const rest = from < 0 ? "" : all.slice(from);
    const end = ends.find((it) => rest.startsWith(it));
    if (end === undefined && !isLast && (from < 0 || ends.some((it) => it.startsWith(rest)))) {
      this.#behind = all;
      return undefined;
    }
    this.#behind = undefined;
    if (from < 0) return undefined;
    if (end === undefined) {
      // Another call may stand right there.
      this.#atStart = true;
      return rest;
    }
    this.#atStart = true;
    this.#behind = "";
    return rest.slice(end.length);
  }
}
