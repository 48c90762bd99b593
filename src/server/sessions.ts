/** What ends sessions of HTTP/2 that are broken, and keeps a client from wearing them out. */
import { constants, type ServerHttp2Session } from "node:http2";
import { wasBrokenOffHere } from "../doors/reset.js";
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

/**
 * Ends a session whose client does not say its settings, with which it has to begin: over TLS the handshake
 * makes it one of HTTP/2 before a byte of that has come.
 * @param timeout milliseconds
 */
export function endUnsaid(session: ServerHttp2Session, timeout: number): void {
  const timer = setTimeout(() => session.destroy(), timeout);
  const stop = () => clearTimeout(timer);
  session.once("remoteSettings", stop).once("close", stop);
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
      const isCancelled = stream.rstCode === constants.NGHTTP2_CANCEL;
      // Of a client that resets with whatever code, or none, before the answer is out.
      const isGivenUp = stream.aborted && !wasBrokenOffHere(stream);
      if (isCancelled || isGivenUp) count(resetCost);
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
