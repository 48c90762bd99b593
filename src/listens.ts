/** Whether there is anybody at an address. */

import { connect } from "node:net";
import { withoutBrackets } from "./hostname.js";
import { pipes } from "./socket-path.js";

/**
 * Whether anything accepts connections there. Never throws.
 * @param target host and port of a URL, or the path of a Unix socket
 * @param timeoutMs how long to wait, milliseconds; default: as long as the system does
 * @returns `refused` where the system says that nobody listens; `unknown` where it can't be
 *   told: it took too long, the way is barred, or there is nothing at the path (on Windows, where
 *   a pipe ends with its process, that is `refused`)
 */
export function listens(
  target: URL | { readonly path: string },
  timeoutMs = 0,
): Promise<"yes" | "refused" | "unknown"> {
  const refusal = pipes && !(target instanceof URL) ? "ENOENT" : "ECONNREFUSED";
  return new Promise((resolve) => {
    const socket = connect(target instanceof URL ? addressOf(target) : target);
    const end = (answer: "yes" | "refused" | "unknown") => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => end("unknown"));
    socket.once("connect", () => end("yes"));
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      end(code === refusal ? "refused" : "unknown"),
    );
  });
}

const addressOf = ({ hostname, port }: URL) => ({
  host: withoutBrackets(hostname),
  port: Number(port),
});
