/** What a configuration makes, and a reload makes anew as far as it changed. */
import { isDeepStrictEqual } from "node:util";
import { AlertWebhook } from "./alerts/webhook.js";
import { createBackend } from "./backends/index.js";
import { resolveBackends } from "./config/backends.js";
import { caches } from "./config/cache.js";
import { signInSettings } from "./config/console.js";
import { readerLimits } from "./config/documents.js";
import { issuerSettings } from "./config/issuers.js";
import { limitParts } from "./config/limits.js";
import type { BackendConfig, Config } from "./config/schema.js";
import { coreSettings } from "./config/settings.js";
import { providerOf } from "./config/telemetry.js";
import type { Backend } from "./core/backend.js";
import { type Core, createCore } from "./core/core.js";
import type { Logger } from "./core/log.js";
import { KeptTexts, type OwnedReader } from "./documents/kept.js";
import { PdfReader } from "./documents/reader.js";
import { type OwnedGuards, openGuards } from "./guards/open.js";
import { addressMs } from "./media/address.js";
import { mostPixels, sanitizePng } from "./media/png.js";
import type { OidcCallers } from "./oidc/callers.js";
import type { SignIns } from "./oidc/sign-ins.js";
import { type OwnedChecker, openChecker } from "./safety/open.js";
import type { Closable, Stores } from "./stores.js";

/** A backend with its entry of the configuration. */
export interface SetUpBackend {
  readonly backend: Backend;
  readonly config: BackendConfig;
}

/** A core with all it stands on. */
export interface Setup {
  readonly config: Config;
  /** In the order of the configuration. */
  readonly backends: readonly SetUpBackend[];
  readonly checker: OwnedChecker | undefined;
  readonly guards: OwnedGuards | undefined;
  /** Who is told of budgets. */
  readonly alerts: AlertWebhook | undefined;
  readonly issuers: OidcCallers | undefined;
  /** How people sign in to the console. */
  readonly signIns: SignIns | undefined;
  readonly documents: OwnedReader | undefined;
  readonly core: Core;
  /** What was made for it, or taken over from the setup before. */
  readonly parts: readonly Closable[];
  /** Those that were made for it: to be begun when it is. */
  readonly made: readonly (Closable & { start?(): void })[];
}

/**
 * Sets up a core.
 * @param before what did not change since is taken over from here
 * @throws whatever making a part throws; those that were made are closed then
 */
export async function setUp(config: Config, stores: Stores, before?: Setup): Promise<Setup> {
  const made: (Closable & { start?(): void })[] = [];
  const own = <T extends Closable | undefined>(part: T): T => {
    if (part) made.push(part);
    return part;
  };
  try {
    const found = before?.config.backends ? undefined : before?.backends;
    const entries = await resolveBackends(
      config,
      found?.map((one) => one.config),
    );
    for (const entry of entries) stores.providers.set(entry.name, providerOf(entry));
    const begun = entries.map(async (entry) => {
      const same = before?.backends.find((one) => isDeepStrictEqual(one.config, entry));
      if (same) return same;
      const backend = own(await createBackend(withLoad(entry, config), stores.context));
      return { config: entry, backend };
    });
    // One that fails must not leave others behind that are made after it.
    await Promise.allSettled(begun);
    const backends = await Promise.all(begun);
    const sameChecker =
      before && isDeepStrictEqual(before.config.safety.checker, config.safety.checker);
    const checker = sameChecker
      ? before.checker
      : own(await openChecker(config.safety.checker, stores.log));
    const sameGuards = before && isDeepStrictEqual(before.config.guards, config.guards);
    const guards = sameGuards ? before.guards : own(await openGuards(config.guards));
    const alerts = isDeepStrictEqual(before?.config.budget_alerts, config.budget_alerts)
      ? before?.alerts
      : own(alertsOf(config, stores.log, before?.alerts));
    const sameIssuers = before && isDeepStrictEqual(oidcOf(before.config), oidcOf(config));
    const issuers = sameIssuers
      ? before.issuers
      : own(await openIssuers(config, stores.log, before?.issuers));
    const sameSignIns =
      sameIssuers && isDeepStrictEqual(before.config.console.sign_in, config.console.sign_in);
    const signIns = sameSignIns ? before.signIns : await openSignIns(config, issuers);
    const sameDocuments = before && isDeepStrictEqual(before.config.documents, config.documents);
    const documents = sameDocuments ? before.documents : own(readerOf(config));
    const others = { checker, guards, alerts, issuers, documents };
    const parts = [...backends.map(({ backend }) => backend), ...Object.values(others)];
    return {
      config,
      backends,
      ...others,
      signIns,
      core: coreFor(config, stores, { backends, ...others }),
      parts: parts.filter((part) => part !== undefined),
      made,
    };
  } catch (error) {
    await Promise.all(made.map((part) => part.close()));
    throw error;
  }
}

function coreFor(
  config: Config,
  { log, media, blurring, quotaUses, state, counting, cache, telemetry }: Stores,
  {
    backends,
    checker,
    guards,
    alerts,
    issuers,
    documents,
  }: Pick<Setup, "backends" | "checker" | "guards" | "alerts" | "issuers" | "documents">,
): Core {
  const settings = coreSettings(config);
  const most = mostPixels(settings.bounds);
  return createCore({
    settings,
    backends: backends.map(({ backend }) => backend),
    log,
    callers: [issuers, state.tokens].filter((source) => source !== undefined),
    ownTokens: state.ownTokens,
    usage: state.usage && { sink: state.usage, prices: config.prices },
    limits: limitParts(config, counting.limits, alerts),
    prices: config.prices,
    idempotency: counting.idempotency && {
      store: counting.idempotency,
      lingerMs: config.idempotency.linger,
      imageTtlMs: addressMs(config.media),
    },
    cache: caches(config) ? cache : undefined,
    media,
    peers: counting.peers,
    quotaUses,
    telemetry: telemetry?.telemetry,
    checker,
    guards: guards?.guards,
    documents,
    sanitize: (png) => sanitizePng(png, most),
    blur: (png, signal) => blurring.blur(png, signal),
  });
}

/** Tells of budgets, where somebody wants to hear. @param before whose place it takes */
function alertsOf({ budget_alerts }: Config, log: Logger, before: AlertWebhook | undefined) {
  return budget_alerts && new AlertWebhook(budget_alerts, log, before?.counts);
}

/** Reads documents, where somebody does. */
function readerOf({ documents }: Config): OwnedReader | undefined {
  const limits = readerLimits(documents);
  return limits && new KeptTexts(new PdfReader(limits));
}

/** Where not all models may be in memory, none is loaded before it is wanted. */
function withLoad(entry: BackendConfig, { memory_budget }: Config): BackendConfig {
  if (memory_budget === undefined || !(entry.type === "llama" || entry.type === "onnx")) {
    return entry;
  }
  return { ...entry, load: entry.load ?? "lazy" };
}

const oidcOf = ({ auth }: Config) => (auth.mode === "token" ? auth.oidc : []);

/**
 * Whoever vouches for callers with JWTs, where somebody does.
 * @param before whose place they take
 */
async function openIssuers(
  config: Config,
  log: Logger,
  before: OidcCallers | undefined,
): Promise<OidcCallers | undefined> {
  if (oidcOf(config).length === 0) return undefined;
  const { OidcCallers } = await import("./oidc/callers.js");
  const callers = new OidcCallers(issuerSettings(config.auth), log);
  if (before) callers.takeOver(before);
  return callers;
}

/** How people sign in, where they may. @param issuers check what they come back with */
async function openSignIns(
  config: Config,
  issuers: OidcCallers | undefined,
): Promise<SignIns | undefined> {
  const ways = signInSettings(config);
  if (!issuers || ways.length === 0) return undefined;
  const { SignIns } = await import("./oidc/sign-ins.js");
  return new SignIns(ways, issuers);
}
