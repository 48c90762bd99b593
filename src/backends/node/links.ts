/**
 * The connections to a node. A server ends one on which too many calls were given up, with all that
 * runs there; and it takes only so many at once, more wait on our side without a word.
 */
import type { Transport } from "@connectrpc/connect";
import type { Http2SessionManager } from "@connectrpc/connect-node";
import { channelTo } from "./channel.js";

/**
 * Calls given up on one connection after which new ones go to another, and how many are
 * forgotten each second. Servers on nghttp2, Node's among them, take 1000 at once and 33 a
 * second for long; those that still run there may be given up, too.
 */
const most = 500;
const forgotten = 20;

/** Calls at once on one connection: servers should take so many (RFC 9113, 5.1.2), and Lintel takes 250. */
const mostAtOnce = 100;

/** What a call runs on. */
export class Link {
  readonly session: Http2SessionManager;
  readonly transport: Transport;
  #running = 0;
  #retired = false;
  #level = 0;
  #then = performance.now();

  /** @param pingIntervalMs as of `Links` */
  constructor(address: string, pingIntervalMs: number) {
    const { session, transport } = channelTo(address, { pingIntervalMs });
    this.session = session;
    this.transport = transport;
  }

  get worn(): boolean {
    return this.#level > most;
  }

  /** Whether its server takes one more call at once. */
  get hasRoom(): boolean {
    return this.#running < mostAtOnce;
  }

  begin(): void {
    this.#running += 1;
  }

  /** @param givenUp whether the call was ended from here, before its answer was complete */
  end(givenUp: boolean): void {
    const now = performance.now();
    const level = this.#level - ((now - this.#then) / 1000) * forgotten;
    this.#then = now;
    this.#level = Math.max(0, level) + (givenUp ? 1 : 0);
    this.#running -= 1;
    this.#closeIfOver();
  }

  /** Closes it with its last call. */
  retire(): void {
    this.#retired = true;
    this.#closeIfOver();
  }

  #closeIfOver(): void {
    if (!this.#retired || this.#running > 0) return;
    // Outside of the read that brought the last answer's end: Node 20 corrupts its memory there
    // (nodejs/node#64113).
    setImmediate(() => this.session.abort());
  }
}

/** Those that take calls. */
export class Links {
  readonly #connect: () => Link;
  #taking: Link[] = [];

  /** @param pingIntervalMs silence after which a connection is probed, milliseconds */
  constructor(address: string, pingIntervalMs: number) {
    this.#connect = () => new Link(address, pingIntervalMs);
  }

  /** For one call, which says when it ends. The first that has room: those after it become idle, and close. */
  take(): Link {
    let link = this.#taking.find(({ hasRoom }) => hasRoom);
    if (link?.worn) {
      this.leave(link);
      return this.take();
    }
    if (!link) {
      link = this.#connect();
      this.#taking.push(link);
    }
    link.begin();
    return link;
  }

  /** Lets no more calls take it. */
  leave(link: Link): void {
    link.retire();
    this.#taking = this.#taking.filter((other) => other !== link);
  }

  /** Ends the connections that take calls; those before them end with their calls. */
  close(): void {
    for (const { session } of this.#taking) session.abort();
  }
}
