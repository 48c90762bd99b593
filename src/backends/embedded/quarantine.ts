/** Which models the child is not to load for now: those whose loading ended it. */
import type { Logger } from "../../core/log.js";
import { restartPause } from "../../restart-pause.js";
import type { LoadReport, Orders } from "./mark.js";

/** How long a model is held back; each time costs the others' calls. */
const times = {
  firstPause: 20 * 60_000,
  longestPause: 24 * 3_600_000,
};

interface Held {
  readonly stamp: string;
  readonly ending: string;
  readonly until: number;
  /** How often it was held back before. */
  readonly before: number;
}

/**
 * Keeps account of loads over the lives of a child. An engine that comes upon a damaged file, or
 * a device that it can't use, may abort: a model that was being loaded twice in a row when the
 * child ended, the second time alone, is held back, and the others serve.
 */
export class Quarantine {
  readonly #log: Logger;
  /** Those that the child loads now, with the stamps of their files. */
  readonly #loading = new Map<string, string>();
  /** Those that were being loaded when it ended, and have not been loaded since. */
  readonly #suspects = new Map<string, string>();
  readonly #held = new Map<string, Held>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** What the next child is to be told. */
  orders(): Orders {
    const now = performance.now();
    const heldBack = [...this.#held].map(([model, { stamp, ending, until }]) => ({
      model,
      stamp,
      ending,
      ms: Math.max(0, until - now),
    }));
    return { oneByOne: this.#suspects.size > 0, heldBack };
  }

  /** The child says that a load begins, or is over. */
  heard(report: LoadReport): void {
    const { model } = report;
    if (report.lintel === "loading") {
      this.#loading.set(model, report.stamp);
      return;
    }
    this.#loading.delete(model);
    this.#suspects.delete(model);
    this.#held.delete(model);
  }

  /** The child ended, though nobody asked it to. */
  died(ending: string): void {
    const alone = this.#loading.size === 1;
    for (const [model, stamp] of this.#loading) {
      if (alone && this.#suspects.get(model) === stamp) this.#hold(model, stamp, ending);
      this.#suspects.set(model, stamp);
    }
    this.#loading.clear();
  }

  #hold(model: string, stamp: string, ending: string): void {
    const last = this.#held.get(model);
    const before = last?.stamp === stamp ? last.before + 1 : 0;
    const pause = restartPause(before, times);
    this.#held.set(model, { stamp, ending, before, until: performance.now() + pause });
    this.#log.error(
      { node: "embedded", model, ending, pause },
      "loading a model ends the process: it is left out until its files change, or the pause is over",
    );
  }
}
