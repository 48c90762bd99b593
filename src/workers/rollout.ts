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
  /** None listens, so that a configuration has to wait for one that does. */
  waits(): void;
}

/** Hands configurations to workers, one after the other. */
export class Rollout {
  readonly #takers: Takers;
  #config: Config;
  /** Ends when none is being handed over. */
  #turn: Promise<unknown> = Promise.resolve();
  #stopped = false;
  /** Goes on with what waits for one that listens. */
  #goOn: () => void = () => {};

  constructor(config: Config, takers: Takers) {
    this.#config = config;
    this.#takers = takers;
  }

  /** What holds now, also for those that are started later. */
  get config(): Config {
    return this.#config;
  }

  /**
   * Hands another configuration to all of them, after those that are being handed over. Where all
   * are being started, it waits for the first that listens.
   * @throws LintelError `shutting_down`; Error if it can't be used: the one before stays
   */
  reload(config: Config): Promise<Reloaded> {
    const reloaded = this.#turn.then(() => this.#reload(config));
    this.#turn = reloaded.catch(() => {});
    return reloaded;
  }

  /** One listens: hands what holds now to it, where it began under something else. */
  async catchUp(slot: Slot): Promise<void> {
    this.#goOn();
    if (!takes(slot) || slot.config === this.#config) return;
    const reply = await this.#handOver(slot, this.#config);
    if (reply) this.#note(reply);
  }

  /** All of them are to end: hands over nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#goOn();
  }

  async #reload(config: Config): Promise<Reloaded> {
    const { slots, waits } = this.#takers;
    for (;;) {
      if (this.#stopped) throw shuttingDown();
      const asked = slots.map((slot) => this.#handOver(slot, config));
      const replies = (await Promise.all(asked)).filter((reply) => reply !== undefined);
      const taken = replies.find(({ reloaded }) => reloaded);
      if (taken?.reloaded) {
        this.#config = taken.config;
        for (const reply of replies) this.#note(reply);
        // Those that began to listen meanwhile were not asked.
        await Promise.all(slots.map((slot) => this.catchUp(slot)));
        return taken.reloaded;
      }
      const [refusal] = replies;
      if (refusal) throw new Error(refusal.refused);
      if (this.#stopped || slots.some(takes)) continue;
      waits();
      await new Promise<void>((resolve) => {
        this.#goOn = resolve;
      });
    }
  }

  async #handOver(slot: Slot, config: Config): Promise<Handed | undefined> {
    if (slot.leaves) return undefined;
    const reply = await this.#takers.ask(slot, (id) => ({ lintel: "reload", id, config }));
    if (reply?.lintel !== "reloaded") return undefined;
    // One that is about to end has nothing to say about a configuration.
    return reply.reloaded || reply.refused !== undefined ? { slot, ...reply } : undefined;
  }

  #note({ slot, reloaded, refused }: Handed): void {
    if (reloaded) slot.config = this.#config;
    // Else it began to leave meanwhile.
    else if (!slot.leaves && !this.#stopped) this.#takers.refused(slot, refused);
  }
}

const takes = (slot: Slot) => slot.listens && !slot.leaves;
