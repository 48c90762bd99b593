/** The one line that the log has of each call. */
import type { Call } from "./call.js";
import type { Attributes } from "./call-attributes.js";
import type { LintelError } from "./errors.js";
import { inShort, Refusal, reasonOf } from "./log.js";
import type { CallOutcome } from "./telemetry.js";

/** How calls are logged. */
export interface CallLogSettings {
  /** Share of the calls without a failure that are logged, 0 to 1. */
  readonly sample: number;
  /** Whether prompts and completions are logged. */
  readonly content: boolean;
}

/** Every call, and nothing of what was said. */
export const callLogDefaults: CallLogSettings = { sample: 1, content: false };

/**
 * Logs the end of a call.
 * @param said what was said in it, where that is logged
 */
export function logCall(
  call: Call,
  { code, firstMs, totalMs }: CallOutcome,
  error: LintelError | undefined,
  said: object | undefined,
): void {
  const { id, method, attributes: noted, trace, observation } = call;
  // One by one: keys that are added to a spread object go through the runtime of V8.
  const ended = {
    id,
    method,
    door: noted.door,
    client: noted.client,
    caller: noted.caller,
    team: noted.team,
    user: noted.user,
    model: noted.model,
    backend: noted.backend,
    serviceTier: noted.serviceTier,
    servedTier: noted.servedTier,
    attempts: noted.attempts,
    retries: noted.retries,
    // What it took to get there is only of interest where it took more than one.
    tried: noted.tried.length > 1 ? noted.tried : undefined,
    refusedBy: noted.refusedBy,
    queuedMs: noted.queuedMs,
    documentsMs: noted.documentsMs && Math.round(noted.documentsMs),
    replayed: noted.replayed,
    cache: noted.cache,
    guards: noted.guards,
    uncheckable: noted.uncheckable,
    promptTokens: noted.promptTokens,
    completionTokens: noted.completionTokens,
    cachedTokens: noted.cachedTokens,
    cacheWriteTokens: noted.cacheWriteTokens,
    cacheWrite1hTokens: noted.cacheWrite1hTokens,
    reasoningTokens: noted.reasoningTokens,
    estimated: noted.estimated,
    finishReason: noted.finishReason,
    images: noted.images,
    traceId: observation?.traceId ?? trace?.traceparent.slice(3, 35),
    code,
    firstMs: firstMs === undefined ? undefined : Math.round(firstMs),
    totalMs: Math.round(totalMs),
    error: error?.message,
    cause: causeOf(error),
  } satisfies Record<
    Exclude<keyof Attributes, "asked" | "countedAs" | "alias" | "backendModel" | "guarded">,
    unknown
  > &
    Record<string, unknown>;
  call.log[levelOf(error)](said ? { ...ended, ...said } : ended, "call");
}

/** How bad the end of a call is: faults of the gateway itself, those of others on this side, and all else. */
export const levelOf = (error: LintelError | undefined): "error" | "warn" | "info" =>
  error?.code === "internal" ? "error" : error && error.http >= 500 ? "warn" : "info";

/**
 * What is behind an error, for the log: where a fault of our own is, its stack tells where; of others' failures the
 * words do. Absent: nothing is.
 */
export function causeOf({ code, cause }: Partial<LintelError> = {}): string | undefined {
  if (cause === undefined) return undefined;
  const ours = code === "internal" && cause instanceof Error && !(cause instanceof Refusal);
  const stack = ours ? cause.stack : undefined;
  return inShort(stack ?? reasonOf(cause));
}
