/** Writes the events of one stream, and comments while there are none. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import type { CallSignal } from "../../core/cancellation.js";
import { writeAtTurnsEnd } from "../../core/turn.js";
import { drained } from "../drained.js";

const keepAlive = ": keep-alive\n\n";
/** The end of a body in chunks. */
const lastChunk = "0\r\n\r\n";

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** A response that is a stream of events; its status is sent with the first of them. */
export class EventWriter {
  readonly #raw: ServerResponse;
  /** Absent on HTTP/2, which writes at the end of a turn by itself. */
  readonly #socket: Socket | null | undefined;
  readonly #chunked: boolean;
  readonly #silence: NodeJS.Timeout;
  #left: boolean;
  #full = false;
  #held = false;
  #last: string | undefined;

  /**
   * @param headers besides those of every stream
   * @param keepAliveMs silence after which a comment is sent, milliseconds
   * @param signal aborted when the client left
   */
  constructor(
    reply: FastifyReply,
    headers: Record<string, string>,
    keepAliveMs: number,
    signal: CallSignal,
  ) {
    // Fastify only knows whole bodies and streams. What plugins put on the reply,
    // CORS for one, goes along.
    reply.hijack();
    const raw = reply.raw;
    this.#raw = raw;
    // HTTP/2's response tells neither of the two.
    this.#left = signal.aborted;
    raw.on("error", () => {});
    // Into its copy: headers spread into one more object go through the runtime of V8.
    const all = Object.assign(reply.getHeaders(), streamHeaders, headers);
    raw.writeHead(200, all as OutgoingHttpHeaders);
    // Node hands a chunk to the socket in four pieces; framed here it is one.
    this.#chunked = raw.chunkedEncoding === true;
    if (this.#chunked) raw.chunkedEncoding = false;
    this.#socket = reply.request.raw.httpVersionMajor === 1 ? raw.socket : undefined;
    this.#silence = setTimeout(() => this.#keepAlive(), keepAliveMs);
    raw.on("drain", () => {
      this.#full = false;
    });
    raw.once("close", () => {
      this.#left = true;
      clearTimeout(this.#silence);
    });
  }

  /** Sends the headers ahead of the first event. */
  flushHead(): void {
    this.#raw.flushHeaders();
  }

  /** Writes events. If the client has to read first: resolves when it did, or left. */
  write(events: string): Promise<void> | undefined {
    if (events === "" || this.#left) return undefined;
    this.#silence.refresh();
    this.#hold();
    const bytes = Buffer.byteLength(events);
    this.#full = !this.#raw.write(this.#framed(events, bytes), encodingOf(events, bytes));
    return this.#full ? drained(this.#raw) : undefined;
  }

  /** Writes the last events and ends the response. */
  end(events: string): void {
    clearTimeout(this.#silence);
    this.#last = events;
    this.#hold();
  }

  #keepAlive(): void {
    if (!this.#left && !this.#full) {
      this.#full = !this.#raw.write(this.#framed(keepAlive, keepAlive.length));
    }
    this.#silence.refresh();
  }

  #framed(text: string, bytes: number): string {
    return this.#chunked ? `${bytes.toString(16)}\r\n${text}\r\n` : text;
  }

  /** What is written in one turn is sent at its end. */
  #hold(): void {
    if (this.#held) return;
    this.#held = true;
    this.#socket?.cork();
    writeAtTurnsEnd(this.#release);
  }

  readonly #release = (): void => {
    this.#held = false;
    const last = this.#last;
    if (last === undefined) {
      this.#socket?.uncork();
    } else if (!this.#left) {
      const bytes = Buffer.byteLength(last);
      const end = this.#chunked ? lastChunk : "";
      // Uncorks as well.
      this.#raw.end(this.#framed(last, bytes) + end, encodingOf(last, bytes));
    }
  };
}

/** Of ASCII there is nothing to encode. */
const encodingOf = (text: string, bytes: number) => (bytes === text.length ? "latin1" : "utf8");
