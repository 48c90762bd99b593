/** The book of one call's attempts: which run, which one answers, and what came of the others. */
import type { Call, CallEnd } from "../call.js";
import { callerLeft, LintelError, toLintelError } from "../errors.js";
import { Attempt, type Batch } from "./attempt.js";
import { isDeadline } from "./blame.js";
import { askElsewhere } from "./blocked.js";
import type { Candidates } from "./candidates.js";
import type { Endpoint } from "./endpoint.js";
import type { Started } from "./hedge.js";
import { promptTokensOf } from "./quota.js";
import type { RoutingTools } from "./routing.js";
import type { Target } from "./target.js";

/** The attempts of one call. */
export class Attempts {
  readonly #call: Call;
  readonly #tools: RoutingTools;
  readonly #candidates: Candidates;
  readonly #detached: boolean;
  #running: Attempt[] = [];
  /** Whether one failed for which the request may be to blame. */
  #doubtful = false;
  #winner: Attempt | undefined;
  #asked = 0;
  /** Of the prompt; absent: nobody wanted to know. */
  #promptTokens: number | undefined;

  /** @param detached whether one may be given up alone, while the call goes on */
  constructor(call: Call, tools: RoutingTools, candidates: Candidates, detached: boolean) {
    this.#call = call;
    this.#tools = tools;
    this.#candidates = candidates;
    this.#detached = detached;
  }

  /** Targets that were asked, in all. */
  get asked(): number {
    return this.#asked;
  }

  /** The one that answers the call. */
  get winner(): Attempt | undefined {
    return this.#winner;
  }

  /** Tokens of the prompt, where the quota of a target counts them; else 0. */
  promptTokens({ quota }: Endpoint): number {
    if (!quota?.countsTokens) return 0;
    this.#promptTokens ??= promptTokensOf(quota, this.#call);
    return this.#promptTokens;
  }

  /** Targets that are being asked. */
  targets(): Target[] {
    return this.#running.map(({ target }) => target);
  }

  /**
   * An attempt at a taken place; `undefined`, and the place is free, where the target is unfit.
   * @throws LintelError if no other target could do it either
   */
  begin(target: Target, probe: boolean, now: number, hedge = false): Started | undefined {
    const { clock, bounds, prices, documents, settings } = this.#tools;
    const { attributes, metadata } = this.#call;
    const tokens = this.promptTokens(target.endpoint);
    let attempt: Attempt;
    try {
      const timeouts = this.#tools.timeoutsOf(this.#call);
      const detached = this.#detached;
      attempt = new Attempt(this.#call, {
        target,
        clock,
        now,
        timeouts,
        bounds,
        prices,
        passHeaders: settings.passHeaders,
        documents,
        hedge,
        detached,
        tokens,
      });
    } catch (thrown) {
      target.endpoint.giveBack(clock.now(), probe, this.#call.caller?.id ?? "", tokens);
      const why = toLintelError(thrown);
      this.#candidates.unfit(target, why);
      if (why.retry !== "elsewhere") throw why;
      return undefined;
    }
    this.#running = this.#running.concat(attempt);
    attributes.tried = attributes.tried.concat(attempt.record);
    attributes.attempts++;
    if (this.#asked++ > 0) attributes.retries = (attributes.retries ?? 0) + 1;
    else this.#tools.mirrors?.begin(this.#call);
    metadata.set("x-lintel-attempts", String(1 + (attributes.retries ?? 0)));
    attributes.backend = target.backend.name;
    attributes.backendModel = target.model.id;
    attributes.serviceTier = attempt.tier;
    return { attempt, probe };
  }

  /** One was answered first. */
  won(attempt: Attempt, first: IteratorResult<Batch>): void {
    this.#winner = attempt;
    const { attributes } = this.#call;
    attributes.backend = attempt.record.backend;
    attributes.backendModel = attempt.record.model;
    attributes.serviceTier = attempt.tier;
    attempt.win(first);
    if (this.#running.length > 1) {
      this.drop(new LintelError("cancelled", "another model server was faster"), attempt);
    }
    // Nothing at all came.
    if (first.done) attempt.end("upstream_failed");
  }

  /**
   * One failed, with others maybe still running.
   * @returns why
   */
  lost(attempt: Attempt, thrown: unknown): LintelError {
    const error = toLintelError(thrown);
    const failure = this.#tools.settings.retry.blocked ? askElsewhere(error) : error;
    const { target, record } = attempt;
    this.#running = this.#running.filter((it) => it !== attempt);
    if (this.#winner === attempt) this.#winner = undefined;
    // Ahead of the end, which hands the place on.
    target.endpoint.heed(failure, this.#tools.clock.now());
    // What several fail at is about the request: nobody is to take all of them out with one that breaks them.
    const alike = failure.retry === "doubtful" && this.#doubtful;
    if (failure.retry === "doubtful") this.#doubtful = true;
    const own = failure.leaving || alike || isDeadline(this.#call, failure.code);
    attempt.end(failure, own);
    attempt.giveUp(failure);
    this.#candidates.failed(target, failure);
    const { log, id } = this.#call;
    const { backend, model } = record;
    log.debug({ id, backend, model, code: failure.code }, "attempt failed");
    return failure;
  }

  /**
   * Nobody waits any more for those that run, but maybe for one: that says nothing of their targets.
   * @param reason what they are told
   */
  drop(reason: LintelError, but?: Attempt): void {
    for (const attempt of this.#running) {
      if (attempt === but) continue;
      attempt.end("slower");
      attempt.giveUp(reason);
    }
    this.#running = but ? [but] : [];
  }

  /**
   * The call is over.
   * @param ending how, or with which error
   * @param own whether that is not the targets' fault
   */
  end(ending: Parameters<CallEnd["ended"]>[0] | LintelError, own: boolean): void {
    for (const attempt of this.#running) {
      attempt.end(ending, own);
      if (ending !== "ok") attempt.giveUp(callerLeft());
    }
  }

  /** Lets what backends hold for them be freed. */
  release(): void {
    for (const attempt of this.#running) attempt.release();
  }
}
