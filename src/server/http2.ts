/** The HTTP/2 side. */
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { StreamHandler } from "../doors/door.js";
import { whenOld } from "./age.js";
import { refuseConnectStreams } from "./connect.js";
import type { CorsHeaders } from "./cors.js";
import { serveUnexpected } from "./expectation.js";
import { headersTooLarge, refuseStream } from "./failure.js";
import { type Farewell, farewell } from "./farewell.js";
import { closeAnswered, headerBytes, limitBody } from "./requests.js";
import {
  destroyBroken,
  endAfterRead,
  endUnsaid,
  isFlooded,
  limitControlFrames,
  resetBounds,
} from "./sessions.js";
import type { ConnectionLimits, Timeouts } from "./settings.js";
import { endStalledStreams } from "./stalled.js";

/** The HTTP/2 server behind a listener; it never listens itself. */
export interface Http2Side {
  readonly server: Http2Server;
  /** Has every client begin its next call on another connection, and ends each session with its last stream. */
  drain(): void;
  /** Begins no more streams, whether its client knows that or not, and ends each session with its last one. */
  close(): void;
  /** Ends every session now. */
  destroy(): void;
}

/**
 * Most memory of one connection, megabytes, before it takes no new streams. Answers that wait
 * to be sent count: all streams at once have room for half a megabyte each.
 */
const sessionMemory = 128;

/**
 * How much a client, or a proxy with the calls of many, may send ahead of our word on one
 * connection, bytes. HTTP/2 begins with 64 KiB, of which all of them together get no more with each
 * round trip; each alone still does, since that is also what a request that waits may take of memory.
 */
const mostAhead = 1024 * 1024;

/**
 * Pings of ours that a client may leave unanswered, before there are no more: a session that
 * breaks after that is not noticed, and Node's own 10 are over in minutes.
 */
const mostPings = 1000;

/**
 * Most bytes of headers that are read, to be answered where they are more than allowed: what Node
 * reads before a client knows the settings. Of more it says nothing but ENHANCE_YOUR_CALM.
 */
const mostHeaderBytes = 65_535;

type StreamEvent = [ServerHttp2Stream, IncomingHttpHeaders, flags: number, raw: readonly string[]];
type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/**
 * Makes the HTTP/2 side.
 * @param handler answers what `takes` leaves
 * @param cors who may read what neither of both answers
 */
export function createHttp2Side(
  handler: Handler,
  takes: StreamHandler,
  timeouts: Timeouts,
  limits: ConnectionLimits,
  cors?: CorsHeaders,
): Http2Side {
  /** With what lets each end. */
  const sessions = new Map<ServerHttp2Session, Farewell>();
  /** What the next session is about to run on: its own `socket` can't be written to. */
  let arriving: Socket;
  /** Streams whose clients have not ended their bodies. */
  const sending = new Set<ServerHttp2Stream>();
  /** Whether sessions that begin now are to end as well. */
  let leaving = false;
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: mostHeaderBytes,
    },
    maxHeaderListPairs: mostHeaderBytes,
    maxSessionMemory: sessionMemory,
    maxOutstandingPings: mostPings,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    maxSettings: 32,
    ...resetBounds(limits),
  });
  server.prependListener("connection", (socket) => {
    arriving = socket;
  });
  server.on("session", (session) => {
    session.setLocalWindowSize(mostAhead);
    const parting = farewell(session, arriving, timeouts);
    sessions.set(session, parting);
    session.on("close", () => sessions.delete(session));
    // A broken connection is the end of its streams, which they hear of themselves.
    session.on("error", () => session.destroy());
    endAfterRead(session);
    endUnsaid(session, timeouts.firstBytes);
    limitControlFrames(session, limits);
    endStalledStreams(session, timeouts.stalled);
    destroyBroken(session, timeouts.ping);
    whenOld(session, limits.maxAge, parting.leave);
    if (leaving) parting.leave();
  });
  server.on("request", handler);
  serveUnexpected(server);
  refuseConnectStreams(server, cors);
  // Node makes a request and a response of every stream as soon as anybody listens for
  // requests. A stream that is taken here is spared that.
  const emit = server.emit.bind(server) as (...args: unknown[]) => boolean;
  server.emit = (name: string, ...args: unknown[]) => {
    if (name === "stream") {
      const [stream, headers, , raw] = args as StreamEvent;
      const isLate = stream.session && isFlooded(stream.session as ServerHttp2Session);
      if (isLate || stream.destroyed || stream.closed) {
        // Else it was reset in what was read together with its headers: to answer would throw.
        stream.on("error", () => {});
        return true;
      }
      if (headerBytes(raw) > limits.maxHeaderBytes) {
        refuseStream(stream, headers, headersTooLarge(), cors, 431);
        return true;
      }
      limitBody(stream, headers, timeouts.request, sending, cors);
      if (takes(stream, headers)) return true;
      // Before its end was read, Node does not tell of a client that leaves without an error. Who
      // takes a stream reads it, when it wants to hear of that.
      if (stream.endAfterHeaders) stream.resume();
    }
    return emit(name, ...args);
  };
  server.on("sessionError", () => {});
  return {
    server,
    drain() {
      leaving = true;
      for (const parting of sessions.values()) parting.leave();
    },
    close() {
      // A request that comes behind this is not begun, which its client knows by that.
      for (const parting of sessions.values()) parting.close();
      // Once for each, though this is called until all are gone.
      for (const stream of sending) closeAnswered(stream);
      sending.clear();
    },
    destroy() {
      for (const session of sessions.keys()) session.destroy();
    },
  };
}
