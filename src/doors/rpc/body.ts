/** Bodies of RPCs on their way to the library. */
import { setImmediate } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { withWaiting } from "../pieces.js";
import { type Source, type Unfinished, uncounted, unfinishedBeside } from "../unfinished.js";

/** Pieces of a body that are taken as they come; each takes far more memory than its bytes. */
const mostPieces = 64;

/**
 * The body as it comes. Who stops reading it does not destroy the request: an
 * answer follows. What is left is read and dropped, since the connection's next
 * request comes after it.
 */
export async function* bodyOf({ raw }: FastifyRequest): AsyncGenerator<Uint8Array> {
  let turn: Turn | undefined;
  let length = 0;
  let pieces = 0;
  try {
    for await (const first of raw.iterator({ destroyOnReturn: false })) {
      const piece = withWaiting(raw, first);
      yield piece;
      length += piece.length;
      if (length > uncounted) {
        turn ??= new Turn(raw);
        await turn.after(length);
      }
      // The library keeps them all. What comes in a turn is one piece for who asks at its end.
      if (++pieces > mostPieces) await setImmediate();
    }
  } finally {
    turn?.end();
    raw.resume();
  }
}

/** Lets who asks for one piece after the other wait while other bodies of the connection come first. */
class Turn {
  readonly #unfinished: Unfinished | undefined;
  readonly #source: Source;
  #wait: Promise<void> | undefined;
  #go = () => {};

  constructor(raw: FastifyRequest["raw"]) {
    this.#unfinished = unfinishedBeside(raw);
    const resume = () => this.#go();
    this.#source = {
      resume,
      pause: () => {
        this.#wait = new Promise((resolve) => {
          this.#go = resolve;
        });
      },
      once: (event, closed) => raw.once(event, closed).once(event, resume),
    };
  }

  /** So many bytes were taken: resolves when more may be, or none comes any more. */
  after(bytes: number): Promise<void> | undefined {
    this.#wait = undefined;
    this.#unfinished?.keeps(this.#source, bytes);
    return this.#wait;
  }

  end(): void {
    this.#unfinished?.ends(this.#source);
  }
}
