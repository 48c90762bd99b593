/** What one turn of the event loop asks a store goes to it in one write. */
import type { Redis } from "ioredis";

/**
 * Gathers what is written to a connection. Each write of its own is a call of the system here, and a
 * read and a write of the store's, which has one core for all.
 */
export function gatherWrites(redis: Redis): void {
  redis.on("connect", () => {
    const { stream } = redis;
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
    let gathering = false;
    const send = () => {
      gathering = false;
      stream.uncork();
    };
    stream.write = (...args: unknown[]) => {
      if (!gathering) {
        gathering = true;
        stream.cork();
        // After all that has come by now was read, and not after each of it.
        setImmediate(send);
      }
      return write(...args);
    };
  });
}
