/** One request and its answer, on undici's lowest level: no stream objects in between. */

import type { Dispatcher } from "undici";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { Collected } from "../../core/pieces.js";
import type { Enrolled } from "../../core/roster.js";
import type { Waiter } from "../../core/steps.js";
import { longestTimerMs } from "../../core/timers.js";
import { afterReads } from "../../core/turn.js";
import type { Answer, Reader } from "./answer.js";
import { nonsense, unread } from "./failure.js";
import type { Headers } from "./retry-after.js";
import { notConnected, transportError } from "./transport-error.js";

type Controller = Dispatcher.DispatchController;

/** Bytes that may wait for the reader before the server is held back. */
const highWater = 256 * 1024;
/** Pieces that may wait: some servers send each letter as a chunk of its own, and a piece takes a hundred times that. */
const mostPieces = 4096;
/** What a server may still send after the end of the answer, in bytes and milliseconds. */
const drainBytes = 64 * 1024;
const drainMs = 1000;

/** Heads before that of the answer (1xx): proxies say so each few seconds that it takes long. */
const mostAnnounced = 10_000;

/** What packs bytes; else `Content-Encoding` has all sorts of words for none: `none`, `UTF-8`. */
const codings = /\b(?:x-)?(?:gzip|compress|deflate|br|zstd)\b/i;

/** A request on its way; undici calls its `on…` methods. */
export class Exchange implements Dispatcher.DispatchHandler, Answer, Enrolled {
  place = -1;
  status = 0;
  headers: Headers = {};
  /** Resolves with the head. */
  readonly answer: Promise<Answer>;
  readonly #signal: CallSignal;
  readonly #first: number;
  readonly #idle: number;
  readonly #onTimeout = () => {
    // It was started for a reader who has been served since.
    if (this.#began && !this.#reader && !this.#draining) return;
    this.fail(
      this.#connecting
        ? notConnected()
        : new LintelError("timeout", "the model server took too long", {
            cause: new Error(
              `${this.#began ? "nothing more" : "no answer"} for ${this.#timerMs} ms`,
            ),
          }),
    );
  };
  /** Until the head came; who waits for it hears once all that came with it is there. */
  #head: Waiter<Answer> | undefined;
  #reader: Reader | undefined;
  readonly #over: ((exchange: Exchange) => void) | undefined;
  #controller: Controller | undefined;
  #connecting: boolean;
  #timer: NodeJS.Timeout | undefined;
  #timerMs = 0;
  #queue: Buffer[] = [];
  #queued = 0;
  #announced = 0;
  /** Whether the reader will be served once all that came in this turn is there. */
  #soon = false;
  readonly #serveSoon = () => {
    this.#soon = false;
    if (this.#reader) this.#serve();
  };
  /** Whether bytes of the body came. */
  #began = false;
  #ended = false;
  #draining = false;
  #error: { readonly reason: unknown } | undefined;

  /**
   * @param first milliseconds until the first byte of the body must be there; 0: any time
   * @param idle milliseconds that may pass between two reads after it; 0: any time
   * @param connect milliseconds until there must be a connection for it; 0: as the pool says
   * @param over called when nothing of this exchange is left
   */
  constructor(
    signal: CallSignal,
    first: number,
    idle: number,
    connect = 0,
    over?: (exchange: Exchange) => void,
  ) {
    this.#signal = signal;
    this.#first = first;
    this.#connecting = connect > 0 && (first === 0 || connect < first);
    this.#idle = idle;
    this.answer = new Promise((came, failed) => {
      this.#head = { came, failed };
    });
    this.#over = over;
    signal.addEventListener("abort", this, { once: true });
    this.#startTimer(this.#connecting ? connect : first);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#connecting) {
      this.#connecting = false;
      this.#startTimer(this.#first);
    }
    if (this.#error) controller.abort(asError(this.#error.reason));
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    // They are parts of 8 KB that others share, and would be kept for as long as the stream runs.
    controller.rawHeaders = null;
    if (status < 200) {
      if (++this.#announced > mostAnnounced) this.fail(nonsense("did not come to its answer"));
      return;
    }
    this.status = status;
    this.headers = headers;
    // A refusal has its status, whatever is in it.
    if (status < 300 && codings.test(String(headers["content-encoding"] ?? ""))) {
      this.fail(nonsense("answered in an encoding that was not asked for"));
      return;
    }
    const head = this.#head;
    this.#head = undefined;
    afterReads(() => head?.came(this));
  }

  onResponseData(controller: Controller, bytes: Buffer): void {
    this.#queued += bytes.length;
    if (this.#draining) {
      if (this.#queued > drainBytes) this.fail(unread());
      return;
    }
    if (!this.#began) {
      this.#began = true;
      this.#stopTimer();
    }
    this.#queue.push(bytes);
    if (this.#queued > highWater || this.#queue.length > mostPieces) controller.pause();
    this.#serveAfterReads();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#settle();
    this.#serveAfterReads();
  }

  onResponseError(_: Controller | undefined, error: Error): void {
    this.fail(transportError(error, this.#controller !== undefined, this.#began));
  }

  read(): Promise<readonly Buffer[] | undefined> {
    return new Promise((came, failed) => this.readTo({ came, failed }));
  }

  readTo(reader: Reader): void {
    this.#reader = reader;
    if (this.#queue.length > 0 || this.#ended || this.#error) this.#serve();
    // A server is only slow while somebody waits for it.
    else if (this.#began) this.#startTimer(this.#idle);
  }

  async text(limit: number): Promise<string> {
    return (await this.bytes(limit)).toString("utf8");
  }

  async bytes(limit: number): Promise<Buffer> {
    if (this.#ended && !this.#error && this.#queued <= limit) return this.#rest();
    const whole = new Collected();
    for (let bytes = await this.read(); bytes; bytes = await this.read()) {
      for (const part of bytes) whole.add(part);
      if (whole.length > limit) {
        this.abort();
        throw nonsense("sent an answer that is too large");
      }
    }
    return whole.take();
  }

  drain(): void {
    if (this.#ended || this.#error) return;
    this.#draining = true;
    this.#signal.removeEventListener("abort", this);
    this.#queued = 0;
    this.#startTimer(drainMs);
    this.#controller?.resume();
  }

  abort(): void {
    if (!this.#draining && !this.#ended && !this.#error) this.fail(unread());
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.fail(this.#signal.reason);
  }

  /** Ends it with an error, at once; nothing happens if it has ended. */
  fail(reason: unknown): void {
    if (this.#ended || this.#error) return;
    this.#error = { reason };
    // What came before the server failed still counts; what an abort cuts off does not.
    if (this.#signal.aborted) this.#queue = [];
    this.#settle();
    this.#controller?.abort(asError(reason));
    this.#head?.failed(reason);
    if (this.#reader) this.#serve();
  }

  /** What came and was not read, all at once. */
  #rest(): Buffer {
    const parts = this.#queue;
    this.#queue = [];
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, this.#queued);
  }

  #serveAfterReads(): void {
    if (!this.#reader || this.#soon) return;
    this.#soon = true;
    afterReads(this.#serveSoon);
  }

  #serve(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (this.#queue.length > 0) {
      const bytes = this.#queue;
      this.#queue = [];
      this.#queued = 0;
      if (this.#controller?.paused && !this.#ended && !this.#error) this.#controller.resume();
      reader?.came(bytes);
    } else if (this.#error) reader?.failed(this.#error.reason);
    else reader?.came(undefined);
  }

  #startTimer(ms: number): void {
    if (this.#timer && this.#timerMs === ms) {
      this.#timer.refresh();
      return;
    }
    clearTimeout(this.#timer);
    this.#timerMs = ms;
    this.#timer = ms > 0 ? setTimeout(this.#onTimeout, Math.min(ms, longestTimerMs)) : undefined;
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #settle(): void {
    this.#stopTimer();
    this.#signal.removeEventListener("abort", this);
    this.#over?.(this);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}
