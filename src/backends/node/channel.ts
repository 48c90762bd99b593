/** Channels of gRPC to servers of the contract. */
import type { Transport } from "@connectrpc/connect";
import {
  createGrpcTransport,
  Http2SessionManager,
  type Http2SessionOptions,
} from "@connectrpc/connect-node";
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

/**
 * Connections whose answers come by whole messages.
 *
 * The manager stops listening to a connection as soon as a call finds it broken. Its error may
 * come only then, and would end the process.
 */
class Sessions extends Http2SessionManager {
  override async request(...asked: Parameters<Http2SessionManager["request"]>) {
    const stream = await super.request(...asked);
    const { session } = stream;
    if (session && !session.listeners("error").includes(unheard)) {
      session.on("error", unheard);
      session.setLocalWindowSize(aheadOfAll);
    }
    const pieces = stream[Symbol.asyncIterator].bind(stream);
    stream[Symbol.asyncIterator] = () => new WholeMessages(pieces(), largestMessage) as never;
    return stream;
  }
}

/** Its streams have told their calls. */
const unheard = () => {};

/** A connection, which is made with the first call, and what calls go by. */
export interface Channel {
  readonly session: Http2SessionManager;
  readonly transport: Transport;
}

/** A channel to an address that `isAddress` takes. */
export function channelTo(address: string, options: Http2SessionOptions = {}): Channel {
  const { baseUrl, nodeOptions } = connectionTo(address);
  const settings = { initialWindowSize: ahead };
  const session = new Sessions(baseUrl, options, { settings, ...nodeOptions });
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager: session,
    readMaxBytes: largestMessage,
    acceptCompression: [],
  });
  return { session, transport };
}
