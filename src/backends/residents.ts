/** Keeps the models of one process under a memory budget: who was not wanted longest leaves. */
import { LintelError } from "../core/errors.js";
import type { Logger } from "../core/log.js";
import type { Admit, Resident } from "./resident.js";

/** The time of a model in memory, from its admission on. */
class Stay {
  end = () => {};
  /** Resolves when it is known to be over. */
  readonly over = new Promise<void>((resolve) => {
    this.end = resolve;
  });
}

/** Which models are in memory. Models that run calls leave when those are over, and not before. */
export class Residents {
  readonly #budget: number;
  readonly #log: Logger;
  /** Those that were admitted, until they are seen to have left. */
  readonly #held = new Map<Resident, Stay>();
  /** Those that are in memory and want more. */
  readonly #growing = new Set<Resident>();
  #turn: Promise<unknown> = Promise.resolve();

  /** @param budget bytes that the models in memory may take together */
  constructor(budget: number, log: Logger) {
    this.#budget = budget;
    this.#log = log;
  }

  /**
   * Makes room for a model, one model after the other; for one that is in memory, and
   * whose call may be what another waits for, at once.
   * @throws LintelError `model_not_loaded` if it is larger than the budget, `overloaded` if others
   *   that are in memory want more at the same time
   */
  readonly admit: Admit = (resident) => {
    if (resident.state === "ready") return this.#grow(resident);
    // It is not in memory, whatever was known: until its turn comes nobody may wait for it,
    // and who does so already, maybe with a turn, need not.
    this.#forget(resident);
    const turn = this.#turn.then(() => this.#makeRoom(resident));
    this.#turn = turn.catch(() => {});
    return turn;
  };

  async #makeRoom(resident: Resident): Promise<void> {
    if (resident.bytes > this.#budget) throw tooLarge(resident, this.#budget);
    for (;;) {
      const inMemory = this.#inMemory();
      const [next] = inMemory;
      if (bytesOf(inMemory) + resident.bytes <= this.#budget || !next) break;
      await this.#leave(next, resident);
    }
    this.#held.set(resident, new Stay());
  }

  async #grow(resident: Resident): Promise<void> {
    if (resident.bytes > this.#budget) throw tooLarge(resident, this.#budget);
    this.#growing.add(resident);
    try {
      for (;;) {
        const inMemory = this.#inMemory();
        if (bytesOf(inMemory) <= this.#budget) return;
        // Two that want more, each with a call that runs, would wait for each other.
        const next = inMemory.find((one) => !this.#growing.has(one));
        if (!next) throw noRoom(resident);
        await this.#leave(next, resident);
      }
    } finally {
      this.#growing.delete(resident);
    }
  }

  async #leave(next: Resident, { id }: Resident): Promise<void> {
    this.#log.info({ model: next.id, for: id, calls: next.calls }, "model leaves memory");
    const stay = this.#held.get(next);
    await Promise.race([left(next), stay?.over]);
    // Whoever wants it back asks again; and one that does not leave is not asked twice.
    if (this.#held.get(next) === stay) this.#forget(next);
  }

  #forget(resident: Resident): void {
    this.#held.get(resident)?.end();
    this.#held.delete(resident);
  }

  /** The models that take memory, those first that are to leave first. */
  #inMemory(): Resident[] {
    for (const one of this.#held.keys()) {
      if (one.state === "idle" || one.state === "failed") this.#forget(one);
    }
    const busy = ({ calls, state }: Resident) => Number(calls > 0 || state === "loading");
    return [...this.#held.keys()].sort((a, b) => busy(a) - busy(b) || a.lastUsed - b.lastUsed);
  }
}

/**
 * What is asked before a model of this process is loaded.
 * @param budget bytes that the models in memory may take together; absent: whatever they take
 */
export const admitWithin = (budget: number | undefined, log: Logger): Admit | undefined =>
  budget === undefined ? undefined : new Residents(budget, log).admit;

async function left(next: Resident): Promise<void> {
  // One that can't be loaded takes no memory.
  if (next.state === "loading") await next.load().catch(() => {});
  await next.unload();
}

const bytesOf = (residents: readonly Resident[]) =>
  residents.reduce((sum, { bytes }) => sum + bytes, 0);

const tooLarge = ({ id, bytes }: Resident, budget: number) =>
  new LintelError(
    "model_not_loaded",
    `${id}: the model needs about ${inMb(bytes)} MB of memory, more than the memory budget of ${inMb(budget)} MB`,
  );

const noRoom = ({ id }: Resident) =>
  new LintelError("overloaded", `${id}: the memory budget has no room for more now`);

const inMb = (bytes: number) => Math.ceil(bytes / 1e6);
