/** What a kind of backend is to the configuration and the wiring. */
import type { z } from "zod";
import type { Backend } from "../core/backend.js";
import type { Logger } from "../core/log.js";
import type { Admit } from "./resident.js";

/** What a backend gets besides its own configuration. */
export interface BackendContext {
  readonly log: Logger;
  /** Asked before a model is loaded into memory; absent: all may be. */
  readonly admit?: Admit | undefined;
  /** Folder for models that are fetched by name; absent: none are. */
  readonly downloads?: string | undefined;
}

/**
 * A kind of backend: the schema of its entry in the configuration (with the
 * literal `type` that selects it), and how one is made of such an entry.
 * Modules of a kind are light to import: engines load inside of `create`.
 */
export interface BackendKind<S extends z.ZodObject> {
  readonly schema: S;
  create(config: z.output<S>, context: BackendContext): Backend;
}
