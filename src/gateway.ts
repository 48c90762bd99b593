/** The one place of wiring: configuration -> backends -> core -> doors -> addresses. */
import { join } from "node:path";
import { createBackend } from "./backends/index.js";
import { issuerSettings } from "./config/auth.js";
import { resolveBackends } from "./config/backends.js";
import { countingSettings, limitParts } from "./config/limits.js";
import type { BackendConfig, Config } from "./config/schema.js";
import { appSettings, coreSettings, doorSettings, listenOptions } from "./config/settings.js";
import { stateSettings } from "./config/state.js";
import type { Backend } from "./core/backend.js";
import { type Core, createCore } from "./core/core.js";
import type { Logger } from "./core/log.js";
import { doors } from "./doors/index.js";
import { openMedia } from "./media/open.js";
import { sanitizePng } from "./media/png.js";
import type { OidcCallers } from "./oidc/callers.js";
import { openChecker } from "./safety/open.js";
import { type Listener, localUrl } from "./server/listen.js";
import { type Serving, serve } from "./serving.js";
import { openCounting } from "./state/counting.js";
import { openState } from "./state/open.js";

/** A gateway that runs. */
export interface RunningGateway {
  readonly core: Core;
  /** The backends with their entries of the configuration, in its order. */
  readonly backends: readonly { readonly backend: Backend; readonly config: BackendConfig }[];
  readonly listeners: readonly Listener[];
  /**
   * Shuts down: refuses new calls, lets running ones end in their own time, then
   * closes everything. Always resolves.
   * @param graceMs after which running calls are aborted, milliseconds
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Starts a gateway. It listens at once; models load in the background, and calls
 * wait for theirs.
 * @throws as Node does if an address can't be listened on, and Error if a file
 *   of the configuration can't be read; nothing runs on then
 */
export async function start(config: Config, log: Logger): Promise<RunningGateway> {
  const entries = await resolveBackends(config);
  let base = config.public_url ?? "";
  const media = await openMedia(mediaConfig(config), () => base, log);
  const checker = await openChecker(config.safety.checker);
  const state = await openState(stateSettings(config), log);
  const issuers = await openIssuers(config, log);
  const counting = await openCounting(countingSettings(config), log, state.usage);
  const backends = await Promise.all(
    entries.map(async (entry) => ({ config: entry, backend: await createBackend(entry, { log }) })),
  );
  const core = createCore({
    settings: coreSettings(config),
    backends: backends.map(({ backend }) => backend),
    log,
    callers: [issuers, state.tokens].filter((source) => source !== undefined),
    usage: state.usage && { sink: state.usage, prices: config.prices },
    limits: limitParts(config, counting.limits),
    idempotency: counting.idempotency && {
      store: counting.idempotency,
      lingerMs: config.idempotency.linger,
    },
    media,
    checker,
    sanitize: sanitizePng,
    // Loaded with the first harmful image: most gateways never see one.
    blur: async (png) => (await import("./media/blur.js")).blurPng(png),
  });
  const release = async () => {
    core.routing.close();
    await Promise.all(backends.map(({ backend }) => backend.close()));
    await media.close();
    await checker?.close();
    issuers?.close();
    await counting.close();
    await state.close();
  };
  let serving: Serving;
  try {
    serving = await serve({
      core,
      doors,
      doorSettings: doorSettings(config),
      appSettings: appSettings(config),
      listen: listenOptions(config),
    });
  } catch (error) {
    await release();
    throw error;
  }
  base ||= localUrl(serving.listeners.find(({ port }) => port > 0)?.url ?? "http://localhost");
  for (const { backend } of backends) backend.start?.();
  core.routing.start();
  state.start();
  issuers?.start();
  let closed: Promise<void> | undefined;
  return {
    core,
    backends,
    listeners: serving.listeners,
    close(graceMs) {
      closed ??= serving.close(graceMs).then(release);
      return closed;
    },
  };
}

/** Images are kept beside everything else, unless they have a folder of their own. */
function mediaConfig({ media, state }: Config): Config["media"] {
  const { directory = state.directory && join(state.directory, "media") } = media;
  return { ...media, directory };
}

/** Whoever vouches for callers with JWTs, where somebody does. */
async function openIssuers({ auth }: Config, log: Logger): Promise<OidcCallers | undefined> {
  if (auth.mode !== "token" || auth.oidc.length === 0) return undefined;
  const { OidcCallers } = await import("./oidc/callers.js");
  return new OidcCallers(issuerSettings(auth), log);
}
