/** Models of backends that stand behind entries. */
import type { Model } from "../../../gen/lintel/v1/models_pb.js";
import { nameOver } from "./names.js";

/** Which they are. Callers reach them by the entries' names alone: limits and prices go by those. */
export class Behind {
  readonly #names = new Map<string, Map<string, string>>();

  /**
   * Notes which models an entry leads to at a backend.
   * @param name the entry's
   * @param upstream what the entry calls models at the backend
   */
  add(name: string, upstream: string, backend: string, models: readonly Model[]): void {
    for (const { id } of models) {
      const over = nameOver(name, upstream, id);
      // A wildcard that has every model's own name hides none of the others.
      if (over === undefined || (over === id && name.includes("*"))) continue;
      const names = this.#names.get(backend) ?? new Map<string, string>();
      this.#names.set(backend, names);
      if (!names.has(id)) names.set(id, over);
    }
  }

  /** The name over a model, the first where there are several, which may be its own; `undefined`: no entry has it. */
  nameOf(backend: string, id: string): string | undefined {
    return this.#names.get(backend)?.get(id);
  }
}
