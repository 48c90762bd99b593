/** What configuration holds for all workers, and who of them has taken it over. */
import type { Config } from "../config/schema.js";
import { shuttingDown } from "../core/errors.js";
import type { Reloaded } from "../reloading.js";
import type { ToPrimary, ToWorker } from "./messages.js";
import type { Slot } from "./slot.js";

type Reply = Extract<ToPrimary, { readonly id: number }>;
type Handed = { readonly slot: Slot } & Extract<Reply, { readonly lintel: "reloaded" }>;

/** The workers, as far as configurations are handed to them. */
export interface Takers {
  readonly slots: readonly Slot[];
  /** Asks one that listens; `undefined` if it does not, or ends. */
  ask(slot: Slot, question: (id: number) => ToWorker): Promise<Reply | undefined>;
  /** One could not take over what the others did. */
  refused(slot: Slot, problem: string | undefined): void;
  /** Whether all of them are to end. */
  closing(): boolean;
}

/** Hands configurations to workers, one after the other. */
export class Rollout {
  readonly #takers: Takers;
  #config: Config;
  /** Ends when none is being handed over. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(config: Config, takers: Takers) {
    this.#config = config;
    this.#takers = takers;
  }

  /** What holds now, also for those that are started later. */
  get config(): Config {
    return this.#config;
  }

  /**
   * Hands another configuration to all of them, after those that are being handed over.
   * @throws LintelError `shutting_down`; Error if it can't be used: the one before stays
   */
  reload(config: Config): Promise<Reloaded> {
    const reloaded = this.#turn.then(() => this.#reload(config));
    this.#turn = reloaded.catch(() => {});
    return reloaded;
  }

  /** Hands what holds now to one that listens under something else. */
  async catchUp(slot: Slot): Promise<void> {
    if (!slot.listens || slot.config === this.#config) return;
    const reply = await this.#handOver(slot, this.#config);
    if (reply) this.#note(reply);
  }

  async #reload(config: Config): Promise<Reloaded> {
    const { slots, closing } = this.#takers;
    if (closing()) throw shuttingDown();
    const asked = slots.map((slot) => this.#handOver(slot, config));
    const replies = (await Promise.all(asked)).filter((reply) => reply !== undefined);
    const taken = replies.find(({ reloaded }) => reloaded);
    if (!taken?.reloaded) {
      const [refusal] = replies;
      throw new Error(refusal?.refused ?? "no worker runs just now");
    }
    this.#config = taken.config;
    for (const reply of replies) this.#note(reply);
    // Those that began to listen meanwhile were not asked.
    await Promise.all(slots.map((slot) => this.catchUp(slot)));
    return taken.reloaded;
  }

  async #handOver(slot: Slot, config: Config): Promise<Handed | undefined> {
    if (slot.leaves) return undefined;
    const reply = await this.#takers.ask(slot, (id) => ({ lintel: "reload", id, config }));
    return reply?.lintel === "reloaded" ? { slot, ...reply } : undefined;
  }

  #note({ slot, reloaded, refused }: Handed): void {
    if (reloaded) slot.config = this.#config;
    // Else it began to leave meanwhile.
    else if (!slot.leaves) this.#takers.refused(slot, refused);
  }
}
