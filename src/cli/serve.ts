/** `lintel serve`: runs the gateway. */
import { loadConfig } from "../config/load.js";
import type { BackendConfig } from "../config/schema.js";
import type { RunningGateway } from "../gateway.js";
import { version } from "../version.js";
import { banner, type ServedModel } from "./banner.js";
import { type Command, configOptions } from "./command.js";
import { listenError } from "./listen-error.js";
import { createLogger } from "./logger.js";
import { listed, warnOfModelsNowhere } from "./models-nowhere.js";
import { say, show } from "./output.js";
import { reloadOnChange, reloadOnSignal } from "./reload.js";
import { untilSignal } from "./signals.js";

export const serve: Command = {
  summary: "runs the gateway",
  details: `Without a configuration file it serves the embedded models, and those of the model
servers that answer at the usual addresses of this machine.
HOST and PORT in the environment replace the address to listen on. SIGHUP makes it
take over a changed configuration without dropping a call. On SIGTERM and
SIGINT running calls may end; a second signal ends the process at once.`,
  options: configOptions,
  async run(given) {
    const onHangUp = reloadOnSignal();
    const sources = { file: given.text("config"), listen: given.texts("listen") };
    const { config, file, text, warnings } = await loadConfig(sources);
    const log = createLogger(config.log.level);
    for (const warning of warnings) log.warn({}, warning);
    const signalled = untilSignal();
    const { start } = await import("../gateway.js");
    const running = await start(config, log).catch((error: unknown) => {
      say(`lintel: ${startError(error)}`);
      return undefined;
    });
    // Here, too, nothing that a library holds open must keep the process.
    if (!running) process.exit(1);
    const reloading = { sources, running, log, file, text };
    onHangUp(reloading);
    const unwatch = config.reload === "watch" ? await reloadOnChange(reloading) : undefined;
    await listed(running);
    warnOfModelsNowhere(running, log);
    show(
      banner({
        version: version(),
        file,
        addresses: running.listeners.map(({ url }) => url),
        ...served(running),
        auth: running.config.auth.mode,
      }),
    );
    const signal = await signalled;
    unwatch?.();
    const graceMs = running.config.timeouts.shutdown;
    log.info({ signal, graceMs }, "shutting down");
    await running.close(graceMs);
    // Whatever a library still holds open must not keep the process.
    process.exit(0);
  },
};

/** The models with their backends, and the backends that have none. */
function served({ core, backends }: RunningGateway) {
  const where = new Map(backends.map(({ config }) => [config.name, whereOf(config)]));
  const models = core.catalogue
    .list(() => true)
    .map((model): ServedModel => {
      const backend = core.catalogue.find(model.id, model.task).targets[0]?.backend.name ?? "";
      return { model, backend, where: where.get(backend) ?? "" };
    });
  const silent = backends
    .filter(({ backend }) => backend.models().length === 0)
    .map(({ config }) => ({ backend: config.name, where: whereOf(config) }));
  return { models, silent };
}

/** In words for the operator; a fault in Lintel itself keeps its stack. */
function startError(error: unknown): string {
  const line = listenError(error);
  if (line !== undefined) return line;
  if (!(error instanceof Error)) return String(error);
  const expected = "code" in error || /^(media|tls|state)\./.test(error.message);
  return expected ? error.message : (error.stack ?? error.message);
}

/** Where a backend's models run. */
function whereOf(backend: BackendConfig): string {
  if ("url" in backend) return backend.url;
  if ("address" in backend) return backend.address;
  return "package" in backend ? backend.package : "embedded";
}
