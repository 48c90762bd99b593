/** The HTTP/1 side. */
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { whenOld } from "./age.js";
import { refuseConnect } from "./connect.js";
import type { CorsHeaders } from "./cors.js";
import { serveUnexpected } from "./expectation.js";
import { refuse } from "./failure.js";
import { closeWaiting } from "./pipeline.js";
import type { ConnectionLimits, Timeouts } from "./settings.js";

/**
 * The newest response of a connection: those before it in a pipeline leave it open. It stays
 * there when it has ended: a collection that each call enters and leaves costs a tenth of a call
 * (bench/NOTES.md).
 */
const newest = Symbol("newest response");

const old = Symbol("old");

type Connection = Socket & { [newest]?: ServerResponse; [old]?: boolean };

/** The HTTP/1 server behind a listener; it never listens itself. */
export interface Http1Side {
  readonly server: Server;
  /**
   * Lets every connection end with its last answer under way, or where there is none with the
   * next, and says so in all that have not begun. Behind one that has, and said nothing, its client
   * may ask once more, and is told with that answer.
   */
  drain(): void;
  /** From now on connections end with such an answer, too. */
  part(): void;
}

/**
 * Makes the HTTP/1 side.
 * @param cors who may read what the handler does not answer
 */
export function createHttp1Side(
  handler: RequestListener,
  timeouts: Timeouts,
  limits: ConnectionLimits,
  cors?: CorsHeaders,
): Http1Side {
  const server = createServer(
    {
      headersTimeout: timeouts.headers,
      requestTimeout: Math.max(timeouts.request, timeouts.headers),
      keepAliveTimeout: timeouts.keepAlive,
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: Math.ceil(Math.min(timeouts.headers, timeouts.request) / 4),
      // The app looks for it, and says what is missing.
      requireHostHeader: false,
    },
    handler,
  );
  // How many headers there are is no matter, only their bytes: Node would drop what it leaves out.
  server.maxHeadersCount = 0;
  server.on("clientError", (error, socket: Connection) =>
    refuse(error, socket, socket[newest], cors),
  );
  serveUnexpected(server);
  refuseConnect(server);
  closeWaiting(server, limits.maxConcurrentStreams);
  let draining = false;
  let parting = false;
  const connections = new Set<Connection>();
  server.on("connection", (socket: Connection) => {
    connections.add(socket);
    whenOld(socket, limits.maxAge, () => {
      socket[old] = true;
    });
    socket.once("close", () => connections.delete(socket));
  });
  server.prependListener("request", ({ socket }: { socket: Connection }, response) => {
    if (draining || socket[old]) response.shouldKeepAlive = false;
    socket[newest] = response;
  });
  // Node enforces these timeouts only on a server that it takes to be listening.
  server.emit("listening");
  return {
    server,
    drain() {
      draining = true;
      for (const socket of connections) {
        const response = socket[newest];
        if (!response || response.writableFinished) continue;
        if (!response.headersSent) {
          response.shouldKeepAlive = false;
          continue;
        }
        response.once("finish", () => {
          // Its client takes the connection for one that it may keep, and some write their next request
          // in the moment in which this answer ends: a close then would lose it.
          if (parting && socket[newest] === response) socket.destroySoon();
        });
      }
    },
    part() {
      parting = true;
    },
  };
}
