/** What a kind of backend is to the configuration and the wiring. */
import type { Backend } from "../core/backend.js";
import type { Logger } from "../core/log.js";
import type { Admit, LoadWatch } from "./resident.js";

/** What a backend gets besides its own configuration. */
export interface BackendContext {
  readonly log: Logger;
  /** Asked before a model is loaded into memory; absent: all may be. */
  readonly admit?: Admit | undefined;
  /** Has an eye on loads; absent: nobody has. */
  readonly watch?: LoadWatch | undefined;
  /** Folder for models that are fetched by name; absent: none are. */
  readonly downloads?: string | undefined;
}

/**
 * A kind of backend: how one is made of its entry in the configuration, whose schema
 * `config/kinds.ts` has. Modules of a kind are light to import: engines load inside of it.
 */
export type CreateBackend<C> = (config: C, context: BackendContext) => Backend;
