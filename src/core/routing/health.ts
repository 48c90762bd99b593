/** How a model on a backend is, as its calls, its health check and its server itself tell. */
import type { LintelError } from "../errors.js";
import { Circuit, type Turn, type Verdict } from "./circuit.js";
import { Rest } from "./rest.js";
import type { HealthSettings } from "./settings.js";

/** How attempts ended. */
export interface Tally {
  readonly attempts: number;
  /** Those that the model server failed. */
  readonly failures: number;
  /** The last of these; absent: none. */
  readonly lastFailure: LintelError | undefined;
}

/** Of one endpoint. Times as its clock says. */
export class Health {
  readonly circuit: Circuit;
  readonly #rest = new Rest();
  #attempts = 0;
  #failures = 0;
  #lastFailure: LintelError | undefined;

  /** @param random from 0 to below 1 */
  constructor(settings: HealthSettings, random: () => number) {
    this.circuit = new Circuit(settings, random);
  }

  /** Of attempts that ended, since the start. */
  get tally(): Tally {
    return { attempts: this.#attempts, failures: this.#failures, lastFailure: this.#lastFailure };
  }

  /** The last failure of calls there, while it is out; absent: there was none, as where its health check alone fails. */
  get whyOut(): LintelError | undefined {
    return this.circuit.out ? this.#lastFailure : undefined;
  }

  /** Whether it is healthy enough for a call. */
  isWell(now: number): boolean {
    return !this.isResting(now) && this.circuit.usable(now);
  }

  /** Whether it asked to be left alone, until later. */
  isResting(now: number): boolean {
    return now < this.#rest.until;
  }

  /** Whether a call could try it, but for its health check, which fails. */
  isAway(now: number): boolean {
    return !this.isResting(now) && this.circuit.lastResort(now);
  }

  /** Whether it is well, or will be when the time is over for which it asked to be left alone, unless that is too late. */
  isWellBy(until: number, now: number): boolean {
    return this.#rest.until <= until && this.circuit.usable(now);
  }

  /** When it may be well again; in the past: it is now. */
  wellAt(now: number): number {
    const { circuit } = this;
    const unknown = circuit.probing || circuit.lastResort(now);
    const back = !circuit.out ? 0 : unknown ? now + 1000 : circuit.until;
    return Math.max(this.#rest.until, back);
  }

  /**
   * Set where it is asked rather than nobody, the lowest first: when it said that it is about to
   * leave, while it rests for that, since another may be in its place at any time; infinite where
   * its health check fails.
   */
  lastResort(now: number): number | undefined {
    if (this.circuit.usable(now)) return this.#rest.leftAt(now);
    return this.isAway(now) ? Number.POSITIVE_INFINITY : undefined;
  }

  /**
   * It asked to be left alone.
   * @param leaving whether because it is about to leave
   * @returns whether that counts
   */
  rests(ms: number, now: number, leaving: boolean): boolean {
    return this.#rest.asked(ms, now, leaving);
  }

  /**
   * A call was answered that went there.
   * @param probe whether it is the one that tries whether it is back
   * @param since when it began
   * @returns `back`: it was out until now; `replaced`: who answered is the successor of one that left
   */
  answered(probe: boolean, since: number): "back" | "replaced" | undefined {
    const replaced = this.#rest.answered(since);
    if (probe && this.circuit.answered()) return "back";
    return replaced ? "replaced" : undefined;
  }

  /**
   * A call that went there ended.
   * @param since when it began
   * @param failure where it is the target's
   */
  end(
    verdict: Verdict,
    probe: boolean,
    now: number,
    since: number,
    failure: LintelError | undefined,
  ): Turn | undefined {
    this.#attempts++;
    if (verdict === "failed") {
      this.#failures++;
      this.#lastFailure = failure;
    }
    return this.circuit.end(verdict, probe, now, since);
  }
}
