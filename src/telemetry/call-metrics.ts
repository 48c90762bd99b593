/** What is counted and measured of calls. */
import type { Call } from "../core/call.js";
import type { AttemptRecord, TokenCounts } from "../core/call-attributes.js";
import type { ErrorCode } from "../core/error-table.js";
import type { MethodName } from "../core/methods.js";
import type { Mirrored, NotMirrored } from "../core/mirrored.js";
import { Recent } from "../core/recent.js";
import type { CallOutcome } from "../core/telemetry.js";
import { callInstruments } from "./call-instruments.js";
import type { Attributes, Count, Distribution, Instrument } from "./instruments.js";
import { countMirrored, countPassedOver } from "./mirror-metrics.js";
import { type Operation, operationOf, ownProvider, type Providers } from "./operation.js";
import { countedModel } from "./tally.js";
import type { Watcher } from "./watchers.js";

/** Series that calls of one kind with one end write to. */
interface CallSeries {
  readonly requests: Count;
  readonly retries: Count;
  readonly replays: Count;
  readonly queued: Distribution;
  readonly images: Count | undefined;
  readonly duration: Distribution | undefined;
  readonly firstToken: Distribution | undefined;
  readonly perToken: Distribution | undefined;
}

/** Series that attempts of one kind with one end write to. */
interface AttemptSeries {
  readonly attempts: Count;
  readonly duration: Distribution;
  readonly firstChunk: Distribution;
}

/** Series that the tokens of calls of one kind are written to. */
interface TokenSeries {
  readonly input: Distribution;
  readonly output: Distribution;
  /** What tells the counters below from others; they are made when a model server tells of such tokens. */
  readonly some: Attributes;
  cached?: Count;
  written?: Count;
  reasoning?: Count;
}

/** Most kinds whose series are remembered; more of them are looked up anew. */
const mostRemembered = 10_000;

/** Counts and measures calls. */
export class CallMetrics implements Watcher {
  readonly instruments: readonly Instrument[];
  readonly #providers: Providers;
  readonly #exemplars: boolean;
  readonly #calls = new Recent<string, CallSeries>(mostRemembered);
  readonly #attempts = new Recent<string, AttemptSeries>(mostRemembered);
  readonly #tokens = new Recent<string, TokenSeries>(mostRemembered);

  readonly #on = callInstruments();

  /** @param exemplars whether values know in which trace their calls are */
  constructor(providers: Providers, exemplars = false) {
    this.#providers = providers;
    this.#exemplars = exemplars;
    this.instruments = Object.values(this.#on);
  }

  end({ method, attributes, observation }: Call, { code, firstMs, totalMs }: CallOutcome): void {
    const { door, tried } = attributes;
    const trace = this.#exemplars && observation?.recorded ? observation.traceId : undefined;
    const model = countedModel(attributes);
    const series = this.#callSeries(door, method, model, code);
    series.requests.add(1);
    series.duration?.record(totalMs / 1000, trace);
    if (attributes.retries) series.retries.add(attributes.retries);
    if (attributes.queuedMs !== undefined) series.queued.record(attributes.queuedMs / 1000, trace);
    if (attributes.refusedBy) {
      const { scope, quantity } = attributes.refusedBy;
      this.#on.refusals
        .at({ "lintel.limit.scope": scope, "lintel.limit.quantity": quantity })
        .add(1);
    }
    for (const { guard, side, result } of attributes.guards ?? []) {
      const found = {
        "lintel.guard": guard,
        "lintel.guard.side": side,
        "lintel.guard.result": result,
      };
      this.#on.guards.at(found).add(1);
    }
    if (attributes.uncheckable) this.#on.safety.at({ "gen_ai.request.model": model }).add(1);
    const operation = operationOf(method);
    if (!operation) return;
    for (const record of tried) this.#countAttempt(operation, record, trace);
    // What was made once is counted once.
    if (attributes.replayed) {
      series.replays.add(1);
      return;
    }
    const { cache } = attributes;
    if (cache) {
      this.#on.cache.at({ "gen_ai.request.model": model, "lintel.cache.result": cache }).add(1);
    }
    if (cache === "hit") {
      this.#countSaved(attributes, model);
      return;
    }
    if (attributes.images) series.images?.add(attributes.images);
    // Both are known at once.
    const { promptTokens, completionTokens = 0 } = attributes;
    const { cachedTokens, cacheWriteTokens, reasoningTokens } = attributes;
    if (promptTokens !== undefined) {
      const series = this.#tokenSeries(operation, attributes.backend ?? "", model);
      series.input.record(promptTokens, trace);
      series.output.record(completionTokens, trace);
      if (cachedTokens !== undefined) {
        series.cached ??= this.#on.cachedTokens.at(series.some);
        series.cached.add(cachedTokens);
      }
      if (cacheWriteTokens !== undefined) {
        series.written ??= this.#on.cacheWriteTokens.at(series.some);
        series.written.add(cacheWriteTokens);
      }
      if (reasoningTokens !== undefined) {
        series.reasoning ??= this.#on.reasoningTokens.at(series.some);
        series.reasoning.add(reasoningTokens);
      }
    }
    if (code !== "ok" || firstMs === undefined) return;
    series.firstToken?.record(firstMs / 1000, trace);
    if (completionTokens > 1) {
      series.perToken?.record((totalMs - firstMs) / 1000 / (completionTokens - 1), trace);
    }
  }

  answered(mirrored: Mirrored): void {
    countMirrored(this.#on, mirrored);
  }

  passedOver(what: NotMirrored): void {
    countPassedOver(this.#on, what);
  }

  #callSeries(door: string, method: MethodName, model: string, code: "ok" | ErrorCode) {
    const key = `${door}\n${method}\n${code}\n${model}`;
    const known = this.#calls.get(key);
    if (known) return known;
    const named: Attributes = model === "" ? {} : { "gen_ai.request.model": model };
    const operation = operationOf(method);
    const generative = operation && {
      "gen_ai.operation.name": operation.name,
      "gen_ai.provider.name": ownProvider,
      ...named,
    };
    const ended = generative && { ...generative, ...errorType(code) };
    const chat = operation?.stream && operation.output === "text" ? generative : undefined;
    const series: CallSeries = {
      requests: this.#on.requests.at({
        "lintel.door": door,
        "lintel.method": method,
        ...named,
        "lintel.outcome": code,
      }),
      retries: this.#on.retries.at(named),
      replays: this.#on.replays.at(named),
      queued: this.#on.queued.at(named),
      images: operation?.output === "image" ? this.#on.images.at(named) : undefined,
      duration: ended && this.#on.serverDuration.at(ended),
      firstToken: chat && this.#on.firstToken.at(chat),
      perToken: chat && this.#on.perToken.at(chat),
    };
    this.#calls.set(key, series);
    return series;
  }

  #countSaved({ promptTokens = 0, completionTokens = 0 }: TokenCounts, model: string): void {
    const of = (type: string) =>
      this.#on.cacheTokens.at({ "gen_ai.request.model": model, "gen_ai.token.type": type });
    of("input").add(promptTokens);
    of("output").add(completionTokens);
  }

  #countAttempt(operation: Operation, record: AttemptRecord, trace: string | undefined): void {
    const { backend, model, outcome, firstMs, durationMs } = record;
    const key = `${backend}\n${operation.name}\n${outcome}\n${model}`;
    let series = this.#attempts.get(key);
    if (!series) {
      const target = { "lintel.backend": backend, "gen_ai.request.model": model };
      const asked = {
        "gen_ai.operation.name": operation.name,
        "gen_ai.provider.name": this.#providers.get(backend) ?? ownProvider,
        ...target,
      };
      series = {
        attempts: this.#on.attempts.at({ ...target, "lintel.outcome": outcome }),
        duration: this.#on.clientDuration.at({ ...asked, ...errorType(outcome) }),
        firstChunk: this.#on.firstChunk.at(asked),
      };
      this.#attempts.set(key, series);
    }
    series.attempts.add(1);
    series.duration.record(durationMs / 1000, trace);
    if (operation.stream && firstMs !== undefined) series.firstChunk.record(firstMs / 1000, trace);
  }

  #tokenSeries({ name }: Operation, backend: string, model: string) {
    const key = `${backend}\n${name}\n${model}`;
    const known = this.#tokens.get(key);
    if (known) return known;
    const provider = this.#providers.get(backend) ?? ownProvider;
    const of = (type: string) =>
      this.#on.tokenUsage.at({
        "gen_ai.operation.name": name,
        "gen_ai.provider.name": provider,
        "gen_ai.token.type": type,
        "gen_ai.request.model": model,
      });
    const series: TokenSeries = {
      input: of("input"),
      output: of("output"),
      some: { "gen_ai.provider.name": provider, "gen_ai.request.model": model },
    };
    this.#tokens.set(key, series);
    return series;
  }
}

const errorType = (outcome: string): Attributes =>
  outcome === "ok" ? {} : { "error.type": outcome };
