/** Notices a process that hangs: it is there, and does nothing any more. */
import { type Clock, systemClock } from "./core/routing/clock.js";

/** How it is looked after. */
export interface HeartbeatTimes {
  /** Time between two questions, milliseconds. */
  readonly beatMs: number;
  /** Questions without an answer after which it hangs. */
  readonly missed: number;
}

/** Values of the product: half a minute, as nobody works for that long without looking up. */
export const heartbeatTimes: HeartbeatTimes = { beatMs: 5000, missed: 6 };

/**
 * Asks a process again and again whether it is there. What counts is how often it did not
 * answer, not for how long: while the machine sleeps, or all processes are stopped, nobody asks.
 */
export class Heartbeat {
  readonly #cancel: () => void;
  #missed = 0;

  /**
   * @param ask asks it once
   * @param hangs called once, when it did not answer too often
   */
  constructor(
    ask: () => void,
    hangs: () => void,
    { beatMs, missed }: HeartbeatTimes,
    clock: Clock = systemClock,
  ) {
    const timer = clock.after(beatMs, () => {
      if (this.#missed >= missed) return hangs();
      this.#missed++;
      ask();
      timer.refresh();
    });
    this.#cancel = () => timer.cancel();
  }

  /** It answered, be it with something else. */
  answered(): void {
    this.#missed = 0;
  }

  end(): void {
    this.#cancel();
  }
}
