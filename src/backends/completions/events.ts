/** Splits the bytes of an event stream into events. */
import { parseJson } from "../../core/json.js";
import { JsonEnd } from "../../core/json-end.js";
import { Collected } from "../../core/pieces.js";
import { soleObject } from "../http/error-body.js";
import { failureIn, nonsense } from "../http/failure.js";

/** What an event carries. */
export interface ServerEvent {
  /** The `data` lines, joined by line ends. */
  readonly data: string;
  /** The server calls it an error: `event: error`, or the field `error` of llama.cpp before September 2025. */
  readonly failed: boolean;
}

/** Whether data is the marker at the end of OpenAI's streams, or nothing: neither is JSON. */
export function saysNothing(data: string): boolean {
  const trimmed = data.trim();
  return trimmed === "" || trimmed.startsWith("[DONE]");
}

const LF = 10;
const CR = 13;
const byteOrderMark = "\uFEFF";

/** Most letters of an error that stands in no field. */
const bareLimit = 16 * 1024;

/**
 * Reads event streams piece by piece, wherever the pieces are cut. Only whole
 * lines are decoded, all that came at once, so a character is never torn.
 */
export class EventSplitter {
  readonly #limit: number;
  readonly #silent: number;
  /** Of a line whose end has not come; joined once, however many pieces they are. */
  readonly #open = new Collected();
  #dataLength = 0;
  /** Of lines since the last event that belong to none. */
  #skipped = 0;
  #data: string | undefined;
  #failed = false;
  /** JSON so far that stands in no field. */
  #bare = "";
  /** Finds where that ends. */
  #bareEnd: JsonEnd | undefined;
  #afterCr = false;
  #first = true;

  /**
   * @param limit most bytes of one event. Default: 32 MiB, for one may have a picture
   * @param silent most bytes of comments, blank lines and the like between two events
   */
  constructor(limit = 32 * 1024 * 1024, silent = 1024 * 1024) {
    this.#limit = limit;
    this.#silent = silent;
  }

  /**
   * Takes the next bytes.
   * @returns the events that they completed
   * @throws LintelError `upstream_failed` if an event, or what comes before it, is too large
   */
  push(...reads: readonly Buffer[]): ServerEvent[] {
    const events: ServerEvent[] = [];
    const bytes = reads.length === 1 ? (reads[0] as Buffer) : Buffer.concat(reads);
    const end = endOfLines(bytes);
    if (end > 0) this.#lines(this.#decoded(bytes, end), events);
    if (end < bytes.length) {
      this.#open.add(bytes.subarray(end));
      this.#limitSize();
    }
    return events;
  }

  /** The stream has ended: an event whose blank line never came is taken as complete. */
  end(): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#lines(`${this.#decoded(Buffer.alloc(0), 0)}\n\n`, events);
    return events;
  }

  /** The line that is open, and bytes up to `end`. */
  #decoded(bytes: Buffer, end: number): string {
    if (this.#open.length === 0) return bytes.toString("utf8", 0, end);
    this.#open.add(bytes.subarray(0, end));
    return this.#open.take().toString("utf8");
  }

  #limitSize(): void {
    if (this.#open.length + this.#dataLength <= this.#limit) return;
    throw nonsense("sent an event that is too large");
  }

  #skip(bytes: number): void {
    this.#skipped += bytes;
    if (this.#skipped > this.#silent) throw nonsense("sent too much that says nothing");
  }

  /** @param text ends with a line's end */
  #lines(text: string, events: ServerEvent[]): void {
    let start = 0;
    if (this.#first) {
      this.#first = false;
      if (text.startsWith(byteOrderMark)) start = 1;
    }
    if (this.#afterCr && text[start] === "\n") start++;
    this.#afterCr = text.endsWith("\r");
    if (text.includes("\r", start)) this.#mixedLines(text, start, events);
    else
      while (start < text.length) {
        const end = text.indexOf("\n", start);
        this.#line(text, start, end, events);
        start = end + 1;
      }
  }

  /** Lines that end in LF, CR or both, whichever comes first. */
  #mixedLines(text: string, from: number, events: ServerEvent[]): void {
    let start = from;
    let cr = next(carriageReturn, text, start);
    let lf = next(lineFeed, text, start);
    while (start < text.length) {
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#line(text, start, end, events);
      start = end + 1;
      if (end === cr) {
        if (text[start] === "\n") start++;
        cr = next(carriageReturn, text, start);
      }
      // Looked for once: of a text without it each look would go to the end.
      if (lf !== -1 && lf < start) lf = next(lineFeed, text, start);
    }
  }

  #line(text: string, start: number, end: number, events: ServerEvent[]): void {
    if (start === end) {
      this.#endEvent(events);
      return;
    }
    // Nearly all are like this.
    if (text.startsWith("data: ", start)) {
      this.#take(end - start, text.slice(start + 6, end));
      return;
    }
    const line = text.slice(start, end);
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    if (field !== "data" && field !== "event" && field !== "error") {
      this.#skip(line.length + 1);
      this.#takeBare(line, events);
      return;
    }
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") {
      this.#skip(line.length + 1);
      this.#failed = value === "error";
      return;
    }
    if (field === "error") this.#failed = true;
    this.#take(line.length, value);
  }

  #take(length: number, value: string): void {
    this.#dataLength += length;
    this.#limitSize();
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  /** Lines without a field mean nothing, but proxies and servers that fail put their errors there. */
  #takeBare(line: string, events: ServerEvent[]): void {
    if (this.#bare === "") {
      if (!/^\s*[[{]/.test(line)) return;
      this.#bareEnd = new JsonEnd();
    }
    const bare = this.#bare + line;
    this.#bare = bare.length > bareLimit ? "" : bare;
    // It is read once: who tried after each line that might end it would read most of it again each time.
    if (this.#bare === "" || this.#bareEnd?.find(line) === undefined) return;
    this.#bare = "";
    const object = soleObject(parseJson(bare));
    if (!object || !failureIn(object)) return;
    this.#endEvent(events);
    events.push({ data: bare, failed: true });
  }

  #endEvent(events: ServerEvent[]): void {
    if (this.#data !== undefined) {
      events.push({ data: this.#data, failed: this.#failed });
      this.#skipped = 0;
    } else this.#skip(1);
    this.#data = undefined;
    this.#failed = false;
    this.#bare = "";
    this.#dataLength = 0;
  }
}

const carriageReturn = /\r/g;
const lineFeed = /\n/g;

/**
 * Where a sign stands from a place on; -1: nowhere. Not `indexOf`, which V8 takes to have no effect and does ahead
 * of what it depends on: for each line it would look for the other sign up to the text's end.
 */
function next(sign: RegExp, text: string, from: number): number {
  sign.lastIndex = from;
  return sign.test(text) ? sign.lastIndex - 1 : -1;
}

/** Where the last whole line ends; 0: there is none. As a rule what was read ends with one. */
function endOfLines(bytes: Buffer): number {
  const last = bytes[bytes.length - 1];
  if (last === LF || last === CR) return bytes.length;
  return Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
}
