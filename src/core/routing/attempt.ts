/** One question to one target: its time-outs and its end. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { handlerOf, streams } from "../adapt.js";
import type { Call, Handle } from "../call.js";
import type { AttemptRecord } from "../call-attributes.js";
import { Cancellation } from "../cancellation.js";
import { type DocumentReader, haveFiles, readingDocuments } from "../documents.js";
import { LintelError } from "../errors.js";
import { fitRequest } from "../fit.js";
import type { Price } from "../limits/settings.js";
import { type BackendMethod, isChat, type MethodName, type Output } from "../methods.js";
import type { Bounds } from "../settings.js";
import { ask, type Waiter } from "../steps.js";
import { hidesReasoning, unseenThoughts } from "../unseen.js";
import { Warnings } from "../warnings.js";
import { AttemptNotes, type NotesOptions } from "./attempt-notes.js";
import { AttemptReader } from "./attempt-reader.js";
import { verdictOf } from "./blame.js";
import type { Clock, Timer } from "./clock.js";
import { fellSilent, tooLate, unfinished } from "./late.js";
import { type PassHeaders, passedTo } from "./pass-headers.js";
import { inPricedTier } from "./priced-tier.js";
import type { RouteTimeouts } from "./settings.js";
import type { Target } from "./target.js";

/** What one step of an answer brings. */
export type Batch = readonly Output<MethodName>[];

/** What an attempt is made of besides the call. */
export interface AttemptOptions extends NotesOptions {
  readonly timeouts: RouteTimeouts;
  /** Of request fields. */
  readonly bounds: Bounds;
  /** Of calls; a model without an entry costs nothing. */
  readonly prices: readonly Price[];
  readonly passHeaders: PassHeaders;
  /** Reads documents to models that take no files; absent: nobody does. */
  readonly documents?: DocumentReader | undefined;
  /** Whether it may be given up alone, while the call goes on. */
  readonly detached: boolean;
}

/** An attempt. The place at the target is taken before, and freed by `end`. */
export class Attempt implements Waiter<IteratorResult<Batch>> {
  readonly target: Target;
  readonly #call: Call;
  readonly #clock: Clock;
  readonly #timeouts: RouteTimeouts;
  readonly #streams: boolean;
  readonly #handle: Handle;
  /** As the target gets it. */
  readonly #own: Call;
  readonly #cancellation: Cancellation | undefined;
  readonly #warnings = new Warnings();
  /** Where the target is told what documents say. */
  readonly #reader: AttemptReader | undefined;
  readonly #notes: AttemptNotes;
  readonly #alive = () => {
    if (!this.#ended) this.#timer?.refresh();
  };
  #probe = false;
  #stream: AsyncIterator<Batch> | undefined;
  /** Who waits for a message after the first. */
  #by: Waiter<IteratorResult<Batch>> | undefined;
  #timer: Timer | undefined;
  #gaveUp: ((reason: unknown) => void) | undefined;
  #ended = false;

  /** @throws LintelError if the target can't do what is asked; nothing has begun then */
  constructor(call: Call, options: AttemptOptions) {
    const { target, clock, timeouts, bounds, prices, passHeaders, documents, detached } = options;
    const { backend, model } = target;
    this.target = target;
    this.#call = call;
    this.#clock = clock;
    this.#timeouts = timeouts;
    this.#streams = streams(call, backend);
    const request = fitRequest(
      inPricedTier(call, target, prices, this.#warnings),
      model,
      call.modelSettings,
      bounds,
      this.#warnings,
      call.cutsTokens,
      documents !== undefined,
    );
    this.#cancellation =
      detached || (this.#streams && timeouts.firstToken !== undefined)
        ? new Cancellation()
        : undefined;
    this.#notes = new AttemptNotes(options, call.observation);
    const own = handlerOf(backend, call.method as BackendMethod);
    const handle = hidesReasoning(request) ? unseenThoughts(own) : own;
    if (documents && isChat(call.method) && haveFiles(request as LLMRequest)) {
      this.#reader = new AttemptReader(documents, clock, this.#alive);
      this.#handle = readingDocuments(handle, this.#reader, model);
    } else this.#handle = handle;
    this.#own = {
      ...call,
      request,
      signal: this.#cancellation ?? call.signal,
      backend: backend.name,
      connectMs: timeouts.connect,
      alive: this.#streams ? this.#alive : undefined,
      passed: passedTo(backend.name, call.passed, passHeaders),
      warnings: this.#warnings,
      trace: call.observation?.attempt(this.record) ?? call.trace,
    };
  }

  get record(): AttemptRecord {
    return this.#notes.record;
  }

  /** The tier of service that the target is asked for; `undefined`: none. */
  get tier(): string | undefined {
    return (this.#own.request as Partial<LLMRequest>).serviceTier || undefined;
  }

  /** Whether the target is not waited for: a document is being read to it. */
  get reads(): boolean {
    return this.#reader?.busy === true;
  }

  /**
   * Asks, and waits for the first messages; called again where these only told
   * that nothing is begun, it waits on.
   * @param probe whether it tries if the target is back
   * @throws LintelError as the target fails
   */
  first(probe: boolean): Promise<IteratorResult<Batch>> {
    if (this.#stream) return this.#more(this.#stream);
    this.#probe = probe;
    if (!this.#cancellation) return this.#begin();
    const { firstToken } = this.#timeouts;
    if (this.#streams && firstToken !== undefined) {
      this.#timer = this.#clock.after(firstToken, () => {
        // Its time begins anew once that was read.
        if (!this.reads) this.giveUp(tooLate(firstToken));
      });
    }
    return new Promise((resolve, reject) => {
      this.#gaveUp = reject;
      this.#begin().then(resolve, reject);
    });
  }

  /** This is the attempt that answers the call. */
  win(first: IteratorResult<Batch>): void {
    this.#notes.add(first);
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#gaveUp = undefined;
    const { endpoint } = this.target;
    const now = this.#clock.now();
    this.#notes.first(now, this.#streams, this.#readMs(now));
    endpoint.answered(this.#probe, this.#notes.startedAt, now);
    this.#probe = false;
    const { betweenTokens } = this.#timeouts;
    if (!this.#streams || betweenTokens === undefined) return;
    this.#timer = this.#clock.after(betweenTokens, () => this.#silent());
  }

  /** No other attempt will follow: what it warns of is the call's, of the last chunk of a stream, too. */
  vouch(): void {
    this.#warnings.handTo(this.#call.warnings);
  }

  /** Asks for the messages after the first. */
  ask(by: Waiter<IteratorResult<Batch>>): void {
    this.#by = by;
    this.#timer?.refresh();
    ask(this.#stream as AsyncIterator<Batch>, this);
  }

  came(step: IteratorResult<Batch>): void {
    this.#notes.add(step);
    this.#waited()?.came(step);
  }

  failed(reason: unknown): void {
    this.#waited()?.failed(reason);
  }

  /** Ends it alone, with an error; the call goes on. */
  giveUp(reason: LintelError): void {
    this.#gaveUp?.(reason);
    if (this.#call.unseen) this.failed(reason);
    this.#cancellation?.abort(reason);
    this.release();
  }

  /** Lets what the backend holds for it be freed. */
  release(): void {
    this.#stream?.return?.().catch(() => {});
  }

  /**
   * It is over; only the first time counts.
   * @param ending `cancelled` and a `timeout` of the call's own are not the target's fault; an error
   *   of the target as it is
   */
  end(ending: AttemptRecord["outcome"] | LintelError, own = false): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.cancel();
    const now = this.#clock.now();
    const outcome = ending instanceof LintelError ? ending.code : ending;
    this.#notes.end(outcome, now, this.#readMs(now));
    const verdict = own || this.#reader?.failed ? "neutral" : verdictOf(outcome);
    const failure = verdict === "failed" ? unfinished(ending) : undefined;
    const { startedAt } = this.#notes;
    const whose = this.#call.caller?.id ?? "";
    this.target.endpoint.end(verdict, this.#probe, startedAt, now, failure, whose);
  }

  /** Of the time since it began that which is not the target's. */
  #readMs(now: number): number {
    return this.#reader?.readMs(now) ?? 0;
  }

  #begin(): Promise<IteratorResult<Batch>> {
    this.#stream = this.#handle(this.#own)[Symbol.asyncIterator]();
    return this.#stream.next();
  }

  #more(stream: AsyncIterator<Batch>): Promise<IteratorResult<Batch>> {
    const cancellation = this.#cancellation;
    if (!cancellation) return stream.next();
    // It may have been given up while nobody asked.
    if (cancellation.aborted) return Promise.reject(cancellation.reason);
    return new Promise((resolve, reject) => {
      this.#gaveUp = reject;
      stream.next().then(resolve, reject);
    });
  }

  #waited(): Waiter<IteratorResult<Batch>> | undefined {
    const by = this.#by;
    this.#by = undefined;
    return by;
  }

  /** Nothing was asked for or came for as long as may pass between two messages. */
  #silent(): void {
    // A reader who is slow is not the target's fault: then nobody waits for it.
    if (!this.#by || this.#ended) return;
    const silent = fellSilent(this.#timeouts.betweenTokens);
    if (this.#call.unseen) {
      this.giveUp(silent);
      return;
    }
    this.end(silent);
    this.#call.life?.abort(silent);
  }
}
