/**
 * One call on its way to a target: the choice, the waiting for room, further
 * attempts, and hedging. All of that ends with the first message: what fails
 * after it is the caller's to see.
 */
import type { Call, CallEnd } from "../call.js";
import { LintelError, toLintelError } from "../errors.js";
import { Attempt, type Batch } from "./attempt.js";
import { isDeadline } from "./blame.js";
import { Candidates } from "./candidates.js";
import { hedgeDelay, hedged, type Outcome, type Started } from "./hedge.js";
import type { Place } from "./queue.js";
import { beforeRetry } from "./retry.js";
import type { RoutingTools } from "./routing.js";
import type { Target } from "./target.js";
import { onlyWaits, Waiting } from "./waiting.js";

type Step = IteratorResult<Batch>;
type End = Parameters<CallEnd["ended"]>[0];

/** Failures whose `Retry-After` is about the target, not about the request. */
const rests: ReadonlySet<string> = new Set(["rate_limited", "unavailable", "shutting_down"]);

/** The answer to one call, from whichever target gives it. */
export class Dispatch implements AsyncIterator<Batch>, CallEnd {
  readonly #call: Call;
  readonly #tools: RoutingTools;
  readonly #candidates: Candidates;
  #running: Attempt[] = [];
  #winner: Attempt | undefined;
  #asked = 0;
  #pauses = 0;
  #waiting: Waiting | undefined;
  /** Told that it has not begun. */
  #unbegun: Started | undefined;
  /** Nobody asks for more of the answer. */
  #refused = false;
  #over = false;

  constructor(call: Call, tools: RoutingTools) {
    this.#call = call;
    this.#tools = tools;
    this.#candidates = new Candidates(call.targets ?? [], call.affinity, tools.random);
  }

  get #caller(): string {
    return this.#call.caller?.id ?? "";
  }

  next(): Promise<Step> {
    const winner = this.#winner;
    if (!winner) return this.#open();
    // A chat has many steps, and ends with its call: nothing is made for a step.
    return this.#call.method === "chat" ? winner.next() : this.#follow(winner);
  }

  async return(): Promise<Step> {
    for (const attempt of this.#running) attempt.release();
    // A unary answer is complete with its first message: nobody asks for more.
    if (this.#winner !== undefined && this.#call.method === "complete") this.ended("ok");
    // Why nobody asks any more is told with the call's end: the answer may have been broken.
    else if (this.#call.life) this.#refused = true;
    else this.ended("cancelled");
    return { done: true, value: undefined };
  }

  /** The call is over, whoever ended it. */
  ended(code: End): void {
    if (this.#over) return;
    this.#over = true;
    this.#waiting?.leave();
    const ours = this.#refused && code !== "upstream_failed";
    const own = ours || this.#call.signal.aborted || isDeadline(this.#call, code);
    for (const attempt of this.#running) {
      attempt.end(code, own);
      if (code !== "ok") attempt.giveUp(left());
    }
  }

  async #open(): Promise<Step> {
    const { signal, life } = this.#call;
    const { clock, budget } = this.#tools;
    if (this.#asked === 0 && !this.#waiting) {
      life?.onEnd(this);
      budget.request(clock.now());
    }
    for (;;) {
      signal.throwIfAborted();
      if (this.#over) throw left();
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
        const place = await this.#waiting.next();
        if (place && "event" in place) return { done: false, value: [place] };
        // Whoever ended the call meanwhile has given the place back.
        if (this.#over) throw left();
        this.#waiting = undefined;
        start = place && this.#begin(this.#targetOf(place), place.probe, clock.now());
      } else {
        start = this.#begin(chosen, chosen.endpoint.take(this.#caller), now);
      }
      const answer = start && (await this.#ask(start));
      if (answer) return answer;
    }
  }

  /** The first messages; `undefined`: it failed, and another attempt may follow. */
  async #ask(start: Started): Promise<Step | undefined> {
    const { attempt, probe } = start;
    const after = hedgeDelay(this.#call, this.#hedge(), attempt.target);
    if (after !== undefined) {
      const outcome = await this.#hedged(start, after);
      if ("first" in outcome) return this.#won(outcome.attempt, outcome.first);
      await this.#failed(outcome.attempt, outcome.thrown);
      return undefined;
    }
    let first: Step;
    try {
      first = await attempt.first(probe);
    } catch (thrown) {
      this.#unbegun = undefined;
      await this.#failed(attempt, thrown);
      return undefined;
    }
    this.#unbegun = onlyWaits(first) ? start : undefined;
    return this.#unbegun ? first : this.#won(attempt, first);
  }

  #hedged(start: Started, after: number): Promise<Outcome> {
    return hedged(start, {
      clock: this.#tools.clock,
      after,
      second: () => this.#second(),
      lost: (loser, thrown) => this.#lost(loser, thrown).retry !== "never",
    });
  }

  /** An attempt at a taken place; `undefined`, and the place is free, where the target is unfit. */
  #begin(target: Target, probe: boolean, now: number, hedge = false): Started | undefined {
    const { clock } = this.#tools;
    const { attributes, metadata } = this.#call;
    let attempt: Attempt;
    try {
      const timeouts = this.#tools.timeoutsOf(this.#call);
      const options = {
        target,
        clock,
        now,
        timeouts,
        bounds: this.#tools.bounds,
        hedge,
        detached: this.#hedge() !== undefined,
      };
      attempt = new Attempt(this.#call, options);
    } catch (thrown) {
      target.endpoint.giveBack(clock.now(), probe, this.#caller);
      const why = toLintelError(thrown);
      this.#candidates.unfit(target, why);
      if (why.retry !== "elsewhere") throw why;
      return undefined;
    }
    this.#running.push(attempt);
    attributes.tried.push(attempt.record);
    attributes.attempts++;
    if (this.#asked++ > 0) attributes.retries = (attributes.retries ?? 0) + 1;
    metadata.set("x-lintel-attempts", String(1 + (attributes.retries ?? 0)));
    attributes.backend = target.backend.name;
    return { attempt, probe };
  }

  #won(attempt: Attempt, first: Step): Step {
    this.#call.signal.throwIfAborted();
    this.#winner = attempt;
    this.#call.attributes.backend = attempt.record.backend;
    attempt.win();
    for (const other of this.#running) {
      if (other === attempt) continue;
      other.end("slower");
      other.giveUp(new LintelError("cancelled", "another model server was faster"));
    }
    this.#running = [attempt];
    // Nothing at all came.
    if (first.done) attempt.end("upstream_failed");
    return first;
  }

  async #follow(winner: Attempt): Promise<Step> {
    try {
      const step = await winner.next();
      if (step.done) winner.end("ok");
      return step;
    } catch (thrown) {
      const { code } = toLintelError(thrown);
      if (!this.#call.signal.aborted) winner.end(code, isDeadline(this.#call, code));
      throw thrown;
    }
  }

  /** An attempt failed, with others maybe still running. */
  #lost(attempt: Attempt, thrown: unknown): LintelError {
    const failure = toLintelError(thrown);
    const { target, record } = attempt;
    this.#running = this.#running.filter((it) => it !== attempt);
    attempt.end(failure.code, isDeadline(this.#call, failure.code));
    attempt.giveUp(failure);
    this.#candidates.failed(target, failure);
    if (failure.askedDelay !== undefined && rests.has(failure.code)) {
      target.endpoint.rest(failure.askedDelay * 1000, this.#tools.clock.now());
    }
    const { log, id } = this.#call;
    const { backend, model } = record;
    log.debug({ id, backend, model, code: failure.code }, "attempt failed");
    return failure;
  }

  /** Lets another attempt follow, after a pause, or throws why there is none. */
  async #failed(attempt: Attempt, thrown: unknown): Promise<void> {
    const { signal } = this.#call;
    if (signal.aborted) throw signal.reason;
    const failure = this.#lost(attempt, thrown);
    if (failure.retry === "never") {
      for (const other of this.#running) other.giveUp(failure);
      throw failure;
    }
    const tries = { asked: this.#asked, pauses: this.#pauses };
    this.#pauses = await beforeRetry(this.#call, this.#tools, this.#candidates, tries);
  }

  /** A second target, if there is a healthy one with room, and the budget allows it. */
  #second(): Started | undefined {
    // Its time may come after the caller left, and before the first one noticed.
    if (this.#over) return undefined;
    const { clock, budget } = this.#tools;
    const now = clock.now();
    const asked = this.#running.map(({ target }) => target);
    const chosen = this.#candidates.second(now, asked);
    if (!chosen || !budget.take(now)) return undefined;
    try {
      return this.#begin(chosen, chosen.endpoint.take(this.#caller), now, true);
    } catch {
      return undefined;
    }
  }

  #hedge() {
    return this.#candidates.all.length > 1 ? this.#tools.hedgeOf(this.#call) : undefined;
  }

  #enter(): Waiting {
    const { settings, clock } = this.#tools;
    const endpoints = this.#candidates.fit().map(({ endpoint }) => endpoint);
    return new Waiting(this.#call, endpoints, settings.queue, clock);
  }

  #targetOf({ endpoint }: Place): Target {
    return this.#candidates.all.find((target) => target.endpoint === endpoint) as Target;
  }
}

const left = () => new LintelError("cancelled", "the caller left");
