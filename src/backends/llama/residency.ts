/** Something costly that is there while it is wanted: loaded when first borrowed, freed on demand. */

import { unlessAborted } from "../../core/abort.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import type { ResidentState } from "../resident.js";

/** How to come by it, and how to be rid of it. */
export interface ResidencyOptions<T> {
  load(): Promise<T>;
  free(value: T): Promise<void>;
  /** Told of each change; of a failure with the reason. */
  onState(state: ResidentState, failure?: unknown): void;
  /** After a failure it is not tried again for so long, milliseconds. */
  readonly retryMs: number;
}

/** Loads once for all who borrow; frees when nobody borrows. */
export class Residency<T> {
  readonly #options: ResidencyOptions<T>;
  #value: Promise<T> | undefined;
  #state: ResidentState = "idle";
  #borrowers = 0;
  /** Who waits until it has left, to have it loaded again. */
  #returning = 0;
  #leaving: Promise<void> | undefined;
  #empty: () => void = () => {};
  #failure: { readonly error: unknown; readonly at: number } | undefined;
  #closed = false;

  constructor(options: ResidencyOptions<T>) {
    this.#options = options;
  }

  get state(): ResidentState {
    return this.#state;
  }

  /** How many have it, or wait for it. */
  get calls(): number {
    return this.#borrowers + this.#returning;
  }

  /**
   * Gets it, loaded. To be given back if this resolves.
   * @throws what loading throws, the signal's reason, or LintelError `shutting_down`
   */
  async borrow(signal: CallSignal): Promise<T> {
    await this.#left(signal, () => this.#borrowers++);
    try {
      return await unlessAborted(this.#load(), signal);
    } catch (error) {
      this.giveBack();
      throw error;
    }
  }

  /** Gives back what was borrowed. */
  giveBack(): void {
    this.#borrowers--;
    if (this.#borrowers === 0) this.#empty();
  }

  /** Loads it, or waits until it is loaded. */
  async load(): Promise<void> {
    await this.#left(never);
    await this.#load();
  }

  /** Frees it once those who have it, or wait for it now, gave it back. */
  unload(): Promise<void> {
    this.#leaving ??= this.#leave().finally(() => {
      this.#leaving = undefined;
    });
    return this.#leaving;
  }

  /** Frees it for good. Those who have it must be about to give it back. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#empty();
    await this.#leaving;
    const value = await this.#value?.catch(() => undefined);
    if (value === undefined) return;
    await this.#options.free(value);
    // Who reckons with its memory may know it for longer than its backend lasts.
    this.#become("idle");
  }

  /** @param then called at once: between that and what follows this, it may begin to leave again */
  async #left(signal: CallSignal, then: () => void = () => {}): Promise<void> {
    this.#returning++;
    try {
      while (this.#leaving) await unlessAborted(this.#leaving, signal);
      then();
    } finally {
      this.#returning--;
    }
  }

  #load(): Promise<T> {
    if (this.#closed) return Promise.reject(unloading());
    if (this.#failure && performance.now() - this.#failure.at < this.#options.retryMs) {
      return Promise.reject(this.#failure.error);
    }
    this.#value ??= this.#begin();
    return this.#value;
  }

  async #begin(): Promise<T> {
    this.#failure = undefined;
    this.#become("loading");
    try {
      const value = await this.#options.load();
      this.#become("ready");
      return value;
    } catch (error) {
      this.#failure = { error, at: performance.now() };
      this.#value = undefined;
      this.#become("failed", error);
      throw error;
    }
  }

  async #leave(): Promise<void> {
    if (this.#borrowers > 0) {
      await new Promise<void>((resolve) => {
        this.#empty = resolve;
      });
    }
    const value = await this.#value?.catch(() => undefined);
    if (value === undefined || this.#closed) return;
    this.#value = undefined;
    await this.#options.free(value);
    this.#become("idle");
  }

  #become(state: ResidentState, failure?: unknown): void {
    this.#state = state;
    this.#options.onState(state, failure);
  }
}

const never = new AbortController().signal;

/** The error for calls of a model that goes for good. */
export const unloading = () => new LintelError("shutting_down", "the model is being unloaded");
