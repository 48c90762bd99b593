/** The process's log: JSON lines on stderr. */
import pino from "pino";
import { inShort } from "../core/log.js";
import { withoutSecrets } from "../core/secrets.js";

/** Longest that a line waits for others to be written with it, milliseconds. */
const patience = 50;
/** Characters after which they are written at once; sonic-boom writes up to 16 KiB in one piece. */
const enough = 8192;

/**
 * Makes the logger. No line of it shows a key of the configuration, nor all that a model
 * server said (`said`), which may be a prompt a megabyte long. Lines are written in
 * the background, those of a moment together: each write wakes another thread. What is left
 * is written when the process ends.
 */
export function createLogger(level: string) {
  const destination = pino.destination({ dest: 2, sync: false });
  let lines = "";
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    destination.write(lines);
    lines = "";
  };
  process.on("exit", () => {
    // Nothing that is begun in the background now is waited for.
    Object.assign(destination, { sync: true });
    flush();
    destination.flushSync();
  });
  const batched = {
    write(line: string) {
      lines += line;
      if (lines.length >= enough) flush();
      else timer ??= setTimeout(flush, patience).unref();
    },
  };
  const serializers = { said: (words: unknown) => inShort(String(words)) };
  const hooks = { streamWrite: withoutSecrets };
  return pino({ level, base: undefined, serializers, hooks }, batched);
}
