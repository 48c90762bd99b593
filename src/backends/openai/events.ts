/** Splits the bytes of an event stream into events. */
import { nonsense } from "../http/failure.js";

/** What an event carries. */
export interface ServerEvent {
  /** The `data` lines, joined by line ends. */
  readonly data: string;
  /** The server calls it an error: `event: error`, or the field `error` of llama.cpp before September 2025. */
  readonly failed: boolean;
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;

/**
 * Reads event streams piece by piece, wherever the pieces are cut. It works on
 * bytes and decodes whole lines only, so a character is never torn.
 */
export class EventSplitter {
  readonly #limit: number;
  /** Pieces of a line whose end has not come; joined once, however many they are. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #dataBytes = 0;
  #data: string | undefined;
  #failed = false;
  #afterCr = false;
  #first = true;

  /** @param limit most bytes of one event */
  constructor(limit = 16 * 1024 * 1024) {
    this.#limit = limit;
  }

  /**
   * Takes the next bytes.
   * @returns the events that they completed
   * @throws LintelError `upstream_failed` if an event is larger than the limit
   */
  push(bytes: Buffer): ServerEvent[] {
    const events: ServerEvent[] = [];
    let start = this.#afterCr && bytes[0] === LF ? 1 : 0;
    if (bytes.length > 0) this.#afterCr = false;
    let cr = bytes.indexOf(CR, start);
    let lf = bytes.indexOf(LF, start);
    while (cr !== -1 || lf !== -1) {
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#line(this.#join(bytes.subarray(start, end)), events);
      start = end + 1;
      if (end === cr) {
        if (start === bytes.length) this.#afterCr = true;
        else if (bytes[start] === LF) start++;
      }
      if (cr !== -1 && cr < start) cr = bytes.indexOf(CR, start);
      if (lf !== -1 && lf < start) lf = bytes.indexOf(LF, start);
    }
    if (start < bytes.length) {
      this.#pieces.push(bytes.subarray(start));
      this.#pieceBytes += bytes.length - start;
      this.#limitSize();
    }
    return events;
  }

  /** The stream has ended: an event whose blank line never came is taken as complete. */
  end(): ServerEvent[] {
    const events: ServerEvent[] = [];
    if (this.#pieces.length > 0) this.#line(this.#join(Buffer.alloc(0)), events);
    this.#line(Buffer.alloc(0), events);
    return events;
  }

  #join(tail: Buffer): Buffer {
    if (this.#pieces.length === 0) return tail;
    const line = Buffer.concat([...this.#pieces, tail]);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return line;
  }

  #limitSize(): void {
    if (this.#pieceBytes + this.#dataBytes <= this.#limit) return;
    throw nonsense("sent an event that is too large");
  }

  #line(given: Buffer, events: ServerEvent[]): void {
    let line = given;
    if (this.#first) {
      this.#first = false;
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    }
    if (line.length === 0) {
      if (this.#data !== undefined) events.push({ data: this.#data, failed: this.#failed });
      this.#data = undefined;
      this.#failed = false;
      this.#dataBytes = 0;
      return;
    }
    const colon = line.indexOf(COLON);
    if (colon === 0) return;
    const field = line.toString("latin1", 0, colon === -1 ? line.length : colon);
    if (field !== "data" && field !== "event" && field !== "error") return;
    const from = colon === -1 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1);
    const value = line.toString("utf8", from);
    if (field === "event") {
      this.#failed = value === "error";
      return;
    }
    if (field === "error") this.#failed = true;
    this.#dataBytes += line.length;
    this.#limitSize();
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }
}
