/** Notices a child that hangs: one that is stopped, or whose native code does not come back. */
import { spelled } from "../../config/quantities.js";
import type { Clock } from "../../core/routing/clock.js";
import { Heartbeat } from "../../heartbeat.js";
import type { EngineReport } from "../engine-progress.js";

/** How long an engine may be at one piece of work, unless the configuration says otherwise, milliseconds. */
export const watchdogDefault = 30 * 60_000;

/** Time between two questions, milliseconds. */
const beatMs = 10_000;

/**
 * How long it may leave questions unanswered, milliseconds. Engines compute beside the thread that
 * answers; what may hold that up is a slow disk, or memory that is swapped.
 */
const longestSilence = 5 * 60_000;

/** What was seen of a piece of work that goes on. */
interface Seen {
  readonly moves: number;
  /** Answers in a row in which it was where it is. */
  readonly times: number;
}

/**
 * Asks a child again and again whether it is there and whether its engines get on. Answers are
 * counted, not time: while the machine sleeps, or all processes are stopped, nobody asks.
 */
export class Watchdog {
  readonly #heartbeat: Heartbeat;
  /** Answers without a move after which an engine hangs. */
  readonly #most: number;
  readonly #hangs: (how: string) => void;
  #seen: ReadonlyMap<string, Seen> = new Map();

  /**
   * @param ms how long an engine may be at one piece of work; 0: for as long as it likes, and the
   *   child need not answer, either
   * @param ask asks the child once
   * @param hangs called once, with how in words
   */
  constructor(ms: number, ask: () => void, hangs: (how: string) => void, clock?: Clock) {
    this.#most = Math.ceil(ms / beatMs);
    this.#hangs = hangs;
    const missed = Math.min(this.#most, longestSilence / beatMs);
    const silent = () => hangs(`it did not answer for ${spelled(missed * beatMs)}`);
    this.#heartbeat = new Heartbeat(ask, silent, { beatMs, missed }, clock);
    if (ms === 0) this.end();
  }

  /** The child answered. @param work what its engines are at */
  answered(work: readonly EngineReport[]): void {
    this.#heartbeat.answered();
    const before = this.#seen;
    this.#seen = new Map(work.map((report) => [report.what, seenAgain(report, before)]));
    for (const [what, { times }] of this.#seen) {
      if (times < this.#most) continue;
      this.end();
      this.#hangs(`${what} did not get on for ${spelled(times * beatMs)}`);
      return;
    }
  }

  /** Asks no more. */
  end(): void {
    this.#heartbeat.end();
  }
}

function seenAgain({ what, moves }: EngineReport, before: ReadonlyMap<string, Seen>): Seen {
  const last = before.get(what);
  return { moves, times: last?.moves === moves ? last.times + 1 : 0 };
}
