/**
 * One buffer into which the sockets of all model servers are read. Node makes one of 64 KB for
 * each read of a socket otherwise, of which an event of a stream needs two hundred bytes.
 */
import type { OnReadOpts, Socket } from "node:net";

/** For `net.connect` and `tls.connect`: what was read goes on as a copy of its own size. */
export const intoSharedBuffer: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(64 * 1024),
  // Node calls it as the socket's own, and stops to read until there is room where it is false.
  callback(this: Socket, size: number, buffer: Uint8Array) {
    return this.push(Buffer.from(buffer.subarray(0, size)));
  },
};
