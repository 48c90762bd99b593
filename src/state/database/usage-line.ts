/** A record of usage as a line of JSON: in the journal's files, and on its way into the table. */
import type { UsageRecord } from "../../core/usage/record.js";

/**
 * Column by column what of a record stands in the table, in the order in which it stands in a
 * line. Others may be added at the end: lines that lie in files are read by later versions.
 */
export const columns: readonly (readonly [column: string, member: keyof UsageRecord])[] = [
  ["id", "id"],
  ["at", "at"],
  ["request_id", "requestId"],
  ["caller", "caller"],
  ["token", "token"],
  ["door", "door"],
  ["method", "method"],
  ["model", "model"],
  ["backend", "backend"],
  ["attempts", "attempts"],
  ["prompt_tokens", "promptTokens"],
  ["completion_tokens", "completionTokens"],
  ["images", "images"],
  ["estimated", "estimated"],
  ["duration_ms", "durationMs"],
  ["first_ms", "firstMs"],
  ["outcome", "outcome"],
  ["spend", "spend"],
  ["cached_tokens", "cachedTokens"],
  ["reasoning_tokens", "reasoningTokens"],
  ["team", "team"],
  ["end_user", "user"],
  ["cache_write_tokens", "cacheWriteTokens"],
];

/**
 * An array of its values in the order of the columns: their names would be half of the line, and of the
 * time it takes. Written out, since to find each by a name that is not known to the code takes a third more.
 */
export const lineOf = (record: UsageRecord): string =>
  JSON.stringify([
    record.id,
    record.at,
    record.requestId,
    record.caller,
    record.token,
    record.door,
    record.method,
    record.model,
    record.backend,
    record.attempts,
    record.promptTokens,
    record.completionTokens,
    record.images,
    record.estimated,
    record.durationMs,
    record.firstMs,
    record.outcome,
    record.spend,
    record.cachedTokens,
    record.reasoningTokens,
    record.team,
    record.user,
    record.cacheWriteTokens,
  ]);
