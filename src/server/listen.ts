/** One port, or one Unix socket, for HTTP/1 and HTTP/2, with or without TLS. */
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import { silent } from "../core/log.js";
import type { StreamHandler } from "../doors/door.js";
import { bind } from "./bind.js";
import { watchDescriptors } from "./descriptors.js";
import { createHttp1Side } from "./http1.js";
import { createHttp2Side } from "./http2.js";
import { contextOptions, tlsOptions, watchHandshakes } from "./secure.js";
import { seldom } from "./seldom.js";
import {
  type Address,
  type ListenOptions,
  limitDefaults,
  type TlsSettings,
  timeoutDefaults,
} from "./settings.js";
import { sniff } from "./sniff.js";
import { destroyStalled } from "./stalled.js";

/** How often a closing listener looks for connections that have become idle, milliseconds. */
const closingInterval = 50;

/** A listener that runs. */
export interface Listener {
  /** The host that is listened on; for a Unix socket its path. */
  readonly address: string;
  /** The port, also where any free one was asked for; 0 for a Unix socket. */
  readonly port: number;
  /** For people and clients: `http://127.0.0.1:8080`, `unix:/run/lintel.sock`. */
  readonly url: string;
  /**
   * Serves this certificate to who connects from now on, and takes clients of these authorities, where
   * clients show certificates; without TLS nothing happens.
   * @throws Error if certificate and key can't be used
   */
  renew(tls: TlsSettings): void;
  /**
   * Tells clients that what they ask next belongs on another connection: sessions of HTTP/2 get
   * a GOAWAY and end with their last stream, answers over HTTP/1 say `Connection: close`. Behind one
   * that had begun its connection waits for the next, until the listener closes. New connections are
   * still accepted.
   */
  drain(): void;
  /**
   * Stops accepting at once, lets open requests and streams end, closes
   * connections as they become idle, and destroys what is left after the grace.
   * Always resolves. A second call can shorten the grace.
   * @param graceMs default 30000
   * @param lingerMs how long idle connections are left to their clients, milliseconds. Default 0
   */
  close(graceMs?: number, lingerMs?: number): Promise<void>;
}

/**
 * Serves an app at an address.
 * @param takes HTTP/2 streams that it takes do not reach the app
 * @throws as Node does if the address is in use or not allowed (`error.code`)
 */
export async function listen(
  app: FastifyInstance,
  options: ListenOptions,
  takes: StreamHandler = () => false,
): Promise<Listener> {
  await app.ready();
  const { log = silent } = options;
  const timeouts = { ...timeoutDefaults, ...options.timeouts };
  const limits = { ...limitDefaults, ...options.limits };
  const http1 = createHttp1Side(
    (request, response) => app.routing(request, response),
    timeouts,
    limits,
    app.corsHeaders,
  );
  // Fastify's types know one kind of request at a time; its router takes both.
  const http2 = createHttp2Side(app.routing as never, takes, timeouts, limits, app.corsHeaders);

  const sockets = new Set<Socket>();
  /** Those that have not said yet which protocol they speak. */
  const undecided = new Set<Socket>();
  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // Both sides handle errors of their own; this one is for connections that belong to none yet.
    socket.on("error", () => socket.destroy());
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
  };
  const hand = (socket: Socket, isHttp2: boolean) => {
    undecided.delete(socket);
    (isHttp2 ? http2 : http1).server.emit("connection", socket);
    // HTTP/1 does not resume a socket that was paused by somebody else.
    if (!isHttp2) process.nextTick(() => socket.resume());
  };
  const look = (socket: Socket) => {
    undecided.add(socket);
    socket.on("close", () => undecided.delete(socket));
    // Over TLS, who did not ask for HTTP/2 speaks HTTP/1, whatever the first bytes.
    sniff(socket, timeouts.firstBytes, (isHttp2) => hand(socket, isHttp2 && !options.tls));
  };
  const server = options.tls ? createTlsServer(tlsOptions(options.tls, timeouts)) : createServer();
  const hasRoom = watchDescriptors(log);
  server.on("connection", (socket) => {
    accept(socket);
    if (!hasRoom(socket)) socket.destroy();
    else if (!options.tls) look(socket);
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    accept(socket);
    if (socket.alpnProtocol === "h2") hand(socket, true);
    else look(socket);
  });
  if (server instanceof TlsServer) watchHandshakes(server, log);
  if (limits.maxConnections !== undefined) server.maxConnections = limits.maxConnections;
  const address = await bind(server, options);
  // Of a connection that can't be accepted; the next one may be. Unheard it would end the process.
  server.on(
    "error",
    seldom((error: Error) =>
      log.error({ error: error.message }, "a connection could not be accepted"),
    ),
  );
  const stopWatching = destroyStalled(sockets, timeouts.stalled);

  return {
    ...describe(server, address, options.tls !== undefined),
    renew(tls) {
      if (server instanceof TlsServer) server.setSecureContext(contextOptions(tls));
    },
    drain() {
      http1.drain();
      http2.drain();
    },
    close: closer({
      server,
      idle() {
        for (const socket of undecided) socket.destroy();
        http1.part();
        closeIdle(http1.server, sockets);
        http2.close();
      },
      destroy() {
        http2.destroy();
        for (const socket of sockets) socket.destroy();
      },
      closed() {
        stopWatching();
        http1.server.close();
      },
    }),
  };
}

/**
 * Closes connections over HTTP/1 that have nothing to do. Node takes one for idle once its
 * answer is ended, also where most of that is still to be sent, and spares none: those that
 * send can't be destroyed meanwhile.
 */
function closeIdle(http1: HttpServer, sockets: Iterable<Socket>): void {
  const sending = [...sockets].filter((socket) => socket.writableLength > 0);
  for (const socket of sending) socket.destroy = () => socket;
  http1.closeIdleConnections();
  for (const socket of sending) Reflect.deleteProperty(socket, "destroy");
}

interface Closing {
  readonly server: Server;
  /** Closes what has nothing to do. */
  idle(): void;
  /** Closes everything. */
  destroy(): void;
  /** Called when no connection is left. */
  closed(): void;
}

function closer({ server, idle, destroy, closed }: Closing): Listener["close"] {
  let done: Promise<void> | undefined;
  // A request that has arrived and was not read yet would be lost: what has arrived is read ahead of this.
  const sweep = () => setImmediate(idle);
  return (graceMs = 30_000, lingerMs = 0) => {
    done ??= new Promise((resolve) => {
      let sweeping: NodeJS.Timeout | undefined;
      const lingering = setTimeout(() => {
        sweeping = setInterval(sweep, closingInterval);
        sweep();
      }, lingerMs);
      server.close(() => {
        clearTimeout(lingering);
        clearInterval(sweeping);
        closed();
        resolve();
      });
    });
    const timer = setTimeout(destroy, graceMs);
    return done.finally(() => clearTimeout(timer));
  };
}

function describe(
  server: Server,
  { host, path }: Address,
  tls: boolean,
): Pick<Listener, "address" | "port" | "url"> {
  if (path !== undefined) return { address: path, port: 0, url: `unix:${path}` };
  const { port } = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host;
  return { address: host, port, url: `${tls ? "https" : "http"}://${name}:${port}` };
}

/** A listener's address as this machine reaches it: where every interface is meant, its own. */
export function localUrl(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//localhost:");
}
