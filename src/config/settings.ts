/** What the configuration means to the core, to the doors and to the server. */

import { servedFields, usableCertificates } from "../certificates.js";
import { passHeadersOf } from "../core/routing/pass-headers.js";
import type { Bounds, CoreSettings, ModelSettings } from "../core/settings.js";
import { clientBy } from "../doors/client-address.js";
import { type DoorSettings, doorDefaults } from "../doors/door.js";
import { forwardedBy } from "../doors/forwarded.js";
import type { AppSettings, ListenOptions, TlsSettings } from "../server/settings.js";
import { authSettings } from "./auth.js";
import { cacheSettings } from "./cache.js";
import { modelRoutingSettings } from "./model-routing.js";
import type { ListenAddress } from "./quantities.js";
import { routingSettings } from "./routing.js";
import type { Config } from "./schema.js";

/** The core's part of the configuration. */
export function coreSettings(config: Config): CoreSettings {
  const { auth, models, timeouts, safety } = config;
  return {
    auth: authSettings(auth),
    administrators: config.admin?.tokens.map(({ hash }) => hash),
    bounds: boundsOf(config),
    imageHosts: config.image_hosts,
    defaultModels: config.default_models,
    models: models.map(modelSettings),
    totalTimeoutMs: timeouts.total,
    safetyAction: safety.action,
    safetyOnFailure: safety.on_failure,
    routing: routingSettings(config.routing, timeouts, passHeadersOf(passing(config))),
    cache: cacheSettings(config),
    callLog: { sample: config.log.sample, content: config.log.content },
    exposeSources: config.expose_sources,
  };
}

const modelSettings = (entry: Config["models"][number]): ModelSettings => {
  const { max_tokens, context_length, max_in_flight, reasoning_effort, cache_ttl, ...model } =
    entry;
  return {
    ...model,
    ...modelRoutingSettings({ ...model, max_in_flight }),
    maxTokens: max_tokens,
    contextLength: context_length,
    reasoningEffort: reasoning_effort,
    cacheTtlMs: cache_ttl,
  };
};

/** The backends that are told headers of callers, and which. */
const passing = ({ backends = [] }: Config) =>
  backends.flatMap((entry): [string, string[]][] =>
    "pass_headers" in entry && entry.pass_headers.length > 0
      ? [[entry.name, entry.pass_headers]]
      : [],
  );

/** The doors' part of the configuration. */
export function doorSettings(config: Config): DoorSettings {
  return {
    ...doorDefaults,
    bodyLimit: config.body_limit,
    holdMs: config.timeouts.first_message,
    keepAliveMs: config.timeouts.keep_alive,
    // What the operator says goes before what proxies say.
    baseUrlOf: config.public_url === undefined ? forwardedBy(config.trust_proxy) : undefined,
    clientOf: clientBy(config.trust_proxy),
    bounds: boundsOf(config),
  };
}

const boundsOf = ({ bounds }: Config): Bounds =>
  Object.fromEntries(Object.entries(bounds).filter((entry) => entry[1] !== undefined));

/** The app's part of the configuration. */
export function appSettings(config: Config): AppSettings {
  const { origins } = config.cors;
  return {
    bodyLimit: config.body_limit,
    corsOrigins: origins.includes("*") ? "*" : origins.length > 0 && origins,
  };
}

function servedCertificates({ cert, key, client_ca }: NonNullable<Config["tls"]>): TlsSettings {
  const read = usableCertificates("tls", { ca: client_ca, cert, key }, servedFields);
  return { cert: read.cert ?? "", key: read.key ?? "", clientCa: read.ca };
}

/**
 * The listeners' part of the configuration.
 * @param addresses where to listen. Default: where the gateway does
 * @param tls the certificate, where it was read before. Default: what its files hold now
 * @throws Error if the certificate or its key can't be used
 */
export function listenOptions(
  config: Config,
  addresses: readonly ListenAddress[] = config.listen,
  tls = config.tls && servedCertificates(config.tls),
): ListenOptions[] {
  const limits = { maxAge: config.max_connection_age };
  const idle = config.max_connection_idle;
  const timeouts = idle === undefined ? {} : { keepAlive: idle, idleSession: idle };
  return addresses.map((address) => ({ ...address, tls, limits, timeouts }));
}
