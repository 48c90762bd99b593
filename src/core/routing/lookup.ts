/** Where names lead, remembered for as long as backends say the same. */
import type { Model } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../backend.js";
import { restOf } from "../pattern.js";
import type { ModelSettings } from "../settings.js";
import { Behind } from "./behind.js";
import { fill, Names } from "./names.js";
import type { Placement } from "./placement.js";
import type { TargetSettings } from "./settings.js";
import type { Target } from "./target.js";

/** Where a name leads. */
export interface Found {
  /** The name, with the default filled in; of an alias, what it stands for. */
  readonly name: string;
  /** By tier; none where nothing has the name. */
  readonly targets: readonly Target[];
  readonly settings: ModelSettings | undefined;
  /** The entry's own name, a wildcard, where whatever fits it leads to the same model; else absent. */
  readonly countedAs?: string | undefined;
  /** The alias with a `*` that led there; else absent. */
  readonly alias?: string | undefined;
}

/** Names whose targets are remembered; callers may ask for any number of them. */
const mostRemembered = 4096;

/** Characters of the longest name of a model; what fits a wildcard is remembered, counted and logged. */
const longestName = 512;

const isBounded = ({ maxInFlight, requestsPerMinute, tokensPerMinute }: TargetSettings) =>
  (maxInFlight ?? requestsPerMinute ?? tokensPerMinute) !== undefined;

/** What is found by each name. */
export class Lookup {
  readonly #backends: readonly Backend[];
  readonly #entries: readonly ModelSettings[];
  readonly #names: Names;
  readonly #placement: Placement;
  /** Whether some entry bounds what is in flight, or asked in a minute. */
  readonly #bounded: boolean;
  /** What backends said last; as long as they say the same, what was found still holds. */
  #lists: (readonly Model[])[] = [];
  #behind = new Behind();
  readonly #found = new Map<string, Found>();
  #allLookedUp = false;

  constructor(
    backends: readonly Backend[],
    entries: readonly ModelSettings[],
    placement: Placement,
  ) {
    this.#backends = backends;
    this.#entries = entries;
    this.#names = new Names(entries);
    this.#placement = placement;
    this.#bounded = entries.some(
      ({ maxInFlight, targets = [] }) => maxInFlight !== undefined || targets.some(isBounded),
    );
  }

  /** Forgets what was found once a backend says something else than before. @returns whether one does */
  refresh(): boolean {
    let same = this.#lists.length === this.#backends.length;
    for (let i = 0; same && i < this.#backends.length; i++) {
      same = this.#lists[i] === this.#backends[i]?.models();
    }
    if (same) return false;
    this.#lists = this.#backends.map((backend) => backend.models());
    this.#found.clear();
    this.#allLookedUp = false;
    this.#behind = new Behind();
    for (const entry of this.#entries) {
      for (const { backend, model } of this.#placement.settingsOf(entry)) {
        const upstream = model ?? entry.model ?? entry.name;
        this.#behind.add(entry.name, upstream, backend, this.#placement.modelsOf(backend));
      }
    }
    // Calls by one name count against what another name bounds.
    if (this.#bounded) this.findAll();
    return true;
  }

  /** Where a name leads; to no targets where nothing has it. */
  find(name: string): Found {
    if (name.length > longestName) return { name, targets: [], settings: undefined };
    const remembered = this.#found.get(name);
    if (remembered) return remembered;
    let found: Found | undefined;
    for (const named of this.#names.find(name)) {
      const targets = this.#placement.targetsOf(named);
      const countedAs = this.#leadsToOne(named.entry) ? named.entry.name : undefined;
      const { name, alias, entry: settings } = named;
      found = { name, targets, settings, countedAs, alias };
      // A wildcard may lead nowhere where a shorter one, or a backend itself, has the model.
      if (targets.length > 0 || named.rest === undefined) break;
    }
    if (!found || found.targets.length === 0) {
      const listed = found && this.#entries.some((entry) => entry.name === found?.name);
      const bare = listed ? [] : this.#placement.bare(name, this.#behind);
      if (bare.length > 0 || !found) found = { name, targets: bare, settings: undefined };
      if (bare.length === 0 && !listed) found = this.#inFull(name) ?? found;
    }
    if (found.targets.length > 0) {
      if (this.#found.size >= mostRemembered) this.#found.clear();
      this.#found.set(name, found);
    }
    return found;
  }

  /** Where the name leads for which some backend takes this one: as an alias, it counts as that. */
  #inFull(name: string): Found | undefined {
    for (const backend of this.#backends) {
      const full = backend.fullName?.(name);
      const found = full === undefined ? undefined : this.find(full);
      if (found?.targets.some((target) => target.backend === backend)) return found;
    }
    return undefined;
  }

  /** Whether an entry with a wildcard has a target whose model is the same for every name. */
  #leadsToOne(entry: ModelSettings): boolean {
    if (!entry.name.includes("*")) return false;
    return this.#placement
      .settingsOf(entry)
      .some(({ model = entry.model }) => model !== undefined && !model.includes("*"));
  }

  /** Finds what each public name leads to. */
  findAll(): void {
    if (this.#allLookedUp) return;
    for (const name of this.publicNames()) this.find(name);
    this.#allLookedUp = true;
  }

  /** Names under which something is served: of a wildcard, those that its backends have something for. */
  publicNames(): Set<string> {
    const names = new Set(this.#names.exact());
    for (const name of this.firstNames()) names.add(name);
    for (const entry of this.#names.wildcards()) {
      for (const { backend, model = entry.name } of this.#placement.settingsOf(entry)) {
        for (const { id } of this.#placement.modelsOf(backend)) {
          const rest = restOf(model, id);
          if (rest !== undefined) names.add(fill(entry.name, rest));
        }
      }
    }
    return names;
  }

  /** A name for each model of each backend, in their order; a wildcard where only such a one leads there. */
  firstNames(): string[] {
    return this.#backends.flatMap((backend) =>
      backend.models().map(({ id }) => this.#behind.nameOf(backend.name, id) ?? id),
    );
  }
}
