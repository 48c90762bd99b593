/**
 * Writes a record of each call. It stands right after authentication: what is
 * refused later is recorded too, and a call counts once however many backends
 * were asked for it.
 */
import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { Call, Handle, Middleware } from "../call.js";
import type { ErrorCode } from "../error-table.js";
import { toLintelError } from "../errors.js";
import { iterable } from "../iterate.js";
import { costOf, priceOf } from "../limits/prices.js";
import type { Price } from "../limits/settings.js";
import { isCoreMethod, type MethodName, type Output } from "../methods.js";
import { takenBy } from "../settle.js";
import { ask, Steps, type Waiter } from "../steps.js";
import type { UsageRecord, UsageSink } from "./record.js";

/** What metering needs. */
export interface UsageParts {
  readonly sink: UsageSink;
  /** First match counts; a model without an entry has no spend. */
  readonly prices: readonly Price[];
}

type Batch = readonly Output<MethodName>[];

/**
 * Records calls. The last message of an answer is handed on only when the record
 * is safe, so that no answer is complete without one.
 */
export function meter(parts: UsageParts): Middleware {
  return (next) => (call) =>
    // A list of models uses nothing.
    isCoreMethod(call.method) ? next(call) : iterable(() => new Metered(call, next, parts));
}

class Metered extends Steps<Batch> implements Waiter<IteratorResult<Batch>> {
  readonly #call: Call;
  readonly #next: Handle;
  readonly #parts: UsageParts;
  readonly #at = Date.now();
  readonly #startedAt = performance.now();
  #source: AsyncIterator<Batch> | undefined;
  #firstMs: number | undefined;
  #kept = false;
  #by: Waiter<IteratorResult<Batch>> | undefined;

  constructor(call: Call, next: Handle, parts: UsageParts) {
    super();
    this.#call = call;
    this.#next = next;
    this.#parts = parts;
  }

  ask(by: Waiter<IteratorResult<Batch>>): void {
    this.#by = by;
    try {
      this.#source ??= this.#next(this.#call)[Symbol.asyncIterator]();
    } catch (thrown) {
      this.failed(thrown);
      return;
    }
    ask(this.#source, this);
  }

  came(result: IteratorResult<Batch>): void {
    if (!result.done) {
      this.#firstMs ??= performance.now() - this.#startedAt;
      if (!isLast(this.#call.method, result.value)) {
        this.#by?.came(result);
        return;
      }
    }
    this.#after("ok", () => this.#by?.came(result));
  }

  failed(thrown: unknown): void {
    const { code } = toLintelError(this.#reason() ?? thrown);
    this.#after(code, () => this.#by?.failed(thrown));
  }

  /** The caller left, the deadline passed, or the gateway shuts down. */
  async return(): Promise<IteratorResult<Batch>> {
    const reason = this.#reason();
    const left = this.#keep(reason === undefined ? "cancelled" : toLintelError(reason).code);
    await this.#source?.return?.();
    await left;
    return { done: true, value: undefined };
  }

  /** Goes on once the record is kept. */
  #after(outcome: "ok" | ErrorCode, next: () => void): void {
    const kept = this.#keep(outcome);
    if (kept) kept.then(next, (reason: unknown) => this.#by?.failed(reason));
    else next();
  }

  #reason(): unknown {
    const { signal } = this.#call;
    return signal.aborted ? signal.reason : undefined;
  }

  #keep(outcome: "ok" | ErrorCode): Promise<void> | undefined {
    if (this.#kept) return undefined;
    this.#kept = true;
    this.#call.life?.settle(outcome);
    // Of strangers only calls that reached a model: others cost nothing, and could fill the disk.
    const { caller, attributes } = this.#call;
    const stranger = caller?.token === undefined;
    if (stranger && outcome !== "ok" && attributes.attempts === 0) return undefined;
    return this.#parts.sink.keep(this.#record(outcome));
  }

  #record(outcome: "ok" | ErrorCode): UsageRecord {
    const { id, method, caller, attributes } = this.#call;
    const { door, user, model, backend, attempts } = attributes;
    const taken = takenBy(attributes);
    const price = model === undefined ? undefined : priceOf(this.#parts.prices, model, attributes);
    return {
      id: newId(),
      at: this.#at,
      requestId: id,
      caller: caller?.id ?? "",
      token: caller?.token,
      team: caller?.team,
      user,
      door,
      method,
      model,
      backend,
      attempts,
      promptTokens: taken.promptTokens ?? 0,
      completionTokens: taken.completionTokens ?? 0,
      cachedTokens: taken.cachedTokens,
      cacheWriteTokens: taken.cacheWriteTokens,
      reasoningTokens: taken.reasoningTokens,
      images: taken.images ?? 0,
      estimated: taken.estimated ?? false,
      durationMs: toHundredths(performance.now() - this.#startedAt),
      firstMs: this.#firstMs === undefined ? undefined : toHundredths(this.#firstMs),
      outcome,
      spend: price && costOf(price, taken),
    };
  }
}

/** Whether an answer is complete with these messages. */
function isLast(method: MethodName, batch: Batch): boolean {
  const message = batch.at(-1);
  switch (message?.$typeName) {
    case "lintel.v1.LLMResponse":
      return method === "complete" || Boolean(message.choices[0]?.finishReason);
    case "lintel.v1.StreamTextToImageResponse":
      return message.event.case === "done";
    default:
      return true;
  }
}

/** Of this process; random, so that records of all processes differ. */
const origin = randomBytes(12).toString("base64url");
let made = 0;
const newId = () => `${origin}-${(made++).toString(36)}`;

const toHundredths = (ms: number) => Math.round(ms * 100) / 100;
