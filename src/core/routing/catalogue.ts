/** Which models there are, and under which names. */
import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../backend.js";
import { LintelError, noModel } from "../errors.js";
import { askedModel, type Input, type MethodName } from "../methods.js";
import { checked, configured } from "../model.js";
import { fits, restOf } from "../pattern.js";
import type { CoreSettings, ModelSettings } from "../settings.js";
import { Behind } from "./behind.js";
import type { Endpoint } from "./endpoint.js";
import { fill, Names } from "./names.js";
import { Placement } from "./placement.js";
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

/** Whether a name may be used; where a wildcard alias leads to it, by that alias. */
type Allowed = (name: string, alias?: string) => boolean;

/** Names whose targets are remembered; callers may ask for any number of them. */
const mostRemembered = 4096;

/** Characters of the longest name of a model; what fits a wildcard is remembered, counted and logged. */
const longestName = 512;

/** The models of all backends, by the names that callers use. */
export class Catalogue {
  readonly #backends: readonly Backend[];
  readonly #settings: CoreSettings;
  readonly #checksImages: boolean;
  readonly #names: Names;
  readonly #placement: Placement;
  /** Whether some entry bounds what is in flight. */
  readonly #bounded: boolean;
  /** Whether some model has a time of its own. */
  readonly #timed: boolean;
  /** What backends said last; as long as they say the same, what was found still holds. */
  #lists: (readonly Model[])[] = [];
  #behind = new Behind();
  readonly #found = new Map<string, Found>();
  #allLookedUp = false;
  readonly #defaults = new Map<Task, string | undefined>();

  /**
   * @param endpoint what is known of a model on a backend
   * @param checksImages whether images are checked here, whichever model made them
   */
  constructor(
    backends: readonly Backend[],
    settings: CoreSettings,
    endpoint: (backend: string, model: string) => Endpoint,
    checksImages: boolean,
  ) {
    this.#backends = backends;
    this.#settings = settings;
    this.#checksImages = checksImages;
    this.#names = new Names(settings.models);
    this.#placement = new Placement(backends, endpoint);
    this.#bounded = settings.models.some(
      ({ maxInFlight, targets = [] }) =>
        maxInFlight !== undefined || targets.some((target) => target.maxInFlight !== undefined),
    );
    this.#timed = settings.models.some(({ timeouts }) => timeouts?.total !== undefined);
  }

  /**
   * Finds a model.
   * @param name as the caller gave it; empty means the default for the task
   * @throws LintelError `model_not_found`
   */
  find(name: string, task: Task): Found {
    this.#refresh();
    const wanted = name === "" ? this.#defaultFor(task) : name;
    const found = this.#lookUp(wanted);
    const [first] = found.targets;
    if (first?.model.task === task) {
      // As a rule all of them do the same.
      if (found.targets.every(({ model }) => model.task === task)) return found;
    }
    const fitting = found.targets.filter(({ model }) => model.task === task);
    if (fitting.length > 0) return { ...found, targets: fitting };
    const param = task === Task.CHAT ? "model" : "model_id";
    if (!first) throw noModel(wanted, param);
    const not = task === Task.CHAT ? "does not chat" : "does not make images";
    const message = `the model ${JSON.stringify(wanted)} ${not}`;
    throw new LintelError("model_not_found", message, { param });
  }

  /** Longest time that a call may take, milliseconds. */
  totalMs<M extends MethodName>(method: M, request: Input<M>): number {
    const { totalTimeoutMs } = this.#settings;
    if (!this.#timed || method === "listModels") return totalTimeoutMs;
    const { task, name: asked } = askedModel(method, request);
    this.#refresh();
    const name = asked || this.#defaultOrNone(task);
    if (name === undefined) return totalTimeoutMs;
    return this.#lookUp(name).settings?.timeouts?.total ?? totalTimeoutMs;
  }

  /** Backends that have not said yet which models they have, or can't be asked. */
  silent(): readonly Backend[] {
    return this.#backends.filter((backend) => backend.ready && backend.models().length === 0);
  }

  /**
   * Entries that lead to no model. What backends that have said nothing yet will
   * have is not known: entries for these are left out.
   */
  leadingNowhere(): readonly ModelSettings[] {
    return this.#settings.models.filter((entry) =>
      this.#placement.settingsOf(entry).every(({ backend, model = entry.model ?? entry.name }) => {
        const there = this.#backends.find(({ name }) => name === backend)?.models();
        return !there || (there.length > 0 && !there.some(({ id }) => fits(model, id)));
      }),
    );
  }

  /** Looks up what has a public name, so that the endpoints of all targets are known. */
  lookUpAll(): void {
    this.#refresh();
    this.#lookUpNames();
  }

  #lookUpNames(): void {
    if (this.#allLookedUp) return;
    for (const name of this.#publicNames()) this.#lookUp(name);
    this.#allLookedUp = true;
  }

  /** Every model under its public names, by name. `allowed` leaves models out. */
  list(allowed: Allowed): Model[] {
    this.#refresh();
    const names = [...this.#publicNames()].sort();
    return names.map((name) => this.describe(name, allowed)).filter((model) => model !== undefined);
  }

  /** The model that calls by this name get, also where a wildcard fits it; `undefined`: none. */
  describe(name: string, allowed: Allowed): Model | undefined {
    this.#refresh();
    const { name: canonical, targets, settings, alias } = this.#lookUp(name);
    if (!allowed(name, alias) && !allowed(canonical)) return undefined;
    const best = targets.find(({ model }) => model.state === State.READY) ?? targets[0];
    if (!best || name.includes("*")) return undefined;
    const isDefault =
      name === this.#defaultOrNone(Task.CHAT) || name === this.#defaultOrNone(Task.TEXT_TO_IMAGE);
    const model = configured(best.model, settings, this.#settings);
    return { ...(this.#checksImages ? checked(model) : model), id: name, isDefault };
  }

  /** Names under which something is served: of a wildcard, those that its backends have something for. */
  #publicNames(): Set<string> {
    const names = new Set(this.#names.exact());
    for (const name of this.#firstNames()) names.add(name);
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
  #firstNames(): string[] {
    return this.#backends.flatMap((backend) =>
      backend.models().map(({ id }) => this.#behind.nameOf(backend.name, id) ?? id),
    );
  }

  #lookUp(name: string): Found {
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
      const listed = found && this.#settings.models.some((entry) => entry.name === found?.name);
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
      const found = full === undefined ? undefined : this.#lookUp(full);
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

  /** Forgets what was found once a backend says something else than before. */
  #refresh(): void {
    let same = this.#lists.length === this.#backends.length;
    for (let i = 0; same && i < this.#backends.length; i++) {
      same = this.#lists[i] === this.#backends[i]?.models();
    }
    if (same) return;
    this.#lists = this.#backends.map((backend) => backend.models());
    this.#found.clear();
    this.#allLookedUp = false;
    this.#defaults.clear();
    this.#behind = new Behind();
    for (const entry of this.#settings.models) {
      for (const { backend, model = entry.model } of this.#placement.settingsOf(entry)) {
        if (model !== undefined) {
          this.#behind.add(entry.name, model, backend, this.#placement.modelsOf(backend));
        }
      }
    }
    // Calls by one name count against what another name bounds.
    if (this.#bounded) this.#lookUpNames();
  }

  #defaultFor(task: Task): string {
    const name = this.#defaultOrNone(task);
    if (name !== undefined) return name;
    throw new LintelError(
      "model_not_found",
      task === Task.CHAT ? "no chat model is configured" : "no image model is configured",
    );
  }

  /** The configured default, else the first model of the first backend that has one. */
  #defaultOrNone(task: Task): string | undefined {
    const { chat, image } = this.#settings.defaultModels;
    const configured = task === Task.CHAT ? chat : image;
    if (configured) return configured;
    if (!this.#defaults.has(task)) {
      const does = ({ model }: { readonly model: Model }) => model.task === task;
      const name = this.#firstNames().find((name) => this.#lookUp(name).targets.some(does));
      this.#defaults.set(task, name);
    }
    return this.#defaults.get(task);
  }
}
