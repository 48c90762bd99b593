/** The header `Expect`. */
import type { EventEmitter } from "node:events";

/**
 * Serves requests that expect anything but `100-continue`, of which HTTP lets a server
 * take no notice: Node's own refusal has no body and no id.
 */
export function serveUnexpected(server: EventEmitter): void {
  server.on("checkExpectation", (...asked) => server.emit("request", ...asked));
}
