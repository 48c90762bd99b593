/** Image servers that tell which checkpoints they have: what is known of one, and what runs on it for us. */

import { isDeepStrictEqual } from "node:util";
import type { StreamTextToImageResponse } from "../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import { atMost, unlessAborted } from "../core/abort.js";
import type { Backend } from "../core/backend.js";
import type { Call } from "../core/call.js";
import type { CallSignal } from "../core/cancellation.js";
import { LintelError } from "../core/errors.js";
import { doneEvent } from "../core/image-events.js";
import type { Logger } from "../core/log.js";
import { type ClientTls, type ClientTlsFiles, clientTlsOf } from "./http/client-tls.js";
import { Listing } from "./http/listing.js";
import { Transport } from "./http/transport.js";
import { Running } from "./running.js";

/** Where a server is, and how its paths are made. */
export interface Site {
  readonly transport: Transport;
  /** Path of a request below the address, for example `at("/sdapi/v1/loras")`. */
  readonly at: (path: string) => string;
}

/** What the entries of such servers have; times in milliseconds. */
interface Entry {
  readonly name: string;
  readonly url: string;
  readonly timeouts: { readonly connect: number };
  readonly refresh: number;
  readonly tls?: ClientTlsFiles | undefined;
}

/** How a server is spoken to. */
export interface ImageServerOptions {
  /** Sent with every request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Most connections at once. */
  readonly connections: number;
  /** What an address may end with that paths are not added to. Default: slashes. */
  readonly ending?: RegExp;
  readonly log: Logger;
}

/** Something that runs on a server, and has to be stopped when nobody waits for it. */
export interface Work {
  /**
   * Resolves when the server is done with it. Never throws.
   * @param closing aborts the waiting
   */
  stop(closing: CallSignal): Promise<void>;
}

/** Images of one call, as they are made. */
export type Events = AsyncGenerator<readonly StreamTextToImageResponse[]>;

type ImageCall = Call<"streamTextToImage">;

/** Longest time for interrupts when the backend is closed, milliseconds. */
const farewell = 2000;

/** A server, as generations see it. */
export abstract class ImageServer<C extends Entry, Inventory, W extends Work> implements Site {
  readonly config: C;
  readonly transport: Transport;
  readonly at: (path: string) => string;
  protected readonly tls: ClientTls | undefined;
  readonly #listing: Listing<Inventory>;
  readonly #running = new Running();
  readonly #work = new Set<W>();
  readonly #closing = new AbortController();
  #models: readonly Model[] = [];

  constructor(config: C, { headers, connections, ending = /\/+$/, log }: ImageServerOptions) {
    this.config = config;
    const { origin, pathname } = new URL(config.url);
    const base = pathname.replace(ending, "");
    this.at = (path) => `${base}${path}`;
    this.tls = clientTlsOf(config, log);
    this.transport = new Transport({
      origin,
      headers,
      timeouts: { connect: config.timeouts.connect, first: 0, idle: 60_000 },
      connections,
      tls: this.tls,
    });
    this.#listing = new Listing({
      read: (signal) => this.read(signal),
      changed: () => this.#changed(),
      refresh: config.refresh,
      backend: config.name,
      log,
    });
  }

  /** Asks the server what it has. @throws LintelError as that can't be read */
  protected abstract read(signal: CallSignal): Promise<Inventory>;

  /**
   * The models of a server that has this.
   * @param failure why the last reading failed, if it did
   */
  protected abstract describe(inventory: Inventory, failure: LintelError | undefined): Model[];

  /** Asks the server how it is. @throws LintelError as it is not well */
  protected abstract health(signal: CallSignal): Promise<void>;

  /** What was read last; absent until then. */
  protected get inventory(): Inventory | undefined {
    return this.#listing.value;
  }

  /**
   * The backend for this server. It begins to read what the server has at once.
   * @param generate makes images, once it is known what the server has
   */
  backend(generate: (call: ImageCall, signal: AbortSignal) => Events): Backend {
    void this.#listing.refresh();
    return {
      name: this.config.name,
      // The same array as long as nothing changed.
      models: () => this.#models,
      ready: (_model, signal) => unlessAborted(this.#ready(), signal),
      handlers: { streamTextToImage: (call) => this.#follow(call, generate) },
      health: (signal) => this.health(signal),
      close: () => this.#close(),
    };
  }

  /** Keeps work in mind until it is stopped. */
  track(work: W): W {
    this.#work.add(work);
    return work;
  }

  /** Sees to it that nothing is made for nobody; resolves when the server is done with it. */
  async stop(work: W): Promise<void> {
    await work.stop(this.#closing.signal);
    this.#work.delete(work);
  }

  /** Waits until it is known what the server has. @throws LintelError as that could not be read */
  async #ready(): Promise<void> {
    if (!this.#listing.value) await this.#listing.ready();
  }

  async *#follow(
    call: ImageCall,
    generate: (call: ImageCall, signal: AbortSignal) => Events,
  ): Events {
    const followed = this.#running.follow(call.signal);
    const { signal } = followed;
    try {
      await unlessAborted(this.#ready(), signal);
      yield* generate(call, signal);
      yield [doneEvent([])];
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      // Whether it is still there is found out soon.
      if (thrown instanceof LintelError && thrown.code === "upstream_unreachable") {
        void this.#listing.refresh();
      }
      throw thrown;
    } finally {
      followed.end();
    }
  }

  #changed(): void {
    const { value, failure } = this.#listing;
    if (!value) return;
    const models = this.describe(value, failure);
    if (!isDeepStrictEqual(models, this.#models)) this.#models = models;
  }

  /** Ends every call, and stops what runs for them. */
  async #close(): Promise<void> {
    this.#listing.close();
    const reason = new LintelError("shutting_down", "the backend was closed");
    this.#running.endAll(reason);
    this.#closing.abort(reason);
    const stopped = Promise.all([...this.#work].map((work) => this.stop(work)));
    await atMost(farewell, stopped);
    await this.transport.close();
  }
}
