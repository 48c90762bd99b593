/** Names of models as the operator wrote them: aliases, and wildcards. */
import { restOf } from "../pattern.js";
import type { ModelSettings } from "../settings.js";

/** Which entry a name leads to. */
export interface Named {
  readonly entry: ModelSettings;
  /** Name under which the call counts: the one that was asked for, unless that is an alias. */
  readonly name: string;
  /** What the `*` fits, where a wildcard led here. */
  readonly rest?: string | undefined;
  /** That wildcard, where it is an alias. */
  readonly alias?: string | undefined;
}

/** A name with one `*` in it, which stands for anything. */
interface Wildcard {
  readonly pattern: string;
  readonly entry: ModelSettings;
  /** The entry's name if this is an alias of it. */
  readonly canonical: string | undefined;
}

/** Puts what a `*` fits in place of another one. */
export function fill(pattern: string, rest: string | undefined): string {
  // Not `replace`: what it is replaced by may have a `$` in it.
  return rest === undefined ? pattern : pattern.split("*").join(rest);
}

/**
 * The name under which an entry leads to a model of a backend.
 * @param name the entry's
 * @param upstream what the entry, or its target, calls models at the backend
 * @param id the backend's name of the model
 * @returns `undefined`: it does not lead there
 */
export function nameOver(name: string, upstream: string, id: string): string | undefined {
  if (upstream === id) return name;
  const rest = restOf(upstream, id);
  return rest === undefined ? undefined : fill(name, rest);
}

/** Finds entries by the names that callers use. */
export class Names {
  readonly #exact = new Map<string, Named>();
  readonly #wildcards: Wildcard[] = [];

  constructor(entries: readonly ModelSettings[]) {
    for (const entry of entries) {
      this.#add(entry.name, entry, undefined);
      for (const alias of entry.aliases ?? []) this.#add(alias, entry, entry.name);
    }
    this.#wildcards.sort((a, b) => b.pattern.length - a.pattern.length);
  }

  /** Names without a wildcard. */
  exact(): Iterable<string> {
    return this.#exact.keys();
  }

  /** Entries whose own name is a wildcard. */
  wildcards(): ModelSettings[] {
    return this.#wildcards.filter((it) => it.canonical === undefined).map((it) => it.entry);
  }

  /** What a name may lead to: the exact entry, or those whose wildcard fits, the longest first. */
  *find(name: string): Iterable<Named> {
    const exact = this.#exact.get(name);
    if (exact) {
      yield exact;
      return;
    }
    for (const { pattern, entry, canonical } of this.#wildcards) {
      const rest = restOf(pattern, name);
      if (rest === undefined) continue;
      if (canonical === undefined) yield { entry, name, rest };
      else yield { entry, name: fill(canonical, rest), rest, alias: pattern };
    }
  }

  #add(name: string, entry: ModelSettings, canonical: string | undefined): void {
    if (name.includes("*")) this.#wildcards.push({ pattern: name, entry, canonical });
    else if (!this.#exact.has(name)) this.#exact.set(name, { entry, name: canonical ?? name });
  }
}
