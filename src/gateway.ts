/** The one place of wiring: configuration -> backends -> core -> doors -> addresses. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BackendContext } from "./backends/kind.js";
import { Residents } from "./backends/residents.js";
import { changeOf } from "./config/changes.js";
import { countingSettings } from "./config/limits.js";
import type { Config } from "./config/schema.js";
import { appSettings, doorSettings, listenOptions } from "./config/settings.js";
import { stateSettings } from "./config/state.js";
import { operatorSettings, telemetrySettings } from "./config/telemetry.js";
import type { Core } from "./core/core.js";
import { CurrentCore } from "./core/current.js";
import type { Logger } from "./core/log.js";
import { doors } from "./doors/index.js";
import { metrics } from "./doors/watch.js";
import { Blurring } from "./media/blurring.js";
import { openMedia } from "./media/open.js";
import { type Operator, openOperator } from "./operator.js";
import { type Listener, localUrl } from "./server/listen.js";
import { type Serving, serve } from "./serving.js";
import { type Closable, type SetUpBackend, type Setup, type Stores, setUp } from "./setup.js";
import { openCounting } from "./state/counting.js";
import { defaultStateDirectory } from "./state/directory.js";
import { openState } from "./state/open.js";
import { openTelemetry } from "./telemetry/open.js";
import { version } from "./version.js";

/** A gateway that runs. */
export interface RunningGateway {
  readonly core: Core;
  /** What holds now. */
  readonly config: Config;
  /** The backends with their entries of the configuration, in its order. */
  readonly backends: readonly SetUpBackend[];
  readonly listeners: readonly Listener[];
  /**
   * Takes over another configuration. Calls that run end under the one they began
   * under; what only that one has is closed after them. One reload at a time.
   * @throws Error if it can't be used: the one before stays as it was
   */
  reload(config: Config): Promise<Reloaded>;
  /**
   * Shuts down: refuses new calls, lets running ones end in their own time, then
   * closes everything. Always resolves.
   * @param graceMs after which running calls are aborted, milliseconds
   */
  close(graceMs: number): Promise<void>;
}

/** What a reload did. */
export interface Reloaded {
  /** Sections that apply now. */
  readonly changed: readonly string[];
  /** Sections that differ, and apply after a restart. */
  readonly restart: readonly string[];
  /** Names of backends. One whose entry changed is in both. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Starts a gateway. It listens at once; models load in the background, and calls
 * wait for theirs.
 * @throws as Node does if an address can't be listened on, and Error if a file
 *   of the configuration can't be read; nothing runs on then
 */
export async function start(config: Config, log: Logger): Promise<RunningGateway> {
  let base = config.public_url ?? "";
  const stores = await openStores(config, () => base, log);
  let setup: Setup;
  let serving: Serving;
  let operator: Operator | undefined;
  let core: CurrentCore;
  const settings = { ...doorSettings(config) };
  let { tls } = listenOptions(config)[0] ?? {};
  /** Those that still answer calls. */
  const live = new Set<Setup>();
  const retire = async (old: Setup) => {
    live.delete(old);
    const used = new Set<Closable>([...live].flatMap(({ parts }) => parts));
    const closing = old.parts.filter((part) => !used.has(part));
    await Promise.all(closing.map(async (part) => part.close()));
  };
  const { telemetry, counting, state } = stores;
  const everyDoor =
    config.telemetry.prometheus === true && telemetry?.prometheus
      ? [...doors, metrics(telemetry.prometheus)]
      : doors;
  try {
    setup = await setUp(config, stores);
    live.add(setup);
    core = new CurrentCore(setup.core);
    telemetry?.observe({
      running: () => core.readiness.running,
      routing: () => core.routing.snapshot(),
      limits: counting.limits,
      tokens: state.tokens,
      usage: state.usage,
    });
    operator = await openOperator(operatorSettings(config), telemetry, log);
    const listen = listenOptions(config);
    const app = appSettings(config);
    serving = await serve({
      core,
      doors: everyDoor,
      doorSettings: settings,
      appSettings: app,
      listen,
    });
  } catch (error) {
    await operator?.close();
    for (const one of live) await retire(one);
    await closeStores(stores);
    throw error;
  }
  base ||= localUrl(serving.listeners.find(({ port }) => port > 0)?.url ?? "http://localhost");
  for (const part of setup.made) part.start?.();
  core.routing.start();
  state.start();

  let closed: Promise<void> | undefined;
  const apply = async (wanted: Config): Promise<Reloaded> => {
    const before = setup;
    const { config: next, changed, restart } = changeOf(before.config, wanted);
    const renewed = listenOptions(next)[0]?.tls;
    const after = await setUp(next, stores, before);
    if (closed) {
      await Promise.all(after.made.map(async (part) => part.close()));
      throw new Error("the gateway is shutting down");
    }
    live.add(after);
    setup = after;
    for (const part of after.made) part.start?.();
    core
      .replace(after.core)
      .then(() => retire(before))
      .catch((err) => log.error({ err }, "a part of the configuration before can't be closed"));
    const { bodyLimit: _atStart, ...times } = doorSettings(next);
    Object.assign(settings, times);
    const certificate = renewed !== undefined && !isDeepStrictEqual(renewed, tls);
    if (renewed && certificate) {
      for (const listener of serving.listeners) listener.renew(renewed);
      tls = renewed;
    }
    return {
      changed: [...changed, ...(certificate ? ["tls (certificate)"] : [])],
      restart,
      added: namesWithout(after, before),
      removed: namesWithout(before, after),
    };
  };
  let turn: Promise<unknown> = Promise.resolve();
  return {
    core,
    get config() {
      return setup.config;
    },
    get backends() {
      return setup.backends;
    },
    listeners: serving.listeners,
    reload(wanted) {
      const reloaded = turn.then(() => apply(wanted));
      turn = reloaded.catch(() => {});
      return reloaded;
    },
    close(graceMs) {
      closed ??= (async () => {
        await serving.close(graceMs);
        await turn;
        await operator?.close();
        core.routing.close();
        for (const one of live) await retire(one);
        await closeStores(stores);
      })();
      return closed;
    },
  };
}

/** Backends that one setup has and the other has not, or not the same. */
const namesWithout = (one: Setup, other: Setup) =>
  one.backends.filter((entry) => !other.backends.includes(entry)).map((entry) => entry.config.name);

/** @throws whatever opening a store throws; those that are open are closed then */
async function openStores(config: Config, baseUrl: () => string, log: Logger): Promise<Stores> {
  const open: Closable[] = [];
  const own = <T extends Closable>(store: T): T => {
    open.unshift(store);
    return store;
  };
  try {
    // Before images, which are kept below: an error names the folder that was asked for.
    const state = own(await openState(stateSettings(config), log));
    const media = own(await openMedia(mediaConfig(config), baseUrl, log));
    const counting = own(await openCounting(countingSettings(config), log, state.usage));
    const providers = new Map<string, string>();
    const telemetry = await openTelemetry(telemetrySettings(config, providers, version()), log);
    const context = backendContext(config, log);
    const blurring = new Blurring();
    return { log, media, blurring, state, counting, context, telemetry, providers };
  } catch (error) {
    for (const store of open) await store.close();
    throw error;
  }
}

async function closeStores(stores: Stores): Promise<void> {
  const { media, blurring, counting, state, telemetry } = stores;
  await telemetry?.close();
  await blurring.close();
  await media.close();
  await counting.close();
  await state.close();
}

/** What all backends share. */
const backendContext = ({ memory_budget, state }: Config, log: Logger): BackendContext => ({
  log,
  admit: memory_budget === undefined ? undefined : new Residents(memory_budget, log).admit,
  downloads: join(state.directory ?? defaultStateDirectory(), "models"),
});

/** Images are kept beside everything else, unless they have a folder of their own. */
function mediaConfig({ media, state }: Config): Config["media"] {
  const { directory = state.directory && join(state.directory, "media") } = media;
  return { ...media, directory };
}
