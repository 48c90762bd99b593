/** Reads a text mark by mark, as far as there is one. */
import type { HeadMark } from "./form.js";

/** How far a text is read. */
export class Place {
  readonly text: string;
  at = 0;
  /** Whether what was looked for may stand there once there is more. */
  isShort = false;

  constructor(text: string) {
    this.text = text;
  }

  get failure(): "more" | "none" {
    return this.isShort ? "more" : "none";
  }

  copy(): Place {
    const other = new Place(this.text);
    other.at = this.at;
    return other;
  }

  /** Passes over marks, and the blanks in front of each. @returns whether they stand there */
  pass(marks: readonly string[]): boolean {
    for (const mark of marks) {
      const rest = this.text.slice(this.at).trimStart();
      if (!rest.startsWith(mark)) {
        this.isShort ||= mark.startsWith(rest);
        return false;
      }
      this.at = this.text.length - rest.length + mark.length;
    }
    return true;
  }

  /** Passes over a mark, if it may be left out or stands there. @returns whether that is so */
  passOne({ text, isOptional, hasWord }: HeadMark): boolean {
    const isThere = this.pass([text]);
    if (isThere && hasWord) {
      this.at += /^\s*\w*/.exec(this.text.slice(this.at))?.[0].length ?? 0;
      this.isShort = this.at === this.text.length;
    }
    return isThere ? !this.isShort : isOptional === true && !this.isShort;
  }

  /** Where something stands that is no blank; -1: nowhere. */
  next(): number {
    const rest = this.text.slice(this.at).search(/\S/);
    return rest < 0 ? -1 : this.at + rest;
  }

  /** Whether marks stand there. */
  sees(marks: readonly string[]): boolean {
    const before = this.at;
    const found = this.pass(marks);
    this.at = before;
    return found;
  }

  /** The name of a tool. */
  name(): string | undefined {
    const [all = "", name = ""] = /^\s*([\w.-]*)/.exec(this.text.slice(this.at)) ?? [];
    this.at += all.length;
    this.isShort = this.at === this.text.length;
    return name === "" || this.isShort ? undefined : name;
  }

  /** What stands in front of a mark, which is passed over. */
  upTo(mark: string): string | undefined {
    const begin = this.at;
    const found = this.text.indexOf(mark, begin);
    this.isShort = found < 0;
    if (found < 0) return undefined;
    this.at = found + mark.length;
    return this.text.slice(begin, found);
  }
}
