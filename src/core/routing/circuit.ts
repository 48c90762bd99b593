/** Whether a target is fit for calls, judged by how its calls went. */
import type { HealthSettings } from "./settings.js";
import { RollingCounts } from "./window.js";

/** What an attempt says of its target. */
export type Verdict = "ok" | "failed" | "neutral";

/** What the end of a call made of its target: taken out, or back in. */
export type Turn = "out" | "back";

/**
 * Takes a target out when it fails repeatedly. After a pause, one call at a
 * time may try it; the pause grows as long as those fail.
 */
export class Circuit {
  readonly #settings: HealthSettings;
  readonly #random: () => number;
  readonly #recent: RollingCounts;
  #inARow = 0;
  #out = false;
  #until = 0;
  /** When it was taken out last. */
  #outAt = Number.NEGATIVE_INFINITY;
  /** How long it is left alone, or was the last time; 0: it was well since. */
  #pauseMs = 0;
  #probing = false;
  /** When it was said to be back last: calls that began before tell nothing of how it is now. */
  #hastenedAt = Number.NEGATIVE_INFINITY;
  /** Set while something besides calls says that it is away. */
  #away = false;

  /** @param random from 0 to below 1 */
  constructor(settings: HealthSettings, random: () => number) {
    this.#settings = settings;
    this.#random = random;
    this.#recent = new RollingCounts(settings.windowMs);
  }

  get out(): boolean {
    return this.#out;
  }

  get probing(): boolean {
    return this.#probing;
  }

  /** While it is out: when a call may try it. */
  get until(): number {
    return this.#until;
  }

  /** Whether a call may go there now. */
  usable(now: number): boolean {
    return !this.#out || (!this.#away && !this.#isPaused(now));
  }

  /** Whether a call may go there rather than nowhere, though something besides calls says that it is away. */
  lastResort(now: number): boolean {
    return this.#out && this.#away && !this.#isPaused(now);
  }

  /** Whether a call tries it that may bring it back, and nothing besides calls says that it is away. */
  get tried(): boolean {
    return this.#out && this.#probing && !this.#away;
  }

  /** Whether it is out no longer than until the next call, and nothing says that it is away. */
  due(now: number): boolean {
    return this.#out && this.usable(now);
  }

  /** A call goes there. True: it is the one that tries whether the target is back. */
  begin(): boolean {
    if (!this.#out) return false;
    this.#probing = true;
    return true;
  }

  /**
   * The one that tries whether the target is back was answered.
   * @returns whether that brought it back in
   */
  answered(): boolean {
    if (!this.#out) return false;
    this.#restore();
    // One more failure takes it out again, until an answer was complete.
    this.#inARow = this.#settings.failures - 1;
    return true;
  }

  /**
   * A call that went there ended.
   * @param since when it began
   * @returns `undefined`: the target is as it was
   */
  end(verdict: Verdict, probing: boolean, now: number, since = now): Turn | undefined {
    const probe = probing && since >= this.#hastenedAt;
    if (probe) this.#probing = false;
    if (verdict === "neutral") return undefined;
    if (verdict === "ok") {
      // Answered, if only with what is wrong about the request.
      if (probing && this.answered()) return "back";
      if (this.#out) return undefined;
      this.#inARow = 0;
      this.#pauseMs = 0;
      this.#recent.add(now, 1, 0);
      return undefined;
    }
    // Of calls that began before it was taken out nothing new is learnt, also once it is back.
    const known = Math.max(this.#outAt, this.#hastenedAt);
    if ((this.#out || since < known) && !probe) return undefined;
    this.#inARow++;
    this.#recent.add(now, 1, 1);
    if (!probe && !this.#tooMany(now)) return undefined;
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#settings.longestPauseMs);
    this.#open(now);
    return "out";
  }

  /** Something besides calls says that it is away; a call that tries it goes on as the only one. */
  trip(now: number): void {
    this.#away = true;
    this.#open(now);
  }

  /** Somebody else has taken it out: one more failure is enough, until an answer was complete. */
  suspect(): void {
    if (!this.#out) this.#inARow = Math.max(this.#inARow, this.#settings.failures - 1);
  }

  /** A call may try it at once: something says that it is back. One that tried it before may never end. */
  hasten(now: number): void {
    this.#away = false;
    if (!this.#out) return;
    this.#until = Math.min(this.#until, now);
    this.#probing = false;
    this.#hastenedAt = now;
  }

  #isPaused(now: number): boolean {
    return this.#probing || now < this.#until;
  }

  /** Takes the target out, as long as the last time. */
  #open(now: number): void {
    this.#out = true;
    this.#outAt = now;
    this.#pauseMs ||= this.#settings.firstPauseMs;
    // Replicas that lost a target together don't come back to it together.
    this.#until = now + this.#pauseMs * (1 - 0.2 * this.#random());
  }

  #restore(): void {
    this.#out = false;
    this.#away = false;
    this.#probing = false;
    this.#recent.clear();
  }

  #tooMany(now: number): boolean {
    const { failures, failureRate, samples } = this.#settings;
    if (this.#inARow >= failures) return true;
    const total = this.#recent.total(now);
    return total >= samples && this.#recent.marked(now) >= failureRate * total;
  }
}
