/** What is written down of each call, for bills and questions. */
import type { ErrorCode } from "../error-table.js";
import type { MethodName } from "../methods.js";

/** One call of a caller. */
export interface UsageRecord {
  /** Unique over all gateways; a record that arrives twice counts once. */
  readonly id: string;
  /** When the call began, milliseconds since the epoch. */
  readonly at: number;
  /** `x-request-id`; callers may choose it, so it is not unique. */
  readonly requestId: string;
  /** `Caller.id`. */
  readonly caller: string;
  /** `Caller.token`. */
  readonly token?: string | undefined;
  /** `Caller.team`. */
  readonly team?: string | undefined;
  /** Whom the caller asks for; absent if nobody is named. */
  readonly user?: string | undefined;
  readonly door: string;
  readonly method: MethodName;
  /** The model as callers name it; absent if the call did not get as far. */
  readonly model?: string | undefined;
  /** The backend that answered, or was asked last. */
  readonly backend?: string | undefined;
  /** How many backends were asked. The call counts once all the same. */
  readonly attempts: number;
  /** Tokens and images as delivered, also where the caller left half-way. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompt's tokens those that the model server had in a cache; absent where it does not tell. */
  readonly cachedTokens?: number | undefined;
  /** Of the others of it those that the model server wrote to a cache; absent where it does not tell. */
  readonly cacheWriteTokens?: number | undefined;
  /** Of the completion's tokens those of thoughts; absent where the model server does not tell. */
  readonly reasoningTokens?: number | undefined;
  readonly images: number;
  /** Whether the tokens are an estimate, because the model server told none. */
  readonly estimated: boolean;
  /** Until the last message, milliseconds. */
  readonly durationMs: number;
  /** Until the first message; absent if there was none. */
  readonly firstMs?: number | undefined;
  readonly outcome: "ok" | ErrorCode;
  /** By the price table, in billionths of its unit; absent for a model without a price. */
  readonly spend?: number | undefined;
}

/** Where records go. */
export interface UsageSink {
  /**
   * Takes a record over.
   * @returns resolves when the end of this process, however sudden, can't lose
   *   it any more. Never rejects: a call does not fail for its record.
   */
  keep(record: UsageRecord): Promise<void>;
}
