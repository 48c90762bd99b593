/**
 * Models that can leave memory and come back: what a memory budget works with.
 * A backend whose models can do that is a `ResidentBackend`; how many may be in
 * memory at once is for others to decide, through `BackendContext.admit`.
 */
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../core/backend.js";
import type { EngineProgress } from "./engine-progress.js";

/** Where a model is: not in memory, on its way there, there, or it can't get there. */
export type ResidentState = "idle" | "loading" | "ready" | "failed";

/** The same for the list of models. */
export const residentStates = {
  idle: State.IDLE,
  loading: State.LOADING,
  ready: State.READY,
  failed: State.FAILED,
} as const satisfies Record<ResidentState, State>;

/** A model that can't be loaded is tried again by a call that comes so much later, milliseconds. */
export const retryMs = 10_000;

/** A model that can be loaded and unloaded. */
export interface Resident {
  /** Name of the model. */
  readonly id: string;
  readonly state: ResidentState;
  /** Bytes of memory that it takes, or is about to take, about. */
  readonly bytes: number;
  /** When a call last wanted it, milliseconds of `performance.now()`, which no set clock moves; 0: never. */
  readonly lastUsed: number;
  /** Calls that run or wait. */
  readonly calls: number;
  /**
   * Loads it, or waits until it is loaded.
   * @throws LintelError `model_not_loaded` that says why it can't be loaded
   */
  load(): Promise<void>;
  /**
   * Frees its memory, once the calls that run or wait now are over. The next
   * call loads it again. Nothing happens if it is not loaded.
   */
  unload(): Promise<void>;
}

/** Called before a model is loaded, or takes more; makes room, and resolves when it may. */
export type Admit = (resident: Resident) => Promise<void>;

/** Watches engines: those that come upon something wrong may end the whole process, or never come back. */
export interface LoadWatch {
  /** @throws LintelError `model_not_loaded` if loading the files at the path did so before, again and again */
  check(model: string, path: string): void;
  /**
   * Does that part of a load that may.
   * @param load is given what to call whenever it gets on
   */
  load<T>(model: string, path: string, load: (moved: () => void) => Promise<T>): Promise<T>;
  /** Where the engine of a model tells what it does once it is loaded; asked for once. */
  progress(model: string): EngineProgress;
}

/** A backend that says which of its models can leave memory. */
export interface ResidentBackend extends Backend {
  readonly residents: readonly Resident[];
}
