/** Channels of gRPC to servers of the contract. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { ConnectError, type Transport } from "@connectrpc/connect";
import {
  createGrpcTransport,
  Http2SessionManager,
  type Http2SessionOptions,
} from "@connectrpc/connect-node";
import type { ClientTls } from "../http/client-tls.js";
import { endedSilently } from "../http/tls-remedy.js";
import { connectionTo } from "./address.js";
import { WholeMessages } from "./whole-messages.js";

/** Eight images of the largest size are below this. */
const largestMessage = 256 * 1024 * 1024;

/**
 * How much a server may send ahead of our reading, in one answer and on a connection, bytes. HTTP/2
 * begins with 64 KiB for each, of which one round trip carries no more: a picture of 2 MB took 32.
 */
const ahead = 1024 * 1024;
const aheadOfAll = 16 * ahead;

/** Errors of streams that their servers did not begin. */
const notBegun = new WeakSet<object>();

/** Whether the server said that it did nothing for a call, as it has no room or leaves the connection: it may be sent anew. */
export const wasNotBegun = (thrown: unknown): boolean =>
  thrown instanceof ConnectError && thrown.cause instanceof Error && notBegun.has(thrown.cause);

/**
 * Connections whose answers come by whole messages, one at a time but for those that end with their calls.
 *
 * The manager stops listening to a connection as soon as a call finds it broken. Its error may
 * come only then, and would end the process.
 */
export class Sessions extends Http2SessionManager {
  /** Whether the server is shown a certificate, which it may not take. */
  shows = false;
  #session: ClientHttp2Session | undefined;
  /** Those on which HTTP/2 came. */
  readonly #speak = new WeakSet<ClientHttp2Session>();
  /** The last stream that the server begins, of connections that it leaves. */
  readonly #last = new WeakMap<ClientHttp2Session, number>();

  /** How many calls the server takes at once; `undefined`: it has not said so. */
  get atOnce(): number | undefined {
    const said = this.#session?.remoteSettings?.maxConcurrentStreams;
    return said === unlimited ? undefined : said;
  }

  /** Whether the next call makes a connection, though calls may still run on the one that there is. */
  get leaves(): boolean {
    const session = this.#session;
    return session !== undefined && (session.closed || this.#last.has(session));
  }

  override async request(...asked: Parameters<Http2SessionManager["request"]>) {
    const stream = await super.request(...asked).catch(ofHandshake);
    const session = stream.session as ClientHttp2Session | undefined;
    if (session && session !== this.#session) this.#begin(session);
    if (session) {
      stream.prependListener("error", (error) => this.#look(stream, session, error));
      let answered = false;
      stream.once("response", (headers) => {
        answered = true;
        readable(headers);
      });
      stream.once("trailers", readable);
      // Of such an end the library tells the code of the stream alone.
      stream.prependListener("close", () => {
        const ended = this.shows && session.closed && !this.#speak.has(session);
        if (ended) stream.emit("error", endedSilently());
        // For that of no error it would wait until the caller leaves (connectrpc/connect-es#1678).
        else if (!answered && stream.rstCode === constants.NGHTTP2_NO_ERROR) {
          stream.emit("error", endedUnanswered());
        }
      });
    }
    const pieces = stream[Symbol.asyncIterator].bind(stream);
    stream[Symbol.asyncIterator] = () => new WholeMessages(pieces(), largestMessage) as never;
    return stream;
  }

  #begin(session: ClientHttp2Session): void {
    this.#session = session;
    session.on("error", unheard);
    session.once("remoteSettings", () => this.#speak.add(session));
    session.setLocalWindowSize(aheadOfAll);
    // Behind the manager's own listener: one that closes before another took its place is kept for good.
    session.once("close", () => this.#forget(session));
    session.on("goaway", (_code, last: number) => this.#last.set(session, last));
  }

  /** Takes it off the library's own list, which is nobody's to see; another version may have none. */
  #forget(session: ClientHttp2Session): void {
    const { shuttingDown: left } = this as unknown as { shuttingDown?: { conn: unknown }[] };
    const at = left?.findIndex(({ conn }) => conn === session) ?? -1;
    if (at >= 0) left?.splice(at, 1);
  }

  #look({ id = 0, rstCode }: ClientHttp2Stream, session: ClientHttp2Session, error: Error): void {
    const left = id > (this.#last.get(session) ?? Number.POSITIVE_INFINITY);
    // Streams of connections that ended have this code as well.
    const refused = rstCode === constants.NGHTTP2_REFUSED_STREAM && !session.closed;
    if (left || refused) notBegun.add(error);
    // Only the words tell it from other ends.
    if (error.message === "Protocol error" && !this.#speak.has(session)) {
      Object.assign(error, { remedy: noHttp2 });
    }
  }
}

const noHttp2 = "no HTTP/2 is spoken there";

/** Where a server says in the handshake that it has another protocol. */
function ofHandshake(thrown: Error): never {
  const { code } = Object(thrown.cause ?? thrown) as NodeJS.ErrnoException;
  const other = /_NO_APPLICATION_PROTOCOL$/.test(String(code));
  throw other ? Object.assign(thrown, { remedy: noHttp2 }) : thrown;
}

/**
 * Servers that do not escape a `%` in what they say of a status (older ones of tonic and Akka, proxies):
 * such a message is to be taken as it came, and the library throws it away, with the status.
 */
function readable(headers: IncomingHttpHeaders): void {
  const message = headers[messageHeader];
  if (typeof message !== "string" || !message.includes("%")) return;
  try {
    decodeURIComponent(message);
  } catch {
    headers[messageHeader] = message.replaceAll("%", "%25");
  }
}

const messageHeader = "grpc-message";

/** That of a stream which its server, or a proxy before it, ended without an answer and without an error. */
const endedUnanswered = (): Error =>
  Object.assign(new Error("the server ended the call without an answer"), { code: "ECONNRESET" });

/** Streams at once of a server that has not said how many. */
const unlimited = 2 ** 32 - 1;

/** Its streams have told their calls. */
const unheard = () => {};

/** A connection, which is made with the first call, and what calls go by. */
export interface Channel {
  readonly session: Sessions;
  readonly transport: Transport;
}

/**
 * A channel to an address that `isAddress` takes.
 * @param tls for https://. Default: what Node trusts, and no certificate to show
 */
export function channelTo(
  address: string,
  options: Http2SessionOptions = {},
  tls?: ClientTls,
): Channel {
  const { baseUrl, nodeOptions } = connectionTo(address, tls);
  const settings = { initialWindowSize: ahead };
  const session = new Sessions(baseUrl, options, { settings, ...nodeOptions });
  session.shows = tls?.shows === true;
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager: session,
    readMaxBytes: largestMessage,
    acceptCompression: [],
  });
  return { session, transport };
}
