/** The HTTP/2 side: sessions, and what keeps a client from wearing them out. */
import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { StreamHandler } from "../doors/door.js";
import { serveUnexpected } from "./expectation.js";
import type { ConnectionLimits, Timeouts } from "./settings.js";
import { endStalledStreams } from "./stalled.js";

/** The HTTP/2 server behind a listener; it never listens itself. */
export interface Http2Side {
  readonly server: Http2Server;
  /** Lets every session there is end with its last stream, and says so; new ones are served. */
  drain(): void;
  /** Lets every session end with its last stream. */
  close(): void;
  /** Ends every session now. */
  destroy(): void;
}

/** What a stream that its client resets weighs against a ping: a request was begun for it. */
const resetCost = 10;

/**
 * Most memory of one connection, megabytes, before it takes no new streams. Answers that wait
 * to be sent count: all streams at once have room for half a megabyte each.
 */
const sessionMemory = 128;

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/**
 * Makes the HTTP/2 side.
 * @param handler answers what `takes` leaves
 */
export function createHttp2Side(
  handler: Handler,
  takes: StreamHandler,
  timeouts: Timeouts,
  limits: ConnectionLimits,
): Http2Side {
  const sessions = new Set<ServerHttp2Session>();
  /** Streams whose clients have not ended their bodies. */
  const sending = new Set<ServerHttp2Stream>();
  let closing = false;
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
    },
    maxSessionMemory: sessionMemory,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    maxSettings: 32,
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    // A broken connection is the end of its streams, which they hear of themselves.
    session.on("error", () => session.destroy());
    closeWhenIdle(session, timeouts.idleSession);
    limitControlFrames(session, limits);
    endStalledStreams(session, timeouts.stalled);
    if (closing) session.close();
  });
  server.on("request", handler);
  serveUnexpected(server);
  // Node makes a request and a response of every stream as soon as anybody listens for
  // requests. A stream that is taken here is spared that.
  const emit = server.emit.bind(server) as (...args: unknown[]) => boolean;
  server.emit = (name: string, ...args: unknown[]) => {
    if (name === "stream") {
      const [stream, headers] = args as [ServerHttp2Stream, IncomingHttpHeaders];
      limitBody(stream, timeouts.request, sending);
      if (takes(stream, headers)) return true;
    }
    return emit(name, ...args);
  };
  server.on("sessionError", () => {});
  const drain = () => {
    for (const session of sessions) session.close();
  };
  return {
    server,
    drain,
    close() {
      closing = true;
      drain();
      // Once for each, though this is called until all are gone.
      for (const stream of sending) closeAnswered(stream);
      sending.clear();
    },
    destroy() {
      for (const session of sessions) session.destroy();
    },
  };
}

/** Node's own timeout does not ask whether a stream is only waiting for its answer. */
function closeWhenIdle(session: ServerHttp2Session, timeout: number): void {
  let open = 0;
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    timer = setTimeout(() => {
      session.close();
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

/** Every ping, settings frame and reset costs work; a leaking bucket says how many are too many. */
function limitControlFrames(session: ServerHttp2Session, limits: ConnectionLimits): void {
  let level = 0;
  let then = performance.now();
  const count = (cost: number) => {
    const now = performance.now();
    level = Math.max(0, level - ((now - then) / 1000) * limits.controlFrameRate) + cost;
    then = now;
    if (level > limits.controlFrameBurst && !session.destroyed) {
      // `destroy` says a code only with an error, which would be every stream's.
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      session.destroy();
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
 * A body that does not come to its end ends the stream.
 * @param sending has the stream until then
 */
function limitBody(stream: ServerHttp2Stream, timeout: number, sending: Set<ServerHttp2Stream>) {
  if (stream.readableEnded || stream.endAfterHeaders) return;
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), timeout);
  const over = () => {
    clearTimeout(timer);
    sending.delete(stream);
  };
  sending.add(stream);
  stream.once("end", over).once("close", over);
}

/** Closes a stream once its answer is complete: its client may have left its own half open. */
function closeAnswered(stream: ServerHttp2Stream): void {
  const close = () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
  // All answers have trailers, if only empty ones, and they are the last of it.
  if (stream.sentTrailers) close();
  else stream.once("wantTrailers", close);
}
