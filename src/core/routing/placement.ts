/** From an entry of the configuration to its targets: which backends have what it leads to. */
import { type Model, State } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../backend.js";
import type { ModelSettings } from "../settings.js";
import type { Behind } from "./behind.js";
import type { Endpoint } from "./endpoint.js";
import { fill, type Named } from "./names.js";
import type { TargetSettings } from "./settings.js";
import type { Target } from "./target.js";

/** Where models run. */
export class Placement {
  readonly #backends: readonly Backend[];
  readonly #endpoint: (backend: string, model: string) => Endpoint;

  /** @param endpoint what is known of a model on a backend */
  constructor(
    backends: readonly Backend[],
    endpoint: (backend: string, model: string) => Endpoint,
  ) {
    this.#backends = backends;
    this.#endpoint = endpoint;
  }

  /** What a backend has; nothing where there is none of that name. */
  modelsOf(backend: string): readonly Model[] {
    return this.#backends.find(({ name }) => name === backend)?.models() ?? [];
  }

  /** Where an entry is served, with full names; the short form is one target for each backend. */
  settingsOf({ name, targets, backends, model }: ModelSettings): readonly TargetSettings[] {
    const names = backends ?? this.#backends.map(({ name }) => name);
    const settings = targets ?? names.map((backend, priority) => ({ backend, model, priority }));
    return settings.map((target) => this.#inFull(target, target.model ?? model ?? name));
  }

  /** A name that the backend lists only in full is written so. */
  #inFull(target: TargetSettings, wanted: string): TargetSettings {
    const backend = this.#backends.find(({ name }) => name === target.backend);
    const full = backend?.fullName?.(wanted);
    if (!backend || full === undefined) return target;
    const has = (name: string) => backend.models().some(({ id }) => id === name);
    return !has(wanted) && has(full) ? { ...target, model: full } : target;
  }

  /** The targets of a name that are there now, by tier. */
  targetsOf(named: Named): Target[] {
    return this.#build(this.settingsOf(named.entry), named);
  }

  /** Those of a model that no entry leads to, by tier: every backend that has it, in their order. */
  bare(name: string, behind: Behind): Target[] {
    const everywhere = this.#backends
      .map(({ name }, priority) => ({ backend: name, priority }))
      .filter(({ backend }) => behind.nameOf(backend, name) === undefined);
    return this.#build(everywhere, { name, entry: undefined });
  }

  #build(
    settings: readonly TargetSettings[],
    { name, entry, rest }: Omit<Named, "entry"> & { entry: ModelSettings | undefined },
  ): Target[] {
    const targets: (Omit<Target, "tier"> & { readonly rank: number })[] = [];
    for (const { backend: at, model: upstream = entry?.model, ...more } of settings) {
      const backend = this.#backends.find((it) => it.name === at);
      const id = upstream === undefined ? name : fill(upstream, rest);
      const model = backend?.models().find((it) => it.id === id);
      if (!backend || !model) continue;
      const endpoint = this.#endpoint(backend.name, id);
      for (const { maxInFlight } of [more, entry ?? {}]) {
        if (maxInFlight !== undefined) endpoint.bound(maxInFlight);
      }
      endpoint.allow(more);
      const away = model.state === State.LOADING || model.state === State.FAILED;
      // Models that answer come first; the others are tried when those fail.
      const rank = (away ? 1e9 : 0) + (more.priority ?? 0);
      targets.push({ backend, model, endpoint, weight: more.weight ?? 1, rank });
    }
    targets.sort((a, b) => a.rank - b.rank);
    // Two patterns may lead one name to the same place, which counts once, where it is best.
    const places = new Set<Endpoint>();
    return targets
      .filter(({ endpoint }) => !places.has(endpoint) && places.add(endpoint))
      .map(({ rank, ...target }) => ({ ...target, tier: rank }));
  }
}
