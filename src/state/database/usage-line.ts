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

/** An array of its values: their names would be half of the line, and of the time it takes. */
export const lineOf = (record: UsageRecord): string =>
  JSON.stringify(columns.map(([, member]) => record[member]));
