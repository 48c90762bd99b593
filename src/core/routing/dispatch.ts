/**
 * One call on its way to a target: the choice, the waiting for room, further
 * attempts, and hedging. All of that ends with the first message that the caller
 * may see: what fails after it is the caller's to see.
 */
import type { Call, CallEnd } from "../call.js";
import { type LintelError, toLintelError } from "../errors.js";
import { Steps, tell, type Waiter } from "../steps.js";
import { affinityOf } from "./affinity.js";
import type { Attempt, Batch } from "./attempt.js";
import { Attempts } from "./attempts.js";
import { isDeadline } from "./blame.js";
import { blockedAnswer, isBlockedAnswer } from "./blocked.js";
import { Candidates } from "./candidates.js";
import { hedgeDelay, hedged, type Outcome, type Started } from "./hedge.js";
import { lesserFor } from "./lesser.js";
import type { Place } from "./queue.js";
import { beforeRetry } from "./retry.js";
import type { RoutingTools } from "./routing.js";
import type { HedgeSettings } from "./settings.js";
import type { Target } from "./target.js";
import { Unseen } from "./unseen.js";
import { onlyTells, onlyWaits, Waiting } from "./waiting.js";

type Step = IteratorResult<Batch>;
type End = Parameters<CallEnd["ended"]>[0];

/** The answer to one call, from whichever target gives it. */
export class Dispatch extends Steps<Batch> implements CallEnd {
  readonly #call: Call;
  readonly #tools: RoutingTools;
  readonly #candidates: Candidates;
  readonly #hedge: HedgeSettings | undefined;
  readonly #attempts: Attempts;
  #pauses = 0;
  #waiting: Waiting | undefined;
  /** While it waits: when it has waited long enough, though it chose anew meanwhile. */
  #waitsUntil: number | undefined;
  /** Told that it has not begun. */
  #unbegun: Started | undefined;
  /** Where the caller sees nothing of images before all are there. */
  readonly #unseen: Unseen | undefined;
  /** Something came that stays, whatever becomes of the rest. */
  #settled = false;
  /** Nobody asks for more of the answer. */
  #refused = false;

  constructor(call: Call, tools: RoutingTools) {
    super();
    this.#call = call;
    this.#tools = tools;
    const targets = call.targets ?? [];
    // The one that tries whether a target is back may take minutes to draw.
    const patient = call.method === "streamTextToImage";
    const lesser = lesserFor(call, targets);
    const affinity = targets.length > 1 ? affinityOf(call, tools.settings) : undefined;
    this.#candidates = new Candidates(targets, affinity, tools.random, patient, lesser);
    this.#hedge = targets.length > 1 ? tools.hedgeOf(call) : undefined;
    this.#unseen = call.unseen ? new Unseen() : undefined;
    const detached = this.#hedge !== undefined || call.unseen === true;
    this.#attempts = new Attempts(call, tools, this.#candidates, detached);
  }

  ask(by: Waiter<Step>): void {
    const { winner } = this.#attempts;
    if (!winner) tell(this.#open(), by);
    // A chat has many steps, and ends with its call: nothing is made for a step.
    else if (this.#call.method === "chat") winner.ask(by);
    else tell(this.#follow(winner), by);
  }

  async return(): Promise<Step> {
    this.#attempts.release();
    // A unary answer is complete with its first message: nobody asks for more.
    if (this.#attempts.winner && this.#call.method === "complete") this.ended("ok");
    // Why nobody asks any more is told with the call's end: the answer may have been broken.
    else this.#refused = true;
    return { done: true, value: undefined };
  }

  /** The call is over, whoever ended it. */
  ended(code: End, error?: LintelError): void {
    this.#waiting?.leave();
    const ours = this.#refused && code !== "upstream_failed";
    const own = ours || this.#call.signal.aborted || isDeadline(this.#call, code);
    this.#attempts.end(error ?? code, own);
  }

  async #open(): Promise<Step> {
    const { signal, life } = this.#call;
    const { clock, budget } = this.#tools;
    if (this.#attempts.asked === 0 && !this.#waiting) {
      life?.onEnd(this);
      budget.request(clock.now());
    }
    for (;;) {
      signal.throwIfAborted();
      if (this.#unbegun) {
        const answer = await this.#ask(this.#unbegun);
        if (answer) return answer;
        continue;
      }
      const now = clock.now();
      const chosen = this.#waiting ? "full" : this.#candidates.choose(now);
      if (chosen === undefined) throw this.#candidates.lastWord(now);
      let start: Started | undefined;
      if (chosen === "full") {
        this.#waiting ??= this.#enter();
        if (!this.#waiting) continue;
        const place = await this.#waiting.next();
        if (place && "event" in place) return { done: false, value: [place] };
        // Whoever ended the call meanwhile has given the place back.
        signal.throwIfAborted();
        this.#waiting = undefined;
        start = place && this.#attempts.begin(this.#targetOf(place), place.probe, clock.now());
      } else {
        start = this.#attempts.begin(chosen, this.#take(chosen), now);
      }
      if (!start) continue;
      this.#waitsUntil = undefined;
      const answer = await this.#ask(start);
      if (answer) return answer;
    }
  }

  #take({ endpoint }: Target): boolean {
    return endpoint.take(this.#call.caller?.id ?? "", this.#attempts.promptTokens(endpoint));
  }

  /** The first messages; `undefined`: it failed, and another attempt may follow. */
  async #ask(start: Started): Promise<Step | undefined> {
    const { attempt } = start;
    const after = hedgeDelay(this.#call, this.#hedge, attempt.target);
    if (after !== undefined) {
      const outcome = await this.#hedged(start, after);
      if ("first" in outcome) return this.#won(outcome.attempt, outcome.first);
      await this.#failed(outcome.attempt, outcome.failure);
      return undefined;
    }
    let first: Step;
    try {
      first = await this.#first(start);
    } catch (thrown) {
      this.#unbegun = undefined;
      await this.#failed(attempt, this.#lost(attempt, thrown));
      return undefined;
    }
    this.#unbegun = onlyWaits(first) ? start : undefined;
    // The status of an answer goes out now, and where nobody else can be asked its warnings with it.
    if (this.#unbegun && this.#candidates.all.length === 1) attempt.vouch();
    return this.#unbegun ? first : this.#won(attempt, first);
  }

  #first({ attempt, probe }: Started): Promise<Step> {
    const first = attempt.first(probe);
    return this.#tools.settings.retry.blocked ? this.#unblocked(attempt, first) : first;
  }

  /** The first messages, unless a filter blocked all of the answer, and another target may give one. */
  async #unblocked({ target }: Attempt, asked: Promise<Step>): Promise<Step> {
    const first = await asked;
    if (!isBlockedAnswer(first, this.#call.request)) return first;
    if (this.#attempts.targets().length > 1) throw blockedAnswer();
    const { budget, clock, settings } = this.#tools;
    const now = clock.now();
    const mayFollow = this.#attempts.asked < settings.retry.attempts && budget.hasRoom(now);
    if (mayFollow && this.#candidates.hasOther(target, now)) throw blockedAnswer();
    return first;
  }

  #hedged(start: Started, after: number): Promise<Outcome> {
    return hedged(start, {
      clock: this.#tools.clock,
      after,
      first: (started) => this.#first(started),
      second: () => this.#second(),
      lost: (loser, thrown) => this.#lost(loser, thrown),
    });
  }

  #won(attempt: Attempt, first: Step): Step | Promise<Step> {
    this.#call.signal.throwIfAborted();
    this.#attempts.won(attempt, first);
    return this.#kept(attempt, first) ?? this.#follow(attempt);
  }

  /** A step of the winner's, as the caller may have it. With what stays of it no other attempt follows. */
  #kept(winner: Attempt, step: Step): Step | undefined {
    if (this.#settled) return step;
    const kept = this.#unseen ? this.#unseen.pass(step) : step;
    if (kept && !(this.#unseen && onlyTells(step))) {
      this.#settled = true;
      winner.vouch();
    }
    return kept;
  }

  async #follow(winner: Attempt): Promise<Step> {
    try {
      for (;;) {
        const step = await new Promise<Step>((came, failed) => winner.ask({ came, failed }));
        if (step.done) winner.end("ok");
        const kept = this.#kept(winner, step);
        if (kept) return kept;
      }
    } catch (thrown) {
      if (!this.#settled) {
        this.#unseen?.forget();
        await this.#failed(winner, this.#lost(winner, thrown));
        return this.#open();
      }
      throw thrown;
    }
  }

  /** Why an attempt failed. What happens after an abort is nobody's failure. */
  #lost(attempt: Attempt, thrown: unknown): LintelError {
    const { signal } = this.#call;
    return signal.aborted ? toLintelError(signal.reason) : this.#attempts.lost(attempt, thrown);
  }

  /** Lets another attempt follow, after a pause, or throws why there is none, with what this one warns of. */
  async #failed(attempt: Attempt, failure: LintelError): Promise<void> {
    this.#call.signal.throwIfAborted();
    const tries = { asked: this.#attempts.asked, pauses: this.#pauses };
    try {
      if (failure.retry === "never") {
        this.#attempts.drop(failure);
        throw failure;
      }
      this.#pauses = await beforeRetry(this.#call, this.#tools, this.#candidates, tries);
    } catch (thrown) {
      attempt.vouch();
      throw thrown;
    }
  }

  /** A second target, if there is a healthy one with room, and attempts and the budget allow it. */
  #second(): Started | undefined {
    // Its time may come after the caller left, and before the first one noticed.
    if (this.#call.signal.aborted) return undefined;
    const { clock, budget, settings } = this.#tools;
    if (this.#attempts.asked >= settings.retry.attempts) return undefined;
    const now = clock.now();
    const chosen = this.#candidates.second(now, this.#attempts.targets());
    if (!chosen || !budget.take(now)) return undefined;
    try {
      return this.#attempts.begin(chosen, this.#take(chosen), now, true);
    } catch {
      return undefined;
    }
  }

  /** `undefined`: no more may wait for those that leave nothing out, choose anew among all. */
  #enter(): Waiting | undefined {
    const { settings, bounds, clock } = this.#tools;
    const { size, timeoutMs } = settings.queue;
    const now = clock.now();
    const endpoints = this.#candidates.awaited(now).map(({ endpoint }) => endpoint);
    const tokens = Math.max(...endpoints.map((it) => this.#attempts.promptTokens(it)));
    this.#waitsUntil ??= now + timeoutMs;
    const most = this.#call.begun ? Number.POSITIVE_INFINITY : size;
    const patience = { size: most, timeoutMs: this.#waitsUntil - now };
    try {
      return new Waiting(this.#call, endpoints, tokens, patience, bounds, clock);
    } catch (thrown) {
      if (!this.#candidates.settle()) throw thrown;
      return undefined;
    }
  }

  #targetOf({ endpoint }: Place): Target {
    return this.#candidates.all.find((target) => target.endpoint === endpoint) as Target;
  }
}
