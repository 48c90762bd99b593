/** Which models there are, under which names, and where they run. */
import { type Model, State, Task } from "../../gen/lintel/v1/models_pb.js";
import type { Backend, Target } from "./backend.js";
import { LintelError } from "./errors.js";
import type { CoreSettings, ModelSettings } from "./settings.js";

/** Where a name leads. */
export interface Found {
  /** The name, with the default filled in. */
  readonly name: string;
  /** At least one, in order of preference. */
  readonly targets: readonly Target[];
  readonly settings: ModelSettings | undefined;
}

/** The models of all backends, by the names that callers use. */
export class Catalogue {
  readonly #backends: readonly Backend[];
  readonly #settings: CoreSettings;
  readonly #entries: ReadonlyMap<string, ModelSettings>;

  constructor(backends: readonly Backend[], settings: CoreSettings) {
    this.#backends = backends;
    this.#settings = settings;
    this.#entries = new Map(settings.models.map((entry) => [entry.name, entry]));
  }

  /**
   * Finds a model.
   * @param name as the caller gave it; empty means the default for the task
   * @throws LintelError `model_not_found`
   */
  find(name: string, task: Task): Found {
    const wanted = name === "" ? this.#defaultFor(task) : name;
    const settings = this.#entries.get(wanted);
    const targets = this.#targets(wanted, settings);
    const fitting = targets.filter((target) => target.model.task === task);
    if (fitting.length > 0) return { name: wanted, targets: fitting, settings };
    const param = task === Task.CHAT ? "model" : "model_id";
    const message =
      targets.length > 0
        ? `the model ${JSON.stringify(wanted)} ${task === Task.CHAT ? "does not chat" : "does not make images"}`
        : `there is no model ${JSON.stringify(wanted.slice(0, 200))}`;
    throw new LintelError("model_not_found", message, { param });
  }

  /** Backends that have not said yet which models they have, or can't be asked. */
  silent(): readonly Backend[] {
    return this.#backends.filter((backend) => backend.ready && backend.models().length === 0);
  }

  /** Every model under its public name, by name. `allowed` leaves models out. */
  list(allowed: (name: string) => boolean): Model[] {
    const defaults = new Set([
      this.#defaultOrNone(Task.CHAT),
      this.#defaultOrNone(Task.TEXT_TO_IMAGE),
    ]);
    const names = new Set<string>(this.#entries.keys());
    for (const backend of this.#backends) for (const model of backend.models()) names.add(model.id);
    const models: Model[] = [];
    for (const name of [...names].filter(allowed).sort()) {
      const targets = this.#targets(name, this.#entries.get(name));
      const best = targets.find(({ model }) => model.state === State.READY) ?? targets[0];
      if (best) models.push({ ...best.model, id: name, isDefault: defaults.has(name) });
    }
    return models;
  }

  #targets(name: string, entry: ModelSettings | undefined): Target[] {
    const upstream = entry?.model ?? name;
    const backends = entry?.backends
      ? entry.backends.map((b) => this.#backends.find(({ name }) => name === b))
      : this.#backends;
    const targets: Target[] = [];
    for (const backend of backends) {
      const model = backend?.models().find(({ id }) => id === upstream);
      if (backend && model) targets.push({ backend, model });
    }
    return targets;
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
    for (const backend of this.#backends) {
      const model = backend.models().find((m) => m.task === task);
      if (model) return model.id;
    }
    return undefined;
  }
}
