/** Which models there are, and under which names. */
import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import type { Sought } from "../authenticate.js";
import { type Backend, hasListed } from "../backend.js";
import { LintelError, noModel } from "../errors.js";
import { askedModel, type Input, isCoreMethod, type MethodName } from "../methods.js";
import { checked, checks, configured } from "../model.js";
import { fits } from "../pattern.js";
import type { CoreSettings, ModelSettings } from "../settings.js";
import type { Endpoint } from "./endpoint.js";
import { type Found, Lookup } from "./lookup.js";
import { Placement } from "./placement.js";

/** Whether a model may be used by who looks at the list. */
type Allowed = (sought: Sought) => boolean;

/** The models of all backends, by the names that callers use. */
export class Catalogue {
  readonly #backends: readonly Backend[];
  readonly #settings: CoreSettings;
  readonly #checksImages: boolean;
  readonly #placement: Placement;
  readonly #lookup: Lookup;
  /** Whether some model has a time of its own. */
  readonly #timed: boolean;
  /** As long as backends say the same. */
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
    this.#placement = new Placement(backends, endpoint);
    this.#lookup = new Lookup(backends, settings.models, this.#placement);
    this.#timed = settings.models.some(({ timeouts }) => timeouts?.total !== undefined);
  }

  /**
   * Finds a model.
   * @param wanted as the caller named it, else the default for the task
   * @throws LintelError `model_not_found`
   */
  find(wanted: string, task: Task): Found {
    this.#refresh();
    const found = this.#lookup.find(wanted);
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

  /**
   * The name that an empty one stands for.
   * @throws LintelError `model_not_found`: there is none
   */
  defaultFor(task: Task): string {
    this.#refresh();
    const name = this.#defaultOrNone(task);
    if (name !== undefined) return name;
    throw new LintelError(
      "model_not_found",
      task === Task.CHAT ? "no chat model is configured" : "no image model is configured",
    );
  }

  /** The name by which calls of a model count; `undefined`: there is none that is called so. */
  counted(name: string): string | undefined {
    this.#refresh();
    const found = this.#lookup.find(name);
    return found.targets.length > 0 ? found.name : undefined;
  }

  /** Longest time that a call may take, milliseconds. */
  totalMs<M extends MethodName>(method: M, request: Input<M>): number {
    const { totalTimeoutMs } = this.#settings;
    if (!this.#timed || isCoreMethod(method)) return totalTimeoutMs;
    const { task, name: asked } = askedModel(method, request);
    this.#refresh();
    const name = asked || this.#defaultOrNone(task);
    if (name === undefined) return totalTimeoutMs;
    return this.#lookup.find(name).settings?.timeouts?.total ?? totalTimeoutMs;
  }

  /** Backends that have not said yet which models they have, or can't be asked. */
  silent(): readonly Backend[] {
    return this.#backends.filter((backend) => backend.ready && !hasListed(backend));
  }

  /**
   * Entries that lead to no model. What backends that have said nothing yet will
   * have is not known: entries for these are left out.
   */
  leadingNowhere(): readonly ModelSettings[] {
    return this.#settings.models.filter((entry) =>
      this.#placement.settingsOf(entry).every(({ backend, model = entry.model ?? entry.name }) => {
        const there = this.#backends.find(({ name }) => name === backend);
        return !there || (hasListed(there) && !there.models().some(({ id }) => fits(model, id)));
      }),
    );
  }

  /** Mirrors whose backends have no such model, as far as they have said which they have. */
  mirrorsNowhere(): {
    readonly model: string;
    readonly backend: string;
    readonly mirror: string;
  }[] {
    return this.#settings.models.flatMap((entry) =>
      (entry.mirrors ?? []).flatMap(({ backend, model = entry.model ?? entry.name }) => {
        const there = this.#backends.find(({ name }) => name === backend);
        const models = there?.models() ?? [];
        if (there && !hasListed(there)) return [];
        const names = [model, there?.fullName?.(model)].filter((name) => name !== undefined);
        const known = models.some(({ id }) => names.some((name) => fits(name, id)));
        return known ? [] : [{ model: entry.name, backend, mirror: model }];
      }),
    );
  }

  /** Image models that check no images themselves, by the names under which their calls count. */
  unchecked(): { readonly model: string; readonly backend: string }[] {
    this.#refresh();
    const founds = [...this.#lookup.publicNames()].map((name) => this.#lookup.find(name));
    // Under an alias there is nothing else.
    const counted = new Map(founds.map((found) => [found.name, found]));
    return [...counted.values()]
      .flatMap(({ name, targets }) => targets.map((target) => ({ name, target })))
      .filter(({ target: { model } }) => model.task === Task.TEXT_TO_IMAGE && !checks(model))
      .map(({ name, target }) => ({ model: name, backend: target.backend.name }));
  }

  /** Looks up what has a public name, so that the endpoints of all targets are known. */
  lookUpAll(): void {
    this.#refresh();
    this.#lookup.findAll();
  }

  /** Every model under its public names, by name. `allowed` leaves models out. */
  list(allowed: Allowed): Model[] {
    this.#refresh();
    const names = [...this.#lookup.publicNames()].sort();
    return names.map((name) => this.describe(name, allowed)).filter((model) => model !== undefined);
  }

  /** The model that calls by this name get, also where a wildcard fits it; `undefined`: none. */
  describe(name: string, allowed: Allowed): Model | undefined {
    this.#refresh();
    const { name: canonical, targets, settings, alias } = this.#lookup.find(name);
    if (!allowed({ name: canonical, asked: name, alias })) return undefined;
    const best = targets.find(({ model }) => model.state === State.READY) ?? targets[0];
    if (!best || name.includes("*")) return undefined;
    const isDefault =
      name === this.#defaultOrNone(Task.CHAT) || name === this.#defaultOrNone(Task.TEXT_TO_IMAGE);
    const model = configured(best.model, settings, this.#settings);
    return { ...(this.#checksImages ? checked(model) : model), id: name, isDefault };
  }

  /** Looks whether what was found still holds. */
  #refresh(): void {
    if (this.#lookup.refresh()) this.#defaults.clear();
  }

  /**
   * The configured default, else the first model of the first backend that has one. A node, whose models are all
   * on its own machine, passes over what could not be loaded; a gateway would ask, and pay, somebody else.
   */
  #defaultOrNone(task: Task): string | undefined {
    const { chat, image } = this.#settings.defaultModels;
    const configured = task === Task.CHAT ? chat : image;
    if (configured) return configured;
    if (!this.#defaults.has(task)) {
      const names = this.#lookup.firstNames();
      const first = (does: (model: Model) => boolean) =>
        names.find((name) => this.#lookup.find(name).targets.some(({ model }) => does(model)));
      const name =
        (this.#settings.servesGateways ? first((model) => isUsable(model, task)) : undefined) ??
        first((model) => model.task === task);
      this.#defaults.set(task, name);
    }
    return this.#defaults.get(task);
  }
}

const isUsable = (model: Model, task: Task) => model.task === task && model.state !== State.FAILED;
