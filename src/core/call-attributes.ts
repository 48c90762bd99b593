/** What steps note down about a call; the log, telemetry and usage read it at the end. */
import type { ErrorCode } from "./error-table.js";
import type { Input, MethodName } from "./methods.js";

/** One question to one backend. Times in milliseconds. */
export interface AttemptRecord {
  readonly backend: string;
  /** Name by which the backend knows the model. */
  readonly model: string;
  /** Since the epoch. */
  readonly startedAt: number;
  /** From its start to the first message; absent: there was none. */
  firstMs?: number;
  /** From its start to its end; 0 while it runs. */
  durationMs: number;
  /** `slower`: another one that was asked at the same time answered first. */
  outcome: "running" | "ok" | "slower" | ErrorCode;
  /** Whether it was asked because an earlier one was slow to begin. */
  hedge?: true;
}

/** All of it, as far as it is known. */
export interface Attributes {
  /** The door, for example `"rest"`. */
  door: string;
  /** The address that it came from, of one that nobody was let in for. */
  client?: string | undefined;
  /** `Caller.id`, once authenticated. */
  caller?: string | undefined;
  /** `Caller.team`. */
  team?: string | undefined;
  /** Whom the caller asks for, once that is known to be well formed. */
  user?: string | undefined;
  /** Name of the model after defaults were applied. */
  model?: string | undefined;
  /** Name by which it was looked up: the caller's, or the default where there was none. */
  asked?: string | undefined;
  /** Name under which metrics count the call, where callers can give its model any number of names. */
  countedAs?: string | undefined;
  /** The alias with a `*` by which the model was found. */
  alias?: string | undefined;
  /** Name of the backend that answered, or was asked last. */
  backend?: string | undefined;
  /** What that backend calls the model. */
  backendModel?: string | undefined;
  /** The tier of service that it was asked for; absent: none, or it would have dropped it. */
  serviceTier?: string | undefined;
  /** The tier that served the answer, by the model server's word for it; absent: it did not tell. */
  servedTier?: string | undefined;
  /** How many backends were asked. */
  attempts: number;
  /** How many of these because an earlier one had failed or was slow. */
  retries?: number | undefined;
  /** What became of each of these, in the order of their beginning. */
  tried: readonly AttemptRecord[];
  /** The limit that refused the call, for example `requests` of a `caller`. */
  refusedBy?: { readonly quantity: string; readonly scope: string } | undefined;
  /** How long the call waited for a backend with room, milliseconds. */
  queuedMs?: number | undefined;
  /** How long documents were read for it, to models that take no files, milliseconds. */
  documentsMs?: number | undefined;
  /** Whether the answer is that of an earlier call with the same `Idempotency-Key`. */
  replayed?: true | undefined;
  /**
   * Whether the answer is one that was kept, or why it is not: there was none, or the caller wanted
   * none; absent: no answers are kept of this model.
   */
  cache?: "hit" | "miss" | "bypass" | undefined;
  /** What guards did about its texts; absent: nothing. */
  guards?: readonly GuardNote[] | undefined;
  /** Whether the safety checker failed at an image of it. */
  uncheckable?: true | undefined;
  /** The request as they left it: the log and spans have no other. `null`: they have not looked, or blocked it; absent: there are none. */
  guarded?: Input<MethodName> | null | undefined;
  /** Token counts as delivered. */
  promptTokens?: number | undefined;
  completionTokens?: number | undefined;
  /** Of the prompt's tokens those that the model server had in a cache, where it tells. */
  cachedTokens?: number | undefined;
  /** Of the others of it those that the model server wrote to a cache, where it tells. */
  cacheWriteTokens?: number | undefined;
  /** Of these, those that are kept for an hour, where it tells. */
  cacheWrite1hTokens?: number | undefined;
  /** Of the completion's tokens those of thoughts, where the model server tells. */
  reasoningTokens?: number | undefined;
  /** Whether these counts are estimates. */
  estimated?: boolean | undefined;
  /** Why the completion ended, where the model did not end it by itself: `length`, `content_filter` or `tool_calls`. */
  finishReason?: string | undefined;
  /** Images delivered. */
  images?: number | undefined;
}

/** What a guard did about texts of a call. */
export interface GuardNote {
  readonly guard: string;
  /** Whose texts: the caller's, or the model's. */
  readonly side: "prompt" | "answer";
  /** `failed`: it could not look. */
  readonly result: "masked" | "flagged" | "blocked" | "failed";
  /** What was found, in the guard's words. */
  readonly found: readonly string[];
}

/** What is known of a call's tokens. */
export type TokenCounts = Pick<Attributes, "promptTokens" | "completionTokens" | "estimated">;

/**
 * Of a call that begins. All fields are there: an object that grows is copied with every other one.
 * @param guarded `null` where guards are to look
 */
export const newAttributes = (door: string, guarded?: null, client?: string): Attributes => ({
  door,
  client,
  caller: undefined,
  team: undefined,
  user: undefined,
  model: undefined,
  asked: undefined,
  countedAs: undefined,
  alias: undefined,
  backend: undefined,
  backendModel: undefined,
  serviceTier: undefined,
  servedTier: undefined,
  attempts: 0,
  retries: undefined,
  tried: [],
  refusedBy: undefined,
  queuedMs: undefined,
  documentsMs: undefined,
  replayed: undefined,
  cache: undefined,
  guards: undefined,
  uncheckable: undefined,
  guarded,
  promptTokens: undefined,
  completionTokens: undefined,
  cachedTokens: undefined,
  cacheWriteTokens: undefined,
  cacheWrite1hTokens: undefined,
  reasoningTokens: undefined,
  estimated: undefined,
  finishReason: undefined,
  images: undefined,
});
