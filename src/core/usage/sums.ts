/** What was used, summed up for whoever asks. */

/** What sums can be told apart by. Times are those of the gateway's time zone. */
export const groups = [
  "token",
  "token_id",
  "team",
  "user",
  "model",
  "backend",
  "door",
  "method",
  "outcome",
  "day",
  "hour",
  "month",
] as const;

/** One of them. */
export type Group = (typeof groups)[number];

/** Which records are summed. */
export interface UsageFilter {
  /** Milliseconds since the epoch; from here on, and before there. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Name of a caller, or id of a token. */
  readonly token?: string | undefined;
  readonly team?: string | undefined;
  /** Whom calls were for, as their callers named them. */
  readonly user?: string | undefined;
  readonly model?: string | undefined;
  /** `x-request-id`. */
  readonly request?: string | undefined;
}

/** Sums over some records. */
export interface UsageTotals {
  /** What they have in common: what was grouped by, in that order. */
  readonly group: Readonly<Partial<Record<Group, string>>>;
  readonly calls: number;
  /** Calls that neither ended well nor were left by their callers. */
  readonly failed: number;
  /** Calls that their callers left. */
  readonly cancelled: number;
  /** Calls that got an answer which was kept: no model was asked. */
  readonly cacheHits: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompts' tokens those in a cache, as far as model servers told. */
  readonly cachedTokens: number;
  /** Of the others of them those written to a cache, as far as model servers told. */
  readonly cacheWriteTokens: number;
  /** Of the completions' tokens those of thoughts, as far as model servers told. */
  readonly reasoningTokens: number;
  readonly images: number;
  /** In billionths of the price table's unit. */
  readonly spend: number;
  /** Average of a call, milliseconds. */
  readonly meanDurationMs: number;
  /** Average until the first message, milliseconds; absent if none of the calls had one. */
  readonly meanFirstMs?: number | undefined;
}

/** Which of the sums are answered. */
export interface UsagePage {
  /** How many come before them. */
  readonly from: number;
  /** Most of them. */
  readonly limit: number;
}

/** Records of calls that can be summed up. */
export interface UsageSums {
  /**
   * Sums of records, told apart by some groups; the most calls first, or in the order of time.
   * @param page absent: all of them
   * @throws Error while they can't be read
   */
  totals(
    by: readonly Group[],
    filter?: UsageFilter,
    page?: UsagePage,
  ): Promise<readonly UsageTotals[]>;
}
