/** What each model was asked and answered, for whoever looks at a running gateway. */
import type { Call } from "../core/call.js";
import type { Attributes } from "../core/call-attributes.js";
import { isCoreMethod } from "../core/methods.js";
import { Latency, type Percentiles } from "../core/routing/latency.js";
import { RollingCounts } from "../core/routing/window.js";
import { takenBy } from "../core/settle.js";
import type { CallOutcome } from "../core/telemetry.js";

/** Over which time rates are counted, milliseconds. */
const rateWindowMs = 10_000;

/** Most models that are told apart; calls of further ones count as those of no model. */
const mostModels = 1000;

/** One model, as plain data. Counts since the start; times of the last 128 calls in milliseconds. */
export interface ModelTally {
  /** Empty: calls that came to no model. */
  readonly model: string;
  readonly requests: number;
  /** Those that ended in an error, other than the caller's leaving. */
  readonly failed: number;
  readonly cancelled: number;
  /** Those that got an answer which was kept. Absent: a gateway of an earlier version tells none. */
  readonly cacheHits?: number;
  /** Those that models made and callers got to their end, and the completion tokens of these. Absent: likewise. */
  readonly answers?: number;
  readonly answerTokens?: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly images: number;
  /** Per second, of the last ten. */
  readonly requestRate: number;
  /** Completion tokens per second, of the calls that ended in the last ten. */
  readonly tokenRate: number;
  /** To the first message of streamed answers. */
  readonly firstMs?: Percentiles;
  /** To the end of answers. */
  readonly totalMs?: Percentiles;
}

class Entry {
  requests = 0;
  failed = 0;
  cancelled = 0;
  cacheHits = 0;
  answers = 0;
  answerTokens = 0;
  promptTokens = 0;
  completionTokens = 0;
  images = 0;
  readonly rates = new RollingCounts(rateWindowMs);
  readonly first = new Latency();
  readonly total = new Latency();
}

/** The model that a call counts as; empty: it came to none. */
export const countedModel = ({ countedAs, model = "" }: Attributes): string => countedAs ?? model;

/** Counts calls by model. */
export class Tally {
  readonly #models = new Map<string, Entry>();
  readonly #now: () => number;
  readonly #startedAt: number;

  /** @param now milliseconds since some moment, never less than before */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** A call ended. */
  end({ method, attributes }: Call, { code, firstMs, totalMs }: CallOutcome): void {
    if (isCoreMethod(method)) return;
    const entry = this.#entry(countedModel(attributes));
    const { promptTokens = 0, completionTokens = 0, images = 0 } = takenBy(attributes);
    entry.requests++;
    if (code === "cancelled") entry.cancelled++;
    else if (code !== "ok") entry.failed++;
    else if (attributes.cache === "hit") entry.cacheHits++;
    entry.rates.add(this.#now(), 1, completionTokens);
    entry.promptTokens += promptTokens;
    entry.completionTokens += completionTokens;
    entry.images += images;
    if (code !== "ok") return;
    if (!attributes.replayed && attributes.cache !== "hit") {
      entry.answers++;
      entry.answerTokens += completionTokens;
    }
    entry.total.add(totalMs);
    if (method === "chat" && firstMs !== undefined) entry.first.add(firstMs);
  }

  /** Every model that was called, by name. */
  snapshot(): ModelTally[] {
    const now = this.#now();
    // A gateway that has just begun has no ten seconds behind it.
    const seconds = Math.max(1000, Math.min(rateWindowMs, now - this.#startedAt)) / 1000;
    return [...this.#models]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([model, { rates, first, total, ...counts }]) => ({
        model,
        ...counts,
        requestRate: rates.total(now) / seconds,
        tokenRate: rates.marked(now) / seconds,
        ...withPercentiles("firstMs", first),
        ...withPercentiles("totalMs", total),
      }));
  }

  #entry(model: string): Entry {
    const known = this.#models.get(model);
    if (known) return known;
    if (model !== "" && this.#models.size >= mostModels) return this.#entry("");
    const made = new Entry();
    this.#models.set(model, made);
    return made;
  }
}

function withPercentiles(name: "firstMs" | "totalMs", latency: Latency) {
  const percentiles = latency.percentiles();
  return percentiles && { [name]: percentiles };
}
