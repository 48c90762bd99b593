/** `lintel serve`: runs the gateway, in this process or in several. */
import cluster from "node:cluster";
import { type LoadedConfig, loadConfig } from "../config/load.js";
import type { Logger } from "../core/log.js";
import { workerVariable } from "../workers/messages.js";
import { type Command, configOptions } from "./command.js";
import type { LogWriter } from "./log-writer.js";
import { createLogger, logWarnings, logWriter } from "./logger.js";
import { say, show } from "./output.js";
import { type Reloadable, reloadOnChange, reloadOnSignal } from "./reload.js";
import { bannerOf, remark, startGateway } from "./serving-gateway.js";
import { leaveAtOnce, untilSignal } from "./signals.js";

export const serve: Command = {
  summary: "runs the gateway",
  details: `Without a configuration file it serves the embedded models, and those of the model
servers that answer at the usual addresses of this machine.
HOST and PORT in the environment replace the address to listen on. SIGHUP makes it
take over a changed configuration without dropping a call. On SIGTERM and
SIGINT running calls may end; a second signal ends the process at once, with 143 or 130.`,
  options: configOptions,
  async run(given) {
    if (isOwnWorker()) return (await import("./worker.js")).serveAsWorker();
    const onHangUp = reloadOnSignal();
    const sources = { file: given.text("config"), listen: given.texts("listen") };
    const loaded = await loadConfig(sources);
    const { config, file, text, warnings } = loaded;
    if (config.workers > 1 && cluster.isWorker) {
      say(
        "lintel: workers can't be started by one of several processes, as pm2 makes them with -i: leave out either",
      );
      // The channel to the one that started it keeps it.
      process.exit(1);
    }
    const writer = logWriter();
    const log = createLogger(config.log.level, writer);
    logWarnings(log, warnings);
    let serving: Serving | undefined;
    const signalled = untilSignal(async (signal, status) => {
      leaveAtOnce(log, signal, status, (await serving?.calls()) ?? 0);
    });
    const starting =
      config.workers > 1 ? bySeveral(loaded, log, writer) : byThisProcess(loaded, log);
    const early = await Promise.race([starting, signalled]);
    if (typeof early === "string") {
      // Nobody was served yet, and what it waits for may hang, or be a worker that the signal ended, too.
      log.info({ signal: early, graceMs: 0 }, "shutting down");
      process.exit(0);
    }
    const running = early;
    serving = running;
    const reloading = { sources, running, log, file, text };
    onHangUp(reloading);
    const watched = config.reload === "watch" ? reloadOnChange(reloading) : undefined;
    let leaves = false;
    const greeted = (async () => {
      await watched;
      const banner = await running.banner();
      if (!leaves) show(banner);
    })();
    // What is said at the start may wait for others: who wants it to end does not.
    const signal = await Promise.race([signalled, greeted.then(() => signalled)]);
    leaves = true;
    void watched?.then((unwatch) => unwatch());
    const graceMs = running.config.timeouts.shutdown;
    log.info({ signal, graceMs }, "shutting down");
    await running.close(graceMs);
    // Whatever a library still holds open must not keep the process.
    process.exit(0);
  },
};

/** Whether a first process of ours started this one; no other that it starts is to take itself for one. */
function isOwnWorker(): boolean {
  const own = cluster.isWorker && process.env[workerVariable] !== undefined;
  delete process.env[workerVariable];
  return own;
}

/** A gateway that serves. */
interface Serving extends Reloadable {
  /** What is said once it is known which models there are. */
  banner(): Promise<string>;
  /** How many calls run. */
  calls(): number | Promise<number>;
  /** @param graceMs after which running calls are aborted, milliseconds */
  close(graceMs: number): Promise<void>;
}

async function byThisProcess({ config, file }: LoadedConfig, log: Logger): Promise<Serving> {
  const running = await startGateway(config, log);
  return {
    get config() {
      return running.config;
    },
    reload: running.reload,
    reloaded: running.reloaded,
    remark: () => remark(running, log),
    async banner() {
      await remark(running, log);
      return bannerOf(running, file);
    },
    calls: () => running.core.readiness.running,
    close: running.close,
  };
}

async function bySeveral(
  { config, file }: LoadedConfig,
  log: Logger,
  writer: LogWriter,
): Promise<Serving> {
  const { Workers } = await import("../workers/workers.js");
  const workers = new Workers({ config, file, log, lines: (text) => writer.write(text) });
  if (!(await workers.start())) process.exit(1);
  return {
    get config() {
      return workers.config;
    },
    reload: (wanted) => workers.reload(wanted),
    reloaded: (how) => workers.reloaded(how),
    banner: () => workers.banner,
    calls: () => workers.calls(),
    close: (graceMs) => workers.close(graceMs),
  };
}
