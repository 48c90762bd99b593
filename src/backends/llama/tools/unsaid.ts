/** Finds calls that a model wrote while it thought: some forget to end their thoughts in front of them. */
import { overlap } from "../../stop.js";
import type { KnownTools, WrittenCall } from "./calls.js";
import { beginningsOf, openOf, type ToolForm } from "./form.js";
import { CallReader } from "./reader.js";

/** Reads thoughts. What may be calls is held back: they are some where nothing at all follows. */
export class UnsaidCalls {
  readonly #form: ToolForm;
  readonly #known: KnownTools;
  readonly #marks: readonly string[];
  /** The beginning of a mark, maybe, or what may be calls. */
  #held = "";
  /** Reads what may be calls; absent: there is no mark yet. */
  #reader: CallReader | undefined;
  #calls: WrittenCall[] = [];

  constructor(form: ToolForm, known: KnownTools) {
    this.#form = form;
    this.#known = known;
    this.#marks = [...beginningsOf(form), openOf(form)].filter((mark) => mark !== "");
  }

  /** Takes the next piece. @returns what of the thoughts is no call, for sure */
  push(thought: string): string {
    if (this.#reader) return this.#read(thought, this.#reader);
    const text = this.#held + thought;
    const places = this.#marks.map((mark) => text.indexOf(mark)).filter((at) => at >= 0);
    if (places.length === 0) {
      const held = Math.max(0, ...this.#marks.map((mark) => overlap(text, mark)));
      this.#held = held === 0 ? "" : text.slice(-held);
      return text.slice(0, text.length - held);
    }
    const at = Math.min(...places);
    this.#held = "";
    this.#reader = new CallReader(this.#form, this.#known);
    return text.slice(0, at) + this.#read(text.slice(at), this.#reader);
  }

  /** What was held back, once something follows that is no thought. */
  release(): string {
    const held = this.#held;
    this.#held = "";
    this.#reader = undefined;
    this.#calls = [];
    return held;
  }

  /** The calls that thoughts ended with, once nothing follows, or what was held back. */
  flush(): readonly WrittenCall[] | string {
    const rest = this.#reader?.flush() ?? [];
    const calls = [...this.#calls, ...rest.filter((part) => typeof part !== "string")];
    const held = this.release();
    return calls.length === 0 || rest.some(isText) ? held : calls;
  }

  #read(piece: string, reader: CallReader): string {
    this.#held += piece;
    const read = reader.push(piece);
    if (read.some(isText)) return this.release();
    this.#calls.push(...read.filter((part) => typeof part !== "string"));
    return "";
  }
}

const isText = (part: string | WrittenCall): boolean =>
  typeof part === "string" && part.trim() !== "";
