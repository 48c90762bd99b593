/** What ends sessions of HTTP/2, and keeps a client from wearing them out. */
import { constants, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { every } from "./every.js";
import type { ConnectionLimits } from "./settings.js";
import { waitingIn } from "./stalled.js";

/** What a stream that its client resets weighs against a ping: a request was begun for it. */
const resetCost = 10;

/**
 * The bound for resets by which Node ends a session without a word: beyond that of
 * `limitControlFrames`. Node 20 has no such option, and its own are 1000 at once, 33 a second.
 */
export const resetBounds = (limits: ConnectionLimits) => ({
  streamResetBurst: (2 * limits.controlFrameBurst) / resetCost,
  streamResetRate: (2 * limits.controlFrameRate) / resetCost,
});

/**
 * A GOAWAY that leaves no stream out: "begin none from now on" (RFC 9113, 6.8). Node has none:
 * behind its `goaway`, whatever it names as the last stream, nghttp2 drops all that comes.
 */
const notice = Buffer.from("0000080700000000007fffffff00000000", "hex");

/**
 * Gives what closes a session so that no call is lost: its client is told to begin no more, and those that
 * were on their way are served. `close` alone drops them, of which most proxies make a 502.
 *
 * Over TLS it only closes: there a write beside the session's own ends the process.
 * @param socket what the session runs on
 * @param patience milliseconds for the client to hear, behind all that waits to be sent to it
 * @returns may be called again, and does nothing then
 */
export function farewell(
  session: ServerHttp2Session,
  socket: Socket,
  patience: number,
): () => void {
  let said = false;
  return () => {
    if (said) return;
    said = true;
    const close = () => {
      clearTimeout(timer);
      session.close();
    };
    const timer = setTimeout(close, patience);
    if (socket instanceof TLSSocket) return close();
    session.once("close", close);
    // What a session says first, its settings, is written by then.
    setImmediate(() => {
      if (session.closed || !socket.writable) return close();
      // Frames are never split over two writes, so this one comes between two of them.
      socket.write(notice);
      // What its client began before it read the notice comes ahead of its answer to this.
      session.ping(close);
    });
  };
}

/** Closes a session without streams. Node's own timeout does not ask whether a stream is only waiting for its answer. */
export function closeWhenIdle(
  session: ServerHttp2Session,
  timeout: number,
  close: () => void,
): void {
  let open = 0;
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    timer = setTimeout(() => {
      close();
      // A client that does not answer the goodbye has no say in it.
      timer = setTimeout(() => session.destroy(), timeout);
    }, timeout);
  };
  session.on("stream", (stream) => {
    open++;
    clearTimeout(timer);
    stream.on("close", () => {
      if (--open === 0 && !session.destroyed) arm();
    });
  });
  session.on("close", () => clearTimeout(timer));
  arm();
}

/**
 * Ends a session that Node gives up after the read that brought the reason: a goodbye with an error, a
 * frame that is wrong. Node does so in the middle of it, and data of a stream that begins behind that
 * frame ends the process of Node 22 (`onread->IsFunction()`).
 */
export function endAfterRead(session: ServerHttp2Session): void {
  const destroy = session.destroy.bind(session);
  session.destroy = (error, code) => {
    const { code: why } = (error ?? {}) as NodeJS.ErrnoException;
    if (why?.startsWith("ERR_HTTP2_")) setImmediate(() => destroy(error, code));
    else destroy(error, code);
  };
}

/** Sessions that are about to be ended because their clients wear them out. */
const flooded = new WeakSet<object>();

/** Whether a session is about to be ended: what it still brings, which may be thousands of requests, is not begun. */
export const isFlooded = (session: ServerHttp2Session): boolean => flooded.has(session);

/** Every ping, settings frame and reset costs work; a leaking bucket says how many are too many. */
export function limitControlFrames(session: ServerHttp2Session, limits: ConnectionLimits): void {
  let level = 0;
  let then = performance.now();
  let over = false;
  const count = (cost: number) => {
    // All streams of a connection that is lost close with it: that is no flood, and nobody can be told.
    if (session.destroyed) return;
    const now = performance.now();
    level = Math.max(0, level - ((now - then) / 1000) * limits.controlFrameRate) + cost;
    then = now;
    if (level > limits.controlFrameBurst && !over) {
      over = true;
      flooded.add(session);
      // `destroy` says a code only with an error, which would be every stream's.
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      // Outside of the read that brought it, which still has the streams: see `resetSoon`.
      setImmediate(() => session.destroy());
    }
  };
  session.on("ping", () => count(1)).on("remoteSettings", () => count(1));
  session.on("stream", (stream) => {
    stream.on("close", () => {
      if (stream.rstCode === constants.NGHTTP2_CANCEL) count(resetCost);
    });
  });
}

/**
 * Destroys a session that Node has given up. After a frame that breaks the protocol, such as one
 * that is too large, Node 20 says goodbye and from then on neither reads nor writes: it emits
 * nothing, does not notice that the client leaves, and lets streams wait for ever. What shows it
 * is a ping that stays in the queue of frames although the connection takes bytes; one that is
 * only not answered does not, for a client may read slowly. So it is asked again: a ping that was
 * on its way when the session broke is never answered. Node 20.19.0 to 20.19.4 closes it in good order
 * after headers that can't be unpacked, which is told, and takes no ping from then on.
 * @param interval milliseconds; a broken session lives for at most two of them
 */
export function destroyBroken(session: ServerHttp2Session, interval: number): void {
  const { socket } = session;
  let unanswered = 0;
  const answered = () => {
    unanswered--;
  };
  // Of a stream that is not there: of one that is, only that one ends.
  session.on("frameError", () => setImmediate(() => session.destroy()));
  const stop = every(interval, () => {
    if (session.destroyed) return;
    const queued = (session.state.outboundQueueSize ?? 0) > 0;
    if (!queued || unanswered === 0) {
      if (session.ping(answered)) unanswered++;
    } else if (waitingIn(socket) === 0) {
      session.destroy();
    }
  });
  session.on("close", stop);
}
