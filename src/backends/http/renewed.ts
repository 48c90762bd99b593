/** Connections to a server, which are made anew now and then. */
import type { Agent, Pool } from "undici";

/**
 * How long connections are kept while calls use them one after the other, milliseconds. A name is looked up
 * when one is made: without an end those of a busy gateway would stay with the addresses of then, however the name leads elsewhere, and
 * with the servers of then behind a balancer of connections, such as a Service of Kubernetes.
 */
const longest = 300_000;

/** Dispatchers, of which there is one at a time. */
export class Renewed<D extends Agent | Pool> {
  readonly #make: () => D;
  #current: D | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Those whose last requests still run. */
  readonly #former = new Set<D>();

  /** @param make makes one; first when it is needed */
  constructor(make: () => D) {
    this.#make = make;
  }

  /** That for a request which is sent now. */
  get current(): D {
    this.#current ??= this.#begin();
    return this.#current;
  }

  /** Ends every request and every connection. What is sent later fails. */
  async destroy(): Promise<void> {
    const all = [...this.#former, this.current];
    clearTimeout(this.#timer);
    await Promise.all(all.map((one) => (one.destroyed ? undefined : one.destroy())));
  }

  #begin(): D {
    // Nothing is looked at with each request, nor is anything made where none comes.
    this.#timer = setTimeout(() => this.#end(), longest).unref();
    return this.#make();
  }

  /** What runs may end; connections without a request are closed at once. */
  #end(): void {
    const former = this.#current as D;
    this.#current = undefined;
    this.#former.add(former);
    former
      .close()
      .finally(() => this.#former.delete(former))
      .catch(() => {});
  }
}
