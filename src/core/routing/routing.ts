/** Where calls go: everything about it that outlives a call. */
import type { Backend } from "../backend.js";
import type { Call, Handle } from "../call.js";
import { areToldAhead, type DocumentReader, toldAhead } from "../documents.js";
import { deferred, iterable } from "../iterate.js";
import type { Price } from "../limits/settings.js";
import type { Logger } from "../log.js";
import type { SafetyChecker } from "../media.js";
import type { Bounds, CoreSettings } from "../settings.js";
import { RetryBudget } from "./budget.js";
import { Catalogue } from "./catalogue.js";
import { HealthChecks } from "./checks.js";
import { type Clock, systemClock } from "./clock.js";
import { counting } from "./counting.js";
import { Dispatch } from "./dispatch.js";
import { Endpoint } from "./endpoint.js";
import { Mirrors } from "./mirrors.js";
import { PeerExchange, type Peers, targetKey } from "./peers.js";
import { QuotaUses } from "./quota.js";
import type { HedgeSettings, RouteTimeouts, RoutingSettings } from "./settings.js";
import { Shares } from "./shares.js";
import { type RoutingSnapshot, snapshotOf } from "./snapshot.js";

/** Endpoints above whose number those of models that no server lists any more are forgotten. */
const manyEndpoints = 1000;

/** What a dispatch uses of it. */
export interface RoutingTools {
  readonly settings: RoutingSettings;
  /** Of request fields. */
  readonly bounds: Bounds;
  /** Of calls, and of mirrored ones; first match counts. */
  readonly prices: readonly Price[];
  /** Reads documents to models that take no files; absent: nobody does. */
  readonly documents: DocumentReader | undefined;
  readonly budget: RetryBudget;
  readonly clock: Clock;
  readonly random: () => number;
  /** Absent: no model has any. */
  readonly mirrors: Mirrors | undefined;
  /** What holds for the call's model. */
  timeoutsOf(call: Call): RouteTimeouts;
  hedgeOf(call: Call): HedgeSettings | undefined;
}

/** What routing is made of. */
export interface RoutingParts {
  readonly settings: CoreSettings;
  /** In order of preference where several have the same model. */
  readonly backends: readonly Backend[];
  readonly log: Logger;
  /** Absent: only models check images, those that can. */
  readonly checker?: SafetyChecker | undefined;
  /** Absent: models that take no files are told none. */
  readonly documents?: DocumentReader | undefined;
  /** What calls cost, and mirrored ones; first match counts. Absent: nothing has a price. */
  readonly prices?: readonly Price[] | undefined;
  /** Other gateways that serve the same models; absent: none. */
  readonly peers?: Peers | undefined;
  /** What was used of targets' quotas under an earlier configuration; absent: nothing. */
  readonly quotaUses?: QuotaUses | undefined;
  /** Routing's time. Default: the process's. */
  readonly clock?: Clock | undefined;
  /** Routing's chance, from 0 to below 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The end of the chain, and what it learnt of its targets. */
export class Routing implements RoutingTools {
  readonly settings: RoutingSettings;
  readonly bounds: Bounds;
  readonly prices: readonly Price[];
  readonly documents: DocumentReader | undefined;
  readonly budget: RetryBudget;
  readonly clock: Clock;
  readonly random: () => number;
  readonly mirrors: Mirrors | undefined;
  /** Hands a call to its targets until one gives a message. */
  readonly route: Handle = (call) => {
    const { documents } = this;
    if (!documents || !areToldAhead(call)) return this.#dispatch(call);
    return deferred(async () => this.#dispatch(await toldAhead(call, documents)));
  };
  /** Counts the tokens of a call's prompt. */
  readonly count: Handle = counting(this);
  /** Which models there are, and where. */
  readonly catalogue: Catalogue;
  readonly #log: Logger;
  readonly #backends: readonly Backend[];
  readonly #endpoints = new Map<string, Endpoint>();
  #many = manyEndpoints;
  readonly #quotaUses: QuotaUses;
  readonly #checks: HealthChecks | undefined;
  readonly #exchange: PeerExchange | undefined;
  readonly #timeouts = new Map<object, RouteTimeouts>();

  constructor({
    settings,
    backends,
    log,
    checker,
    documents,
    prices = [],
    peers,
    quotaUses = new QuotaUses(),
    clock = systemClock,
    random = Math.random,
  }: RoutingParts) {
    this.settings = settings.routing;
    this.bounds = settings.bounds;
    this.prices = prices;
    this.documents = documents;
    this.budget = new RetryBudget(settings.routing.retry);
    this.clock = clock;
    this.random = random;
    this.#backends = backends;
    this.#log = log;
    this.#quotaUses = quotaUses;
    for (const model of settings.models) {
      if (model.timeouts) {
        this.#timeouts.set(model, { ...settings.routing.timeouts, ...known(model.timeouts) });
      }
    }
    const endpoint = (...at: [string, string]) => this.#endpoint(...at);
    this.catalogue = new Catalogue(backends, settings, endpoint, checker !== undefined);
    this.mirrors = settings.models.some(({ mirrors = [] }) => mirrors.length > 0)
      ? new Mirrors(this, {
          settings,
          backends,
          prices,
          log,
          known: (place) => this.#endpoints.get(targetKey(place)),
        })
      : undefined;
    const { check } = settings.routing.health;
    this.#checks = check && new HealthChecks(check, backends, this, log);
    this.#exchange = peers && new PeerExchange(peers.join(), () => this.#all(), clock, log);
  }

  /** Begins to ask backends how they are, where that is configured, and to tell others of it. */
  start(): void {
    this.#checks?.start();
    this.#exchange?.start();
  }

  /** Others' calls come from now on: it tells nothing more, and asks as long as calls wait. */
  retire(): void {
    this.#checks?.retire();
    this.#exchange?.close();
  }

  /** Stops asking and telling. */
  close(): void {
    this.#checks?.close();
    this.#exchange?.close();
  }

  /** What is known of a backend's models, as targets and as mirrors. */
  endpointsOf(backend: string): Endpoint[] {
    const all = [...this.#all(), ...(this.mirrors?.endpoints() ?? [])];
    return all.filter((endpoint) => endpoint.backend === backend);
  }

  timeoutsOf({ method, modelSettings }: Call): RouteTimeouts {
    const own = modelSettings && this.#timeouts.get(modelSettings);
    if (own) return own;
    const { timeouts } = this.settings;
    // What is right for tokens would cut off pictures.
    return method === "chat" ? timeouts : { connect: timeouts.connect };
  }

  hedgeOf({ modelSettings }: Call): HedgeSettings | undefined {
    return modelSettings?.hedge ?? this.settings.hedge;
  }

  /** How every place where a model is served is now. */
  snapshot(): RoutingSnapshot {
    const now = this.clock.now();
    const told = (endpoints: Iterable<Endpoint>) =>
      [...endpoints]
        .map((endpoint) => snapshotOf(endpoint, now))
        .sort((a, b) => order(a.backend, b.backend) || order(a.model, b.model));
    return {
      endpoints: told(this.#all()),
      mirrors: told(this.mirrors?.endpoints() ?? []),
      retries: this.budget.snapshot(now),
    };
  }

  #dispatch(call: Call): ReturnType<Handle> {
    return iterable(() => new Dispatch(call, this));
  }

  /** What is known of a model on a backend; all who ask for it share it. */
  #endpoint(backend: string, model: string): Endpoint {
    const key = targetKey({ backend, model });
    const made = this.#endpoints.get(key);
    if (made) return made;
    if (this.#endpoints.size >= this.#many) this.#forgetUnlisted();
    const shares = this.#exchange && new Shares();
    const endpoint = new Endpoint(
      backend,
      model,
      this.settings.health,
      this,
      {
        out: ({ backend, model }, forMs, reason) => {
          const told = { backend, model, forMs: Math.round(forMs), reason };
          this.#log.warn(told, "a target was taken out");
          this.#exchange?.hurry();
        },
        back: ({ backend, model }) => this.#log.info({ backend, model }, "a target is back"),
      },
      { shares, use: () => this.#quotaUses.of(key) },
    );
    if (this.settings.maxInFlight !== undefined) endpoint.bound(this.settings.maxInFlight);
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }

  /** Lists of models may change for ever, such as by adapters that are loaded and unloaded. */
  #forgetUnlisted(): void {
    const listed = new Set(
      this.#backends.flatMap((backend) =>
        backend.models().map(({ id }) => targetKey({ backend: backend.name, model: id })),
      ),
    );
    for (const [key, { inFlight, queue }] of this.#endpoints) {
      if (!listed.has(key) && inFlight + queue.size === 0) this.#endpoints.delete(key);
    }
    this.#many = Math.max(manyEndpoints, 2 * this.#endpoints.size);
  }

  #all(): Endpoint[] {
    // They are made when a name that leads to them is looked up.
    this.catalogue.lookUpAll();
    return [...this.#endpoints.values()];
  }
}

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Without what is not set, which would hide what is set for all. */
const known = (timeouts: RouteTimeouts): RouteTimeouts =>
  Object.fromEntries(Object.entries(timeouts).filter(([, ms]) => ms !== undefined));
