/** One of several processes of `lintel serve`: a gateway that does what the first process says. */
import { keepSecretsOf } from "../config/secrets.js";
import { LintelError } from "../core/errors.js";
import { Channel } from "../workers/channel.js";
import { createLogger, logWriter } from "./logger.js";
import { bannerOf, remark, startGateway } from "./serving-gateway.js";
import { ignoreSignals } from "./signals.js";

/** Serves until the first process says that it is enough. */
export async function serveAsWorker(): Promise<never> {
  // Those of a terminal or a service manager reach all processes: the first one passes on what they mean.
  void ignoreSignals();
  const channel = new Channel();
  process.once("SIGTERM", () => channel.terminated());
  const { worker, config, file } = await channel.orders;
  keepSecretsOf(config);
  const log = createLogger(config.log.level, logWriter(), { worker });
  const running = await startGateway(config, log, {
    metrics: channel.metrics,
    status: channel.status,
  });
  // What is the same for all is said by one.
  const first = worker === 1;
  channel.listening({
    metrics: running.metrics,
    status: running.status,
    calls: () => running.core.readiness.running,
    reloaded: running.reloaded,
    async reload(wanted) {
      keepSecretsOf(wanted);
      try {
        const reloaded = await running.reload(wanted);
        log.level = wanted.log.level;
        if (first) void remark(running, log);
        return { reloaded, config: running.config };
      } catch (error) {
        const ends = error instanceof LintelError && error.code === "shutting_down";
        if (ends) return { config: running.config };
        const refused = error instanceof Error ? error.message : String(error);
        return { refused, config: running.config };
      }
    },
  });
  if (first) void remark(running, log).then(() => channel.banner(bannerOf(running, file)));
  await running.close(await channel.closing);
  // Whatever a library still holds open must not keep the process.
  process.exit(0);
}
