/** The process's log: JSON lines on stderr. */
import pino from "pino";
import { withoutSecrets } from "../core/secrets.js";

/**
 * Makes the logger. No line of it shows a key of the configuration. It writes in the background; what is left is written when
 * the process ends.
 */
export function createLogger(level: string) {
  const destination = pino.destination({ dest: 2, sync: false });
  process.on("exit", () => destination.flushSync());
  return pino({ level, base: undefined, hooks: { streamWrite: withoutSecrets } }, destination);
}
