/** Responses that wait in a pipeline: HTTP/1 clients may send requests before their answers. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Lets responses that have not got their connection yet emit `close` when it
 * closes. Node tells only the one that has it, so the work for the others
 * would go on for nobody. It does not bound them either: a connection on which
 * too many are worked on is closed.
 * @param most calls at once behind the first one of a connection
 */
export function closeWaiting(server: Server, most: number): void {
  const waiting = new WeakMap<Socket, Set<ServerResponse>>();
  server.prependListener("request", ({ socket }, response) => {
    if (response.socket) return;
    const responses = waiting.get(socket) ?? new Set();
    if (!waiting.has(socket)) {
      waiting.set(socket, responses);
      socket.once("close", () => {
        for (const left of responses) left.destroy().emit("close");
      });
    }
    responses.add(response);
    response.once("socket", () => responses.delete(response));
    if (responses.size > most && running(responses) > most) socket.destroy();
  });
}

/** Those that are not complete: others only wait for their turn. */
function running(responses: Iterable<ServerResponse>): number {
  let count = 0;
  for (const { writableEnded } of responses) if (!writableEnded) count++;
  return count;
}
