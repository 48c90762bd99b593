/** How the core sees whatever runs models. */

import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Handle } from "./call.js";
import type { CallSignal } from "./cancellation.js";
import type { BackendMethod } from "./methods.js";

/**
 * The methods that a backend can do. Derived from the generated descriptors, so
 * that a change of the contract is a compile error in every backend. Of the two
 * forms of an operation one is enough: the core makes the other out of it.
 */
export type Handlers = { readonly [M in BackendMethod]?: Handle<M> };

/**
 * A model server, or an engine in this process.
 *
 * A handler gets a valid request with every default filled in, and the name by
 * which the backend knows the model in `model` or `model_id`. Image requests
 * carry one prompt, unless the model reads `|` itself; images are answered
 * inline in `Media.data`.
 */
export interface Backend {
  /** Name in the configuration, unique. */
  readonly name: string;
  /** Begins costly work in the background; called once callers can be answered. */
  start?(): void;
  /** The models that it serves now. The same array as long as nothing changed. */
  models(): readonly Model[];
  /** Whether `models` has only those that the configuration names, as the server's own list was not read yet. Default: no. */
  incomplete?(): boolean;
  /** What a name stands for that leaves out what names may here, such as Ollama's tag; else `undefined`. */
  fullName?(name: string): string | undefined;
  /**
   * Waits until a model that is being loaded can answer, or throws why it can't.
   * With an empty or incomplete list of models: until the list is known, whatever the name.
   */
  ready?(model: string, signal: CallSignal): Promise<void>;
  /** How often the process ended that its models run in, though nobody asked it to; absent: they run in none. */
  exits?(): EngineExits;
  readonly handlers: Handlers;
  /** Resolves if the backend could take a call now, throws a `LintelError` otherwise. */
  health(signal: CallSignal): Promise<void>;
  /** Frees what the backend holds; running calls are aborted. */
  close(): Promise<void>;
}

/** How often a process of engines ended, by how: the watchdog killed it for hanging, or any other way. */
export interface EngineExits {
  readonly hung: number;
  readonly ended: number;
}

/** Whether a backend has said which models it has; until then it may have any. */
export const hasListed = (backend: Backend): boolean =>
  backend.models().length > 0 && !backend.incomplete?.();
