/** Calls that wait for room at a target: each caller in turn, whoever has many waits for himself. */
import { LintelError } from "../errors.js";
import type { Endpoint } from "./endpoint.js";

/** A place at a target, kept for a call. */
export interface Place {
  readonly endpoint: Endpoint;
  /** Whether the call is the one that tries whether the target is back. */
  readonly probe: boolean;
}

/** A call that waits for any of some targets. */
export class Waiter {
  readonly caller: string;
  readonly endpoints: readonly Endpoint[];
  /** When it has waited long enough. */
  readonly until: number;
  /** Called when its place may have changed. */
  readonly moved: (() => void) | undefined;
  /** Whether something of its call is made already: it loses its place to nobody. */
  readonly begun: boolean;
  /** Of its prompt, where a quota counts them. */
  readonly tokens: number;
  /** Where there is room now, and a place is kept; `undefined`: nowhere any more, choose anew. */
  readonly place: Promise<Place | undefined>;
  /** The queues that it stands in. */
  readonly queues = new Set<FairQueue>();
  /** Those that have had no room for it, and let it in once they have. */
  readonly shutOut = new Set<FairQueue>();
  #resolve: (place: Place | undefined) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(
    caller: string,
    endpoints: readonly Endpoint[],
    until = Number.POSITIVE_INFINITY,
    moved?: () => void,
    begun = false,
    tokens = 0,
  ) {
    this.caller = caller;
    this.endpoints = endpoints;
    this.until = until;
    this.moved = moved;
    this.begun = begun;
    this.tokens = tokens;
    this.place = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever gave up does not hear of it.
    this.place.catch(() => {});
  }

  /** Ends the waiting. */
  settle(place: Place | undefined): void {
    this.leave();
    this.#resolve(place);
  }

  /** Ends the waiting with an error. */
  fail(reason: unknown): void {
    this.leave();
    this.#reject(reason);
  }

  /** Frees its places, at once. */
  leave(): void {
    for (const queue of this.shutOut) queue.forget(this);
    for (const queue of this.queues) queue.remove(this);
  }

  /** Whether none of the targets in whose queues it stands will take a call in time, as far as is known. */
  stuck(now: number): boolean {
    return !this.endpoints.some(
      (endpoint) => this.queues.has(endpoint.queue) && endpoint.usableBy(this.until, now),
    );
  }

  /** Calls that are served before it, by the order as it is now; the fewest of its queues. */
  position(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const queue of this.queues) least = Math.min(least, queue.position(this));
    return Number.isFinite(least) ? least : 0;
  }
}

/** The queue before one target. */
export class FairQueue {
  readonly #share: ((caller: string) => number) | undefined;
  /** Whose turn is next stands first; each caller's own calls in the order of their coming. */
  readonly #callers = new Map<string, Set<Waiter>>();
  #size = 0;
  /** Calls for which there was no room here, and that may wait elsewhere: the first one is let in next. */
  readonly #outside = new Set<Waiter>();

  /** @param share what a caller has already: who has least is next, and among equals each in turn */
  constructor(share?: (caller: string) => number) {
    this.#share = share;
  }

  /** Calls that wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * Lets a call in; nothing happens if it is in.
   * @param most as many may wait. If they do, whoever has most calls waiting
   *   loses the last of them to a caller who would have fewer. Who gets no place, or loses it, is
   *   let in once there is one, if it waits elsewhere until then
   * @param now as the clock says
   * @returns whether it was let in
   */
  enter(waiter: Waiter, most: number, now: number): boolean {
    if (waiter.queues.has(this)) return true;
    if (this.#size >= most) {
      const own = this.#callers.get(waiter.caller)?.size ?? 0;
      const longest = this.#longest();
      const last = [...(longest ?? [])].findLast((one) => !one.begun);
      if (!longest || !last || longest.size <= own + 1) {
        this.#shutOut(waiter);
        return false;
      }
      this.#takeOut(last);
      if (last.stuck(now)) last.fail(crowded());
      else this.#shutOut(last);
      this.#tellMoved();
    }
    this.#letIn(waiter);
    return true;
  }

  /** It waits no more, or needs no place. */
  forget(waiter: Waiter): void {
    waiter.shutOut.delete(this);
    this.#outside.delete(waiter);
  }

  #shutOut(waiter: Waiter): void {
    waiter.shutOut.add(this);
    this.#outside.add(waiter);
  }

  #letIn(waiter: Waiter): void {
    this.forget(waiter);
    const line = this.#callers.get(waiter.caller);
    if (line) line.add(waiter);
    else this.#callers.set(waiter.caller, new Set([waiter]));
    waiter.queues.add(this);
    this.#size++;
  }

  /** Takes out whose turn it is; it is out of all other queues then, too. */
  shift(): Waiter | undefined {
    const next = this.#next();
    if (!next) return undefined;
    const [caller, line] = next;
    // To the end of the round.
    this.#callers.delete(caller);
    this.#callers.set(caller, line);
    const [waiter] = line;
    waiter?.leave();
    return waiter;
  }

  #next(): [string, Set<Waiter>] | undefined {
    let next: [string, Set<Waiter>] | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const entry of this.#callers) {
      const share = this.#share?.(entry[0]) ?? 0;
      if (share >= least) continue;
      next = entry;
      least = share;
      if (share === 0) break;
    }
    return next;
  }

  /** Takes a call out; its place is that of the first for whom there was none. Nothing happens if it is not in. */
  remove(waiter: Waiter): void {
    if (!this.#takeOut(waiter)) return;
    const [next] = this.#outside;
    if (next) this.#letIn(next);
    this.#tellMoved();
  }

  #tellMoved(): void {
    for (const other of this.#waiting()) other.moved?.();
  }

  #takeOut(waiter: Waiter): boolean {
    waiter.queues.delete(this);
    const line = this.#callers.get(waiter.caller);
    if (!line?.delete(waiter)) return false;
    this.#size--;
    if (line.size === 0) this.#callers.delete(waiter.caller);
    return true;
  }

  /** Takes out calls for which `hopeless` holds, and tells them to choose anew. */
  sweep(hopeless: (waiter: Waiter) => boolean): void {
    for (const waiter of [...this.#waiting()]) if (hopeless(waiter)) waiter.settle(undefined);
  }

  /** How many calls are served before one, if none comes or leaves, and all callers have equal shares. */
  position(waiter: Waiter): number {
    const own = this.#callers.get(waiter.caller);
    if (!own?.has(waiter)) return 0;
    let before = 0;
    for (const mine of own) {
      if (mine === waiter) break;
      before++;
    }
    let sum = before;
    let passed = false;
    for (const [caller, line] of this.#callers) {
      if (caller === waiter.caller) passed = true;
      else sum += Math.min(line.size, passed ? before : before + 1);
    }
    return sum;
  }

  *#waiting(): Iterable<Waiter> {
    for (const line of this.#callers.values()) yield* line;
  }

  #longest(): Set<Waiter> | undefined {
    let longest: Set<Waiter> | undefined;
    for (const line of this.#callers.values()) {
      if (!longest || line.size > longest.size) longest = line;
    }
    return longest;
  }
}

const crowded = () =>
  new LintelError("rate_limited", "too many of your requests wait for this model already", {
    retryAfter: 1,
  });
