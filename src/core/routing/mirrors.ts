/**
 * Traffic mirroring: a share of a model's calls goes to another model as well, whose answers
 * nobody sees. What becomes of that is nothing to the call itself.
 */
import { type Model, State } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../backend.js";
import type { Call } from "../call.js";
import type { LintelError } from "../errors.js";
import type { Price } from "../limits/settings.js";
import type { Logger } from "../log.js";
import type { WhyNot } from "../mirrored.js";
import { restOf } from "../pattern.js";
import { Roster } from "../roster.js";
import type { CoreSettings, ModelSettings } from "../settings.js";
import { Endpoint } from "./endpoint.js";
import { MirroredCall } from "./mirrored-call.js";
import { fill } from "./names.js";
import { targetKey } from "./peers.js";
import type { RoutingTools } from "./routing.js";
import { type MirrorSettings, mirrorDefaults } from "./settings.js";
import type { Target } from "./target.js";

/** What mirrors are made of besides routing's own tools. */
export interface MirrorParts {
  readonly settings: CoreSettings;
  readonly backends: readonly Backend[];
  /** First match counts. */
  readonly prices: readonly Price[];
  readonly log: Logger;
  /** What is known of a model on a backend as a target of real calls; `undefined`: none came there. */
  known(place: { backend: string; model: string }): Endpoint | undefined;
}

/** One entry of the configuration, and how many of its calls run. */
export interface Mirror {
  readonly settings: MirrorSettings;
  running: number;
}

/** All mirrors of one core. */
export class Mirrors {
  readonly #tools: RoutingTools;
  readonly #parts: MirrorParts;
  readonly #mirrors = new Map<ModelSettings, readonly Mirror[]>();
  /** Their own: what becomes of mirrored calls takes no target out, and no place at one. */
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #running = new Roster<MirroredCall>();
  #refused = false;

  constructor(tools: RoutingTools, parts: MirrorParts) {
    this.#tools = tools;
    this.#parts = parts;
    for (const model of parts.settings.models) {
      const mirrors = model.mirrors?.filter(({ share }) => share !== 0) ?? [];
      if (mirrors.length === 0) continue;
      this.#mirrors.set(
        model,
        mirrors.map((settings) => ({ settings, running: 0 })),
      );
    }
  }

  /** A call is sent to its first target. Never throws, and asks nobody before the call itself does. */
  begin(call: Call): void {
    const { modelSettings } = call;
    const mirrors = modelSettings && this.#mirrors.get(modelSettings);
    if (!mirrors || this.#refused) return;
    for (const mirror of mirrors) {
      const { share = mirrorDefaults.share } = mirror.settings;
      if (share < 1 && this.#tools.random() >= share) continue;
      const mirrored = new MirroredCall(call, mirror, this, this.#tools, this.#parts);
      this.#running.add(mirrored);
      // The first comes before what this turn of the event loop writes, the second behind it.
      setImmediate(() => setImmediate(() => void this.#run(mirrored, mirror)));
    }
  }

  /** Where a mirror is asked, or why it is not. */
  placeOf({ settings }: Mirror, call: Call): Target | WhyNot {
    const name = this.nameOf(settings, call);
    const backend = this.#parts.backends.find((it) => it.name === settings.backend);
    const has = (id: string | undefined) => backend?.models().find((model) => model.id === id);
    const model = has(name) ?? has(backend?.fullName?.(name));
    if (!backend || !model) return "no_model";
    const { targets = [] } = call;
    if (targets.some((target) => target.backend === backend && target.model.id === model.id)) {
      return "unfit";
    }
    if (targets.some((target) => target.model.task !== model.task)) return "unfit";
    if (model.state === State.LOADING || model.state === State.FAILED) return "out";
    const place = { backend: backend.name, model: model.id };
    const now = this.#tools.clock.now();
    const real = this.#parts.known(place);
    const endpoint = this.#endpoint(place);
    // Whoever runs it counts the mirrored calls with the others.
    endpoint.quota = real?.quota;
    if (!endpoint.usable(now) || real?.usable(now) === false) return "out";
    // Those who come later shall not have to wait, nor those who do wait for longer.
    if (real?.hasRoom(now) === false) return "full";
    return targetAt(backend, model, endpoint);
  }

  /** Name by which a mirror's backend knows the model, as far as the configuration says. */
  nameOf({ model }: MirrorSettings, { modelSettings, attributes }: Call): string {
    const entry = modelSettings as ModelSettings;
    const asked = attributes.model ?? entry.name;
    const upstream = model ?? entry.model;
    return upstream === undefined ? asked : fill(upstream, restOf(entry.name, asked));
  }

  /** The same for metrics: with its `*` where callers can give the call's model any number of names. */
  countedName(settings: MirrorSettings, call: Call): string {
    if (call.attributes.countedAs === undefined) return this.nameOf(settings, call);
    const entry = call.modelSettings as ModelSettings;
    return settings.model ?? entry.model ?? entry.name;
  }

  /** How the mirrors are that were asked. */
  endpoints(): Iterable<Endpoint> {
    return this.#endpoints.values();
  }

  /** Mirrors nothing more, and aborts what is mirrored. */
  refuse(reason: LintelError): void {
    this.#refused = true;
    this.abort(reason);
  }

  abort(reason: LintelError): void {
    for (const mirrored of this.#running) mirrored.abort(reason);
  }

  /** Resolves once nothing is mirrored. */
  idle(): Promise<void> {
    return this.#running.none();
  }

  async #run(mirrored: MirroredCall, mirror: Mirror): Promise<void> {
    try {
      await mirrored.run();
    } catch (err) {
      this.#parts.log.error({ err, backend: mirror.settings.backend }, "a call can't be mirrored");
    } finally {
      this.#running.delete(mirrored);
    }
  }

  #endpoint(place: { readonly backend: string; readonly model: string }): Endpoint {
    const key = targetKey(place);
    const made = this.#endpoints.get(key);
    if (made) return made;
    const { log, settings } = this.#parts;
    const endpoint = new Endpoint(
      place.backend,
      place.model,
      settings.routing.health,
      this.#tools,
      {
        out: (_, forMs, reason) =>
          log.warn({ ...place, forMs: Math.round(forMs), reason }, "a mirror was taken out"),
        back: () => log.info(place, "a mirror is back"),
      },
    );
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }
}

const targetAt = (backend: Backend, model: Model, endpoint: Endpoint): Target => ({
  backend,
  model,
  endpoint,
  weight: 1,
  tier: 0,
});
