/** Settings of the listeners and of the app behind them. */
import type { Logger } from "../core/log.js";

/** How long a client may take, milliseconds. */
export interface Timeouts {
  /**
   * From the connection (TLS: from the handshake's end) to bytes that tell HTTP/1 from HTTP/2, and from
   * there to the settings with which a client of HTTP/2 begins.
   */
  readonly firstBytes: number;
  /** For the headers of an HTTP/1 request, and for a TLS handshake. */
  readonly headers: number;
  /** For a whole request with its body; on HTTP/2 from the headers on. Answers may take longer. */
  readonly request: number;
  /** Between two requests of an HTTP/1 connection. */
  readonly keepAlive: number;
  /** Without any stream on an HTTP/2 connection. */
  readonly idleSession: number;
  /** To hear that an HTTP/2 connection is about to close. */
  readonly notice: number;
  /** To close an HTTP/2 connection over TLS by itself, once the last stream has ended behind a goodbye. */
  readonly parting: number;
  /** Between looks at whether an HTTP/2 connection still works. */
  readonly ping: number;
  /** Without the client taking any of what waits to be sent to it. */
  readonly stalled: number;
}

/** Values that suit a service on the open internet. */
export const timeoutDefaults: Timeouts = {
  firstBytes: 10_000,
  headers: 15_000,
  request: 60_000,
  keepAlive: 75_000,
  idleSession: 600_000,
  notice: 10_000,
  parting: 1000,
  ping: 30_000,
  stalled: 120_000,
};

/** How much a client may ask for at once. */
export interface ConnectionLimits {
  /** Connections of one listener; more are closed at once. Absent: as many as the system gives. */
  readonly maxConnections?: number | undefined;
  /**
   * How old a connection may become before its client is told to make another one, milliseconds.
   * What runs on it ends on it. Absent: as old as its client likes.
   */
  readonly maxAge?: number | undefined;
  /** Streams at once on one HTTP/2 connection, and calls in a pipeline of HTTP/1. */
  readonly maxConcurrentStreams: number;
  /** Bytes of a request's headers. */
  readonly maxHeaderBytes: number;
  /** Pings, settings and (ten times dearer) resets on one HTTP/2 connection: this many at once, … */
  readonly controlFrameBurst: number;
  /** … and this many per second for long. On Node 20 only a third as many resets: see `resetBounds`. */
  readonly controlFrameRate: number;
}

/** Far above what well-behaved clients do. */
export const limitDefaults: ConnectionLimits = {
  maxConcurrentStreams: 250,
  maxHeaderBytes: 16 * 1024,
  controlFrameBurst: 5000,
  controlFrameRate: 1000,
};

/** A certificate and its key, as PEM. */
export interface TlsSettings {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Authorities, PEM: only clients with a certificate of theirs are served. Absent: clients show none. */
  readonly clientCa?: string | Buffer | undefined;
}

/** Where to listen. */
export type Address =
  /** Port 0: any free one. */
  | { readonly host: string; readonly port: number; readonly path?: undefined }
  /** A Unix socket, or a named pipe on Windows. */
  | { readonly path: string; readonly host?: undefined; readonly port?: undefined };

/** One listener. */
export type ListenOptions = Address & {
  /** Whether it is this process's alone, also where others serve with it at the same addresses. */
  readonly exclusive?: boolean | undefined;
  /** Absent: cleartext. */
  readonly tls?: TlsSettings | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
  readonly limits?: Partial<ConnectionLimits> | undefined;
  /** Hears of connections that can't be accepted. Default: nobody. */
  readonly log?: Logger | undefined;
};

/** Settings of the app. */
export interface AppSettings {
  /** Largest request body, bytes. */
  readonly bodyLimit: number;
  /** Origins that browsers may call from; `"*"` all of them, `false` none. */
  readonly corsOrigins: "*" | readonly string[] | false;
}

/** The contract's values. */
export const appDefaults: AppSettings = {
  bodyLimit: 1024 * 1024,
  corsOrigins: "*",
};
