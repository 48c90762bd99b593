/** Says in the log when a collector takes nothing any more, and when it does again. */
import type { Logger } from "../core/log.js";

interface Exporter<T> {
  export(items: T, done: (result: { code: number; error?: Error }) => void): void;
}

/**
 * Watches an exporter. A collector that is away fails every few seconds: only
 * the first failure is said.
 * @param what `traces` or `metrics`
 */
export function watched<T, E extends Exporter<T>>(exporter: E, what: string, log: Logger): E {
  let away = false;
  const send = exporter.export.bind(exporter);
  exporter.export = (items: T, done: Parameters<E["export"]>[1]) =>
    send(items, (result) => {
      const failed = result.code !== 0;
      if (failed && !away) {
        // The words of the error may tell an address with its password; its code does not.
        const { code } = (result.error ?? {}) as { code?: string | number };
        log.warn({ what, code }, "telemetry can't be delivered");
      } else if (!failed && away) log.info({ what }, "telemetry is delivered again");
      away = failed;
      done(result);
    });
  return exporter;
}
