/** The time for which a model server asked to be left alone. */
import type { LintelError } from "../errors.js";

/** Longest that counts, milliseconds. */
const longest = 3_600_000;

const busy: ReadonlySet<string> = new Set(["rate_limited", "unavailable", "shutting_down"]);

/**
 * Whether the `Retry-After` of a failure is about the target, not about the request. Of one
 * that is overloaded it is a guess for the caller: there is room as soon as one who waits leaves.
 */
export const isAboutTarget = ({ code, retry }: LintelError): boolean =>
  busy.has(code) && retry === "anywhere";

/** Of one endpoint. Times as its clock says. */
export class Rest {
  #until = 0;
  /** When it said that it is about to leave; absent: it asked for another reason, or was answered since. */
  #leftAt: number | undefined;

  /** When it is over; may lie in the past. */
  get until(): number {
    return this.#until;
  }

  /** When it said that it is about to leave, while it rests for that. */
  leftAt(now: number): number | undefined {
    return now < this.#until ? this.#leftAt : undefined;
  }

  /**
   * It asked for a time.
   * @param leaving whether because it is about to leave
   * @returns whether it counts: who leaves does not shorten, nor turn into less, what it asked for besides
   */
  asked(ms: number, now: number, leaving: boolean): boolean {
    const besides = now < this.#until && this.#leftAt === undefined;
    if (leaving && besides) return false;
    // Whoever asks after one that left is its successor.
    this.#until = Math.max(besides ? this.#until : 0, now + Math.min(ms, longest));
    this.#leftAt = leaving ? now : undefined;
    return true;
  }

  /**
   * A call was answered that began then.
   * @returns whether by the successor of one that left: the rest is over
   */
  answered(since: number): boolean {
    if (this.#leftAt === undefined || since <= this.#leftAt) return false;
    this.#leftAt = undefined;
    this.#until = 0;
    return true;
  }
}
