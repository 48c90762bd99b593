/**
 * The connections to a node. A server ends one on which too many calls were given up, with all that
 * runs there; and it takes only so many at once, more wait on our side without a word.
 */
import type { Transport } from "@connectrpc/connect";
import type { ClientTls } from "../http/client-tls.js";
import { channelTo, type Sessions } from "./channel.js";

/**
 * Calls given up on one connection after which new ones go to another, and how many are
 * forgotten each second. Servers on nghttp2, Node's among them, take 1000 at once and 33 a
 * second for long; those that still run there may be given up, too.
 */
const most = 500;
const forgotten = 20;

/**
 * Most calls at once on one connection: servers should take so many (RFC 9113, 5.1.2), and Lintel takes
 * 250. Of one that says that it takes fewer no more are asked.
 */
const mostAtOnce = 100;

/** What a call runs on. */
export class Link {
  readonly session: Sessions;
  readonly transport: Transport;
  readonly #pingIntervalMs: number;
  #atOnce: number;
  #running = 0;
  #retired = false;
  #level = 0;
  #then = performance.now();

  /**
   * @param pingIntervalMs as of `Links`
   * @param atOnce how many calls its server takes at once, as far as is known
   * @param tls as of `Links`
   */
  constructor(address: string, pingIntervalMs: number, atOnce: number, tls?: ClientTls) {
    const { session, transport } = channelTo(address, { pingIntervalMs }, tls);
    this.session = session;
    this.transport = transport;
    this.#pingIntervalMs = pingIntervalMs;
    this.#atOnce = atOnce;
  }

  get worn(): boolean {
    return this.#level > most;
  }

  /** How many calls it takes at once. */
  get atOnce(): number {
    const { atOnce } = this.session;
    // Of a server that takes none for now another connection would take none, either.
    if (atOnce) this.#atOnce = Math.min(mostAtOnce, atOnce);
    return this.#atOnce;
  }

  /** Whether its server takes one more call at once. */
  get hasRoom(): boolean {
    return this.#running < this.atOnce;
  }

  /**
   * Whether nothing is to be waited for: a connection that nobody used for long is probed first, or made
   * anew, and so is one that its server leaves.
   */
  get isReady(): boolean {
    if (this.session.leaves) return false;
    const state = this.session.state();
    if (state === "open") return true;
    return state === "idle" && performance.now() - this.#then < this.#pingIntervalMs;
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
  readonly #connect: (atOnce: number) => Link;
  #taking: Link[] = [];

  /**
   * @param pingIntervalMs silence after which a connection is probed, milliseconds
   * @param tls for https://. Default: what Node trusts, and no certificate to show
   */
  constructor(address: string, pingIntervalMs: number, tls?: ClientTls) {
    this.#connect = (atOnce) => new Link(address, pingIntervalMs, atOnce, tls);
  }

  /** For one call, which says when it ends. The first that has room: those after it become idle, and close. */
  take(): Link {
    let link = this.#taking.find(({ hasRoom }) => hasRoom);
    if (link?.worn) {
      this.leave(link);
      return this.take();
    }
    if (!link) {
      // As the others know it: it hears of its own server with its first answer, and calls that are too many are refused.
      link = this.#connect(Math.min(mostAtOnce, ...this.#taking.map(({ atOnce }) => atOnce)));
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
