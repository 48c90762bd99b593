/** Tells HTTP/1 from HTTP/2 by the first bytes of a connection. */
import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** `undefined`: the bytes so far could become either. */
export function isHttp2(bytes: Buffer): boolean | undefined {
  const length = Math.min(bytes.length, preface.length);
  if (bytes.compare(preface, 0, length, 0, length) !== 0) return false;
  return length === preface.length ? true : undefined;
}

/**
 * Calls back once the protocol is known, with the bytes put back as if nobody
 * had read them, and the socket paused. A connection that does not say in time, or ends, is destroyed.
 * @param timeout milliseconds, for all the bytes together
 */
export function sniff(socket: Socket, timeout: number, known: (http2: boolean) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeout);
  const stop = () => {
    clearTimeout(timer);
    socket.off("data", read).off("end", gone).off("close", stop);
  };
  const gone = () => socket.destroy();
  const read = (bytes: Buffer) => {
    seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes]);
    const http2 = isHttp2(seen);
    if (http2 === undefined) return;
    stop();
    socket.pause();
    socket.unshift(seen);
    known(http2);
  };
  socket.on("data", read).on("end", gone).on("close", stop);
}
