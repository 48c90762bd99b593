/** What is known of one model on one backend while the gateway runs. */
import type { LintelError } from "../errors.js";
import { inShort, reasonOf } from "../log.js";
import type { Verdict } from "./circuit.js";
import type { Clock, Timer } from "./clock.js";
import { Health } from "./health.js";
import { Latency } from "./latency.js";
import { FairQueue, type Waiter } from "./queue.js";
import { Quota, type QuotaSettings, QuotaUse } from "./quota.js";
import { Refusals } from "./refusals.js";
import { isAboutTarget } from "./rest.js";
import type { HealthSettings } from "./settings.js";
import type { Shares } from "./shares.js";

/** What an endpoint tells of a turn in its life; for the log. */
export interface EndpointEvents {
  /**
   * It failed too often.
   * @param forMs when it is tried again
   * @param reason why the last call there failed; absent: it was none
   */
  out(endpoint: Endpoint, forMs: number, reason: string | undefined): void;
  back(endpoint: Endpoint): void;
}

/** What an endpoint has of what outlives it, and of what others tell. */
export interface EndpointParts {
  /** What each caller has running there; absent: nobody tells of other gateways. */
  readonly shares?: Shares | undefined;
  /** What was used of its quota; absent: nothing yet. */
  readonly use?: (() => QuotaUse) | undefined;
}

/** A model on a backend: its load, its health, its latency, and the calls that wait for it. */
export class Endpoint {
  readonly backend: string;
  readonly model: string;
  readonly health: Health;
  /** What it refuses for a limit of its own without a word until when. */
  readonly refusals: Refusals;
  readonly queue: FairQueue;
  /** What each caller has running there; absent: nobody tells of other gateways. */
  readonly shares: Shares | undefined;
  /** To the first message of streamed answers. */
  readonly first = new Latency();
  /** To the end of complete answers. */
  readonly whole = new Latency();
  /** How much it may be asked for in a minute; absent: any number. */
  quota: Quota | undefined;
  readonly #use: () => QuotaUse;
  readonly #clock: Clock;
  readonly #events: EndpointEvents;
  #inFlight = 0;
  #maxInFlight = Number.POSITIVE_INFINITY;
  /** Set while calls wait for it to be usable again. */
  #timer: Timer | undefined;
  #timerAt: number | undefined;

  constructor(
    backend: string,
    model: string,
    health: HealthSettings,
    { clock, random }: { readonly clock: Clock; readonly random: () => number },
    events: EndpointEvents,
    { shares, use = () => new QuotaUse() }: EndpointParts = {},
  ) {
    this.quota = undefined;
    this.#use = use;
    this.shares = shares;
    this.queue = new FairQueue(shares && ((caller) => shares.of(caller)));
    this.backend = backend;
    this.model = model;
    this.health = new Health(health, random);
    this.refusals = new Refusals(health);
    this.#clock = clock;
    this.#events = events;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get maxInFlight(): number {
    return this.#maxInFlight;
  }

  /** Of several bounds the smallest counts. */
  bound(maxInFlight: number): void {
    this.#maxInFlight = Math.min(this.#maxInFlight, maxInFlight);
  }

  /** Of several quotas the smallest counts. */
  allow(settings: QuotaSettings): void {
    if (settings.requestsPerMinute === undefined && settings.tokensPerMinute === undefined) return;
    this.quota ??= new Quota(this.#use());
    this.quota.bound(settings);
  }

  /** Whether a call may go there: it is well, and something is left of its quota. */
  usable(now: number): boolean {
    return this.health.isWell(now) && (this.quota === undefined || this.quota.hasRoom(now));
  }

  /** Whether nothing but its quota keeps calls from it. */
  isUsedUp(now: number): boolean {
    return this.health.isWell(now) && this.quota?.hasRoom(now) === false;
  }

  /** As of its health, where something is left of its quota. */
  lastResort(now: number): number | undefined {
    return this.quota?.hasRoom(now) === false ? undefined : this.health.lastResort(now);
  }

  /**
   * Whether it takes calls, or will when the time is over for which it asked to be left alone, and something is
   * left of its quota, unless that is too late.
   */
  usableBy(until: number, now: number): boolean {
    return this.health.isWellBy(until, now) && (this.quota?.roomAt(now) ?? 0) <= until;
  }

  /** Whether a call that comes now need not wait. Nobody overtakes those who do. */
  hasRoom(now: number): boolean {
    // It may have become usable since the last call left it.
    if (this.queue.size > 0) this.serve(now);
    return this.#inFlight < this.#maxInFlight && this.queue.size === 0;
  }

  /** When it may be usable again. */
  usableAt(now: number): number {
    return Math.max(this.health.wellAt(now), this.quota?.roomAt(now) ?? 0);
  }

  /**
   * A call goes there.
   * @param caller whose it is
   * @param tokens of its prompt, where the quota counts them; default: 0
   * @returns whether it is the one that tries whether the endpoint is back
   */
  take(caller: string, tokens = 0): boolean {
    this.#inFlight++;
    this.quota?.take(tokens, this.#clock.now());
    if (this.#maxInFlight !== Number.POSITIVE_INFINITY) this.shares?.took(caller);
    return this.health.circuit.begin();
  }

  /** A call waits for it, where `FairQueue.enter` lets it in. */
  enter(waiter: Waiter, most: number, now: number): void {
    this.queue.enter(waiter, most, now);
    this.#watch(now);
  }

  /** A place that was kept is not needed. @param tokens as they were taken */
  giveBack(now: number, probe: boolean, caller: string, tokens: number): void {
    this.#inFlight--;
    this.quota?.giveBack(tokens, now);
    this.shares?.gave(caller);
    this.health.circuit.end("neutral", probe, now);
    this.serve(now);
  }

  /**
   * A call was answered that went there.
   * @param probe whether it is the one that tries whether it is back
   * @param since when it began
   */
  answered(probe: boolean, since: number, now: number): void {
    this.refusals.answered(since);
    const turn = this.health.answered(probe, since);
    if (turn === "back") this.#events.back(this);
    if (turn) this.serve(now);
  }

  /**
   * A call that went there ended.
   * @param since when it began
   * @param failure where it is the target's
   */
  end(
    verdict: Verdict,
    probe: boolean,
    since: number,
    now: number,
    failure: LintelError | undefined,
    caller: string,
  ): void {
    this.#inFlight--;
    this.shares?.gave(caller);
    const wasOut = this.health.circuit.out;
    const turn = this.health.end(verdict, probe, now, since, failure);
    if (turn === "out") this.#left(now, wasOut, failure);
    else if (turn === "back") this.#events.back(this);
    this.serve(now);
    // Those who wait for nothing else may ask it.
    if (this.lastResort(now) !== undefined) this.#wake(now);
  }

  /** It is left alone where a failure says that it asked for that, and passed over where it keeps refusing without a time. */
  heed(failure: LintelError, now: number): void {
    const { askedDelay, leaving, code } = failure;
    if (!isAboutTarget(failure)) return;
    if (askedDelay === undefined) {
      // Other failures count against its health.
      if (code === "rate_limited") this.refusals.refused(now);
    } else if (this.health.rests(askedDelay * 1000, now, leaving)) this.#wake(now);
  }

  /** It is known to be unfit, without a call. */
  takeOut(now: number): void {
    const { circuit } = this.health;
    const wasOut = circuit.out;
    circuit.trip(now);
    this.#left(now, wasOut);
  }

  /** What other gateways used of its quota in their last minute. */
  hear(requests: number, tokens: number, now: number): void {
    this.quota?.hear(requests, tokens, now);
    if (this.queue.size > 0) this.serve(now);
  }

  /** Hands places that are free to those who wait. */
  serve(now: number): void {
    while (this.queue.size > 0 && this.#inFlight < this.#maxInFlight && this.usable(now)) {
      const waiter = this.queue.shift();
      waiter?.settle({ endpoint: this, probe: this.take(waiter.caller, waiter.tokens) });
    }
    this.#watch(now);
  }

  #left(now: number, wasOut: boolean, failure?: LintelError): void {
    if (!wasOut) {
      const reason = failure && inShort(reasonOf(failure));
      this.#events.out(this, this.health.circuit.until - now, reason);
    }
    this.#wake(now);
  }

  /** Calls that wait for nothing else choose anew: another target may have room by now, or none takes calls. */
  #wake(now: number): void {
    if (this.queue.size === 0) return;
    // Where a quota is used up it is waited for: it comes back by itself.
    const nowhere = ({ endpoints }: Waiter) => endpoints.every(({ health }) => !health.isWell(now));
    this.queue.sweep((waiter) => waiter.stuck(now) || nowhere(waiter));
    this.#watch(now);
  }

  /** Serves those who wait once it may be usable again: nothing else need happen then. */
  #watch(now: number): void {
    const at = this.queue.size > 0 && !this.usable(now) ? this.usableAt(now) : undefined;
    if (at === this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    if (at === undefined) return;
    this.#timer = this.#clock.after(at - now, () => {
      this.#timerAt = undefined;
      this.serve(this.#clock.now());
    });
  }
}
