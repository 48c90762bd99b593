/** Ports for programs that can't be asked which one they took. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** A port of 127.0.0.1 that nobody listens on, and that no system gives to connections, which could have it first. */
export async function freePort(): Promise<number> {
  for (;;) {
    // Linux gives them from 32768 on, others from 49152.
    const port = randomInt(20_000, 32_768);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
