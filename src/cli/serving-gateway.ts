/** A gateway that `lintel serve` runs in this process, and what it says at its start. */
import { type BackendConfig, type Config, configSchema } from "../config/schema.js";
import { hasListed } from "../core/backend.js";
import type { Logger } from "../core/log.js";
import type { RunningGateway, Surroundings } from "../gateway.js";
import { version } from "../version.js";
import { banner, type ServedModel } from "./banner.js";
import { listenError } from "./listen-error.js";
import { listed, warnOfModels } from "./model-warnings.js";
import { say } from "./output.js";

/** Starts a gateway. Where that fails it says why, and ends the process. */
export async function startGateway(
  config: Config,
  log: Logger,
  around?: Surroundings,
): Promise<RunningGateway> {
  const { start } = await import("../gateway.js");
  const running = await start(config, log, around).catch((error: unknown) => {
    say(`lintel: ${startError(error)}`);
    return undefined;
  });
  // Nothing that a library holds open must keep the process.
  if (!running) process.exit(1);
  return running;
}

/** Warns of models that lead nowhere, once it is known what there is. */
export async function remark(running: RunningGateway, log: Logger): Promise<void> {
  await listed(running);
  warnOfModels(running, log);
}

/**
 * What a gateway says once it listens.
 * @param file where its configuration comes from; absent: defaults
 */
export function bannerOf(running: RunningGateway, file: string | undefined): string {
  const { listeners, adminListeners = listeners, config } = running;
  const urls = (all: typeof listeners) => all.map(({ url }) => url);
  return banner({
    version: version(),
    file,
    addresses: urls(listeners),
    ...(config.admin && { admin: urls(adminListeners) }),
    ...served(running),
    auth: config.auth.mode,
    console: config.console.enabled,
    workers: config.workers,
  });
}

/** The models with their backends, and the backends that may have more. */
function served({ core, backends }: RunningGateway) {
  const where = new Map(backends.map(({ config }) => [config.name, whereOf(config)]));
  const models = core.catalogue
    .list(() => true)
    .map((model): ServedModel => {
      const { targets } = core.catalogue.find(model.id, model.task);
      const [backend = "", ...others] = new Set(targets.map((target) => target.backend.name));
      return { model, backend, where: where.get(backend) ?? "", others };
    });
  const silent = backends
    .filter(({ backend }) => !hasListed(backend))
    .map(({ config }) => ({ backend: config.name, where: whereOf(config) }));
  return { models, silent, hasBackend: backends.length > 0 };
}

/** In words for the operator; a fault in Lintel itself keeps its stack. */
function startError(error: unknown): string {
  const line = listenError(error);
  if (line !== undefined) return line;
  if (!(error instanceof Error)) return String(error);
  // Of a setting; all else is a mistake of ours, and says where.
  const [section = ""] = /^[a-z_]+(?=\.)/.exec(error.message) ?? [];
  const expected = "code" in error || section in configSchema.shape;
  return expected ? error.message : (error.stack ?? error.message);
}

/** Where a backend's models run. */
function whereOf(backend: BackendConfig): string {
  if ("url" in backend) return backend.url;
  if ("address" in backend) return backend.address;
  return "package" in backend ? backend.package : "embedded";
}
