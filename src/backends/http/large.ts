/** Keeps many large answers that come at once from filling the memory. */
import type { CallSignal } from "../../core/cancellation.js";

/**
 * Answers with images that are taken apart at the same time, of all servers
 * together. Each takes about eight times its size for a moment: as bytes, as
 * text, as JSON, decoded, checked.
 */
const most = 8;

let inside = 0;
const waiting = new Set<() => void>();

/** A place goes from hand to hand: whoever comes before the next one runs would take a free one. */
function handOn(): void {
  const [next] = waiting;
  if (!next) {
    inside--;
    return;
  }
  waiting.delete(next);
  next();
}

/**
 * One large answer's place. It is entered when the answer has begun, since an
 * image may be minutes in the making; until then the answer waits in the
 * server. It is left when it has been taken apart, before what came of it is handed
 * on: whoever reads that may be slow, and holds nobody else up.
 */
export class LargeAnswer {
  #inside = false;

  /**
   * Waits for a place; first come, first served.
   * @throws the signal's reason
   */
  async enter(signal: CallSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#inside) return;
    if (inside >= most) {
      await new Promise<void>((resolve, reject) => {
        const go = () => {
          signal.removeEventListener("abort", leave);
          resolve();
        };
        const leave = () => {
          waiting.delete(go);
          reject(signal.reason);
        };
        waiting.add(go);
        signal.addEventListener("abort", leave, { once: true });
      });
    } else inside++;
    this.#inside = true;
  }

  /** Makes room for the next; nothing happens if it was not entered. */
  leave(): void {
    if (!this.#inside) return;
    this.#inside = false;
    handOn();
  }
}
