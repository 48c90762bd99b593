/** Resets streams of HTTP/2. */
import { constants, type ServerHttp2Stream } from "node:http2";

/** Streams that were broken off by this side. */
const brokenOff = new WeakSet<object>();

/** Whether it was by `breakOffSoon` that a stream was reset. */
export const wasBrokenOffHere = (stream: object): boolean => brokenOff.has(stream);

/**
 * Closes a stream that is answered, whether or not its client has ended its half. Once what is read now
 * has been read: Node 20 frees it at once, though it may be the one that is read, and corrupts its
 * memory then (nodejs/node#64113).
 */
export function resetSoon(stream: ServerHttp2Stream): void {
  setImmediate(() => {
    if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}

/** Resets a stream in the midst of its answer, with INTERNAL_ERROR; as late as `resetSoon`. */
export function breakOffSoon(stream: ServerHttp2Stream): void {
  stream.on("error", () => {});
  setImmediate(() => {
    if (stream.closed) return;
    brokenOff.add(stream);
    // By `close` it would be ended first, whatever the code: clients took what came for the whole answer.
    stream.destroy(new Error("the answer broke off"));
  });
}
