/** The one place of wiring: configuration -> backends -> core -> doors -> addresses. */
import type { FastifyPluginAsync } from "fastify";
import { certificateEnds } from "./certificates.js";
import { cacheStoreSettings } from "./config/cache.js";
import { backendCertificates } from "./config/certificate-warnings.js";
import { countingSettings } from "./config/limits.js";
import type { Config } from "./config/schema.js";
import { appSettings, listenOptions } from "./config/settings.js";
import { operatorSettings } from "./config/telemetry.js";
import type { Core } from "./core/core.js";
import type { Logger } from "./core/log.js";
import type { MetricsForm } from "./core/telemetry.js";
import { type Served, webConsole } from "./doors/console.js";
import { doors } from "./doors/index.js";
import { operations } from "./doors/operations.js";
import type { SignIns } from "./doors/sign-in.js";
import { metrics as metricsAt } from "./doors/watch.js";
import { type Operator, openOperator } from "./operator.js";
import { type LastReload, noReload, type Reloaded, Reloading } from "./reloading.js";
import { type Listener, localUrl } from "./server/listen.js";
import { type Serving, serve, serveAdministration } from "./serving.js";
import { type SetUpBackend, setUp } from "./setup.js";
import { closeStores, openStores } from "./stores.js";
import type { Status } from "./telemetry/status.js";

/** A gateway that runs. */
export interface RunningGateway {
  readonly core: Core;
  /** What holds now. */
  readonly config: Config;
  /** The backends with their entries of the configuration, in its order. */
  readonly backends: readonly SetUpBackend[];
  readonly listeners: readonly Listener[];
  /** Where administration alone is served; absent: where everything is, or there is none. */
  readonly adminListeners?: readonly Listener[] | undefined;
  /** Its metrics as Prometheus reads them; absent: they are off. */
  readonly metrics: (() => string) | undefined;
  /** How it stands; absent: nobody may look. */
  readonly status: (() => Status) | undefined;
  /**
   * Takes over another configuration. Calls that run end under the one they began
   * under; what only that one has is closed after them. One reload at a time.
   * @throws Error if it can't be used: the one before stays as it was
   */
  reload(config: Config): Promise<Reloaded>;
  /**
   * Says how a reload went, for metrics: also one of which nothing came here, for the
   * configuration had mistakes.
   */
  reloaded(how: Partial<LastReload>): void;
  /**
   * Shuts down: refuses new calls, lets running ones end in their own time, then
   * closes everything. Always resolves.
   * @param graceMs after which running calls are aborted, milliseconds
   */
  close(graceMs: number): Promise<void>;
}

/** What a gateway is among. */
export interface Surroundings {
  /** The metrics of all processes that serve at the same addresses, as Prometheus reads them. */
  metrics(form: MetricsForm): Promise<string>;
  /** How they stand together; `undefined`: none of them tells. */
  status(): Promise<Status | undefined>;
}

/**
 * Starts a gateway. It listens at once; models load in the background, and calls
 * wait for theirs.
 * @throws as Node does if an address can't be listened on, and Error if a file
 *   of the configuration can't be read; nothing runs on then
 * @param around absent: it is alone
 */
export async function start(
  config: Config,
  log: Logger,
  around?: Surroundings,
): Promise<RunningGateway> {
  const listen = listenOptions(config);
  let base = config.public_url ?? "";
  const at = { counting: countingSettings(config), cache: cacheStoreSettings(config) };
  const stores = await openStores(config, at, () => base, log);
  const { telemetry, counting, cache, media, state } = stores;
  const metrics = telemetry?.prometheus;
  const read = metrics && (around?.metrics ?? metrics);
  let lastReload = noReload;
  let current: Reloading | undefined;
  let operator: Operator | undefined;
  let serving: Serving;
  let apart: Serving | undefined;
  try {
    const stands = around?.status ?? (async () => telemetry?.status?.());
    current = new Reloading(await setUp(config, stores), stores, stands, listen[0]?.tls);
    const { core } = current;
    const now = current;
    telemetry?.observe({
      running: () => core.readiness.running,
      routing: () => core.routing.snapshot(),
      limits: counting.limits,
      budgets: () => core.budgets?.snapshot() ?? [],
      alerts: () => now.setup.alerts?.counts,
      admin: () => now.administration?.calls(),
      engines: () => enginesOf(now.setup.backends),
      answers: counting.answers,
      cache: cache.connection,
      images: media.state,
      tokens: state.tokens,
      usage: state.usage,
      workers: config.workers,
      issuers: () => now.setup.issuers?.states() ?? [],
      lastReload: () => lastReload,
      certificates: () =>
        certificateEnds({
          "tls.cert": now.tls?.cert,
          "tls.client_ca": now.tls?.clientCa,
          ...backendCertificates(now.setup.config),
          // Of connections to Redis, which last until the end.
          "state.redis.tls.cert": at.counting.redis?.tls?.cert,
          "cache.redis.tls.cert": at.cache.redis?.tls?.cert,
        }),
    });
    const { administration, doorSettings } = current;
    const health: FastifyPluginAsync = (app) =>
      operations(app, { gateway: core, settings: doorSettings });
    const ways = { own: metrics, all: read, status: telemetry?.status, health };
    operator = await openOperator(operatorSettings(config), ways, log);
    const adminListen = config.admin?.listen;
    if (administration && adminListen) {
      const addresses = listenOptions(config, adminListen, listen[0]?.tls);
      const more = config.console.enabled ? [webConsole(["administration"])] : [];
      const served = { core, doors: more, doorSettings, administration, listen: addresses };
      apart = await serveAdministration(served);
    }
    serving = await serve({
      core,
      doors: doorsOf(
        config,
        apart || !administration ? ["calls"] : ["calls", "administration"],
        () => now.setup.signIns,
        read,
      ),
      doorSettings,
      administration: apart ? undefined : administration,
      appSettings: appSettings(config),
      listen,
    });
  } catch (error) {
    await apart?.close(0);
    await operator?.close();
    await current?.close();
    await closeStores(stores);
    throw error;
  }
  const { listeners } = serving;
  base ||= localUrl(listeners.find(({ port }) => port > 0)?.url ?? "http://localhost");
  const reloading = current;
  const adminListeners = apart?.listeners;
  reloading.start([...listeners, ...(adminListeners ?? [])]);
  state.start();
  let closed: Promise<void> | undefined;
  return {
    core: reloading.core,
    get config() {
      return reloading.setup.config;
    },
    get backends() {
      return reloading.setup.backends;
    },
    listeners,
    adminListeners,
    metrics,
    status: telemetry?.status,
    reload: (wanted) => reloading.reload(wanted),
    reloaded(how) {
      lastReload = { ...lastReload, ...how };
    },
    close(graceMs) {
      closed ??= (async () => {
        reloading.stop();
        await Promise.all([serving.close(graceMs), apart?.close(graceMs)]);
        await operator?.close();
        await reloading.close();
        await closeStores(stores);
      })();
      return closed;
    },
  };
}

/** Those of the backends whose models run in a process of their own. */
const enginesOf = (backends: readonly SetUpBackend[]) =>
  backends.flatMap(({ backend }) => {
    const exits = backend.exits?.();
    return exits ? [{ backend: backend.name, exits }] : [];
  });

/** Metrics are among the doors where they have no address of their own, the console where it is on. */
function doorsOf(
  config: Config,
  served: readonly Served[],
  signIns: () => SignIns | undefined,
  text: ((form: MetricsForm) => string | Promise<string>) | undefined,
) {
  return [
    ...doors,
    ...(config.console.enabled ? [webConsole(served, signIns)] : []),
    ...(config.telemetry.prometheus === true && text ? [metricsAt(text)] : []),
  ];
}
