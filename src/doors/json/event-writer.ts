/** Writes the events of one stream, and comments while there are none. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { CallSignal } from "../../core/cancellation.js";
import { putTogether } from "../../core/one-piece.js";
import { writeAtTurnsEnd } from "../../core/turn.js";
import { drained } from "../drained.js";
import type { EventEncoder, EventSink } from "./sse.js";

/** What is sent in silence: a comment. */
const keepAliveComment = ": keep-alive\n\n";
/** The end of a body in chunks. */
const lastChunk = "0\r\n\r\n";
/** Bytes that may wait for a turn's end. */
const mostHeld = 16 * 1024;

/** Over HTTP/1 `_header` is the head, which Node keeps for as long as the response runs. */
type Response = ServerResponse & { readonly stream?: Writable; readonly _header?: unknown };

const ignored = () => {};

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * A response that is a stream of events; its status is sent with the first of them. What is
 * added in one turn of the event loop is written at its end, as one piece.
 */
export class EventWriter implements EventSink {
  /** Over HTTP/2 it has a stream. */
  readonly #raw: Response;
  readonly #chunked: boolean;
  readonly #silence: NodeJS.Timeout;
  readonly #silent: Pick<EventEncoder<never>, "keepAlive">;
  #left: boolean;
  /** Events of this turn, and their bytes. */
  #text = "";
  #bytes = 0;
  #held = false;
  /** Whether the head has left. */
  #begun = false;
  #ended = false;

  /**
   * @param headers besides those of every stream
   * @param keepAliveMs silence after which a comment is sent, milliseconds
   * @param signal aborted when the client left
   * @param silent says what is sent then, where that is no comment
   */
  constructor(
    reply: FastifyReply,
    headers: Record<string, string>,
    keepAliveMs: number,
    signal: CallSignal,
    silent: Pick<EventEncoder<never>, "keepAlive"> = {},
  ) {
    // Fastify only knows whole bodies and streams. What plugins put on the reply,
    // CORS for one, goes along.
    reply.hijack();
    const raw: Response = reply.raw;
    this.#raw = raw;
    this.#silent = silent;
    // HTTP/2's response tells it no other way.
    this.#left = signal.aborted;
    raw.on("error", ignored);
    // Into its copy: headers spread into one more object go through the runtime of V8.
    const all = Object.assign(reply.getHeaders(), streamHeaders, headers);
    raw.writeHead(200, all as OutgoingHttpHeaders);
    if (typeof raw._header === "string") putTogether(raw._header);
    // Node hands a chunk to the socket in four pieces; framed here it is one.
    this.#chunked = raw.chunkedEncoding === true;
    if (this.#chunked) raw.chunkedEncoding = false;
    this.#silence = setTimeout(this.#keepAlive, keepAliveMs);
    signal.addEventListener("abort", this, { once: true });
  }

  /** The client left. What is sent in silence ends with the call, which comes to its end now. */
  handleEvent(): void {
    this.#left = true;
  }

  /** Sends the headers ahead of the first event. */
  flushHead(): void {
    this.#raw.flushHeaders();
    this.#begun = true;
  }

  add(events: string, bytes = Buffer.byteLength(events)): void {
    if (this.#left) return;
    this.#text += events;
    this.#bytes += bytes;
    if (this.#held) return;
    this.#held = true;
    writeAtTurnsEnd(this.#release);
  }

  /** If the client has to read first: resolves when it did, or left. */
  full(): Promise<void> | undefined {
    if (this.#left) return undefined;
    // An answer that comes all at once is not to wait here as a whole.
    if (this.#bytes > mostHeld) this.#send();
    const out = this.#out();
    return out.writableNeedDrain ? drained(out) : undefined;
  }

  /** Writes the last events and ends the response. */
  end(events: string): void {
    clearTimeout(this.#silence);
    this.#ended = true;
    this.add(events);
  }

  readonly #keepAlive = (): void => {
    const out = this.#out();
    if (!this.#left && !out.writableNeedDrain) {
      const text = this.#silent.keepAlive ?? keepAliveComment;
      out.write(this.#framed(text, text.length));
    }
    this.#silence.refresh();
  };

  #framed(text: string, bytes: number): string {
    return this.#chunked ? `${bytes.toString(16)}\r\n${text}\r\n` : text;
  }

  readonly #release = (): void => {
    this.#held = false;
    if (this.#left) return;
    if (!this.#ended) {
      if (this.#bytes > 0) this.#send();
      return;
    }
    const { text, encoding } = this.#take();
    this.#raw.end(this.#chunked ? text + lastChunk : text, encoding);
  };

  #send(): void {
    this.#silence.refresh();
    const { text, encoding } = this.#take();
    this.#out().write(text, encoding);
    this.#begun = true;
  }

  /** Once the head has left, what is framed here needs none of the response's own steps. */
  #out(): Writable {
    const raw = this.#raw;
    return this.#begun ? (raw.stream ?? raw.socket ?? raw) : raw;
  }

  /** What was held, as it is written. */
  #take(): { readonly text: string; readonly encoding: "latin1" | "utf8" } {
    const text = this.#text;
    const bytes = this.#bytes;
    this.#text = "";
    this.#bytes = 0;
    // Of ASCII there is nothing to encode.
    return { text: this.#framed(text, bytes), encoding: bytes === text.length ? "latin1" : "utf8" };
  }
}
