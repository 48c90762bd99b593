/** Keeps many large answers that come at once from filling the memory. */
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { Collected, withFewer } from "../../core/pieces.js";
import type { Answer } from "./answer.js";
import { nonsense, unread } from "./failure.js";

/**
 * Answers with images that are taken apart at the same time, of all servers
 * together. Each takes about eight times its size for a moment: as bytes, as
 * text, as JSON, decoded, checked.
 */
const most = 8;

/** Of one server: however slow it is, answers of others find a place beside its own. */
const mostOfOne = most / 2;

/**
 * Bytes of an answer that come without a place. So none is held for a server that sends
 * white space while it draws, nor, while images are fetched, for the addresses of them.
 */
const small = 256 * 1024;

/** Bytes in a millisecond, beyond a minute: a server that is slower keeps no place. */
const slowest = 16;
const grace = 60_000;

/** A timer of who reads. */
export interface Restartable {
  stop(): void;
  /** From the begin. */
  start(): void;
}

interface Waiter {
  resolve(): void;
  reject(reason: unknown): void;
}

const inside = new Set<LargeAnswer>();
const waiting = new Map<LargeAnswer, Waiter>();

const hasRoom = ({ server }: LargeAnswer): boolean =>
  inside.size < most && [...inside].filter((other) => other.server === server).length < mostOfOne;

/** Places go from hand to hand: whoever comes before the next one runs would take a free one. */
function handOn(): void {
  for (const [answer, { resolve }] of waiting) {
    if (!hasRoom(answer)) continue;
    waiting.delete(answer);
    inside.add(answer);
    resolve();
  }
}

/**
 * One large answer's place, which also the images are read in whose addresses it has. It is
 * entered when some of it is there, since an image may be minutes in the making; until then
 * the answer waits in the server. It is left when it has been taken apart, before what came of
 * it is handed on: whoever reads that may be slow, and holds nobody else up.
 */
export class LargeAnswer {
  /** Whose it is. */
  readonly server: object;
  readonly #signal: CallSignal;
  #entered: Promise<void> | undefined;
  /** When it was entered. */
  #since: number | undefined;
  #came = 0;
  #left = false;

  /**
   * @param server the same for all answers of one server
   * @param signal ends the waiting
   */
  constructor(server: object, signal: CallSignal) {
    this.server = server;
    this.#signal = signal;
  }

  /**
   * What comes; once that is much, in the place. Places are for who comes first.
   * @param timer stands still while it waits for its place
   * @throws LintelError `timeout` for a server that is too slow; the signal's reason
   */
  async *pieces(source: AsyncIterable<Buffer>, timer?: Restartable): AsyncGenerator<Buffer> {
    const first: Buffer[] = [];
    let fresh = 0;
    let came = 0;
    for await (const piece of source) {
      came += piece.length;
      this.#came += piece.length;
      // Nothing is made of them before: decoding takes room for all at once.
      first.push(piece);
      fresh = withFewer(first, fresh + 1);
      if (came <= small) continue;
      // One of several images failed, and the call with it.
      if (this.#left) throw unread();
      if (this.#since === undefined) {
        timer?.stop();
        this.#entered ??= this.#enter();
        await this.#entered;
        timer?.start();
      }
      if (this.#left) throw unread();
      if (performance.now() - (this.#since ?? 0) > grace + this.#came / slowest) throw tooSlow();
      fresh = 0;
      yield* first.splice(0);
    }
    yield* first;
  }

  /** The whole body of an answer, as `Answer.bytes`. What is left of it after an error is the caller's to abort. */
  async bytes(answer: Answer, limit: number): Promise<Buffer> {
    const whole = new Collected();
    for await (const piece of this.pieces(piecesOf(answer))) {
      whole.add(piece);
      if (whole.length > limit) throw nonsense("sent an answer that is too large");
    }
    return whole.take();
  }

  /** Makes room for the next; nothing happens if it was not entered. It is not entered again. */
  leave(): void {
    this.#left = true;
    const waiter = waiting.get(this);
    // At once: the next place must not go to it.
    waiting.delete(this);
    waiter?.reject(unread());
    if (inside.delete(this)) handOn();
  }

  async #enter(): Promise<void> {
    const signal = this.#signal;
    signal.throwIfAborted();
    if (hasRoom(this)) inside.add(this);
    else {
      const leave = () => waiting.get(this)?.reject(signal.reason);
      signal.addEventListener("abort", leave, { once: true });
      try {
        await new Promise<void>((resolve, reject) => waiting.set(this, { resolve, reject }));
      } finally {
        waiting.delete(this);
        signal.removeEventListener("abort", leave);
      }
    }
    this.#since = performance.now();
  }
}

/** What comes of an answer. */
export async function* piecesOf(answer: Answer): AsyncGenerator<Buffer> {
  for (let parts = await answer.read(); parts; parts = await answer.read()) yield* parts;
}

const tooSlow = () => new LintelError("timeout", "the model server took too long to send images");
