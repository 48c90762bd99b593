/** Sums of usage by groups: the statement that asks a database for them, and what it answers. */
import type { Group, UsageFilter, UsagePage, UsageTotals } from "../../core/usage/sums.js";
import type { Row, Sql, Statement, Value } from "./sql.js";

/** A group as SQL, by kind of database where they differ. */
const expressions: Readonly<Record<Group, string | Record<Sql["kind"], string>>> = {
  token: "caller",
  team: "COALESCE(team, '')",
  user: "COALESCE(end_user, '')",
  model: "COALESCE(model, '')",
  backend: "COALESCE(backend, '')",
  door: "door",
  method: "method",
  outcome: "outcome",
  day: time("%Y-%m-%d", "YYYY-MM-DD"),
  hour: time("%Y-%m-%dT%H:00Z", 'YYYY-MM-DD"T"HH24:00"Z"'),
  month: time("%Y-%m", "YYYY-MM"),
};

function time(sqlite: string, postgres: string): Record<Sql["kind"], string> {
  return {
    sqlite: `strftime('${sqlite}', at / 1000, 'unixepoch')`,
    postgres: `to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', '${postgres}')`,
  };
}

/** Asks for the sums of the records that a filter leaves, a row for each group; `totalsOf` reads the rows. */
export function totalsStatement(
  kind: Sql["kind"],
  by: readonly Group[],
  filter: UsageFilter,
  page: UsagePage | undefined,
): Statement {
  const keys = by.map((group) => {
    const expression = expressions[group];
    return typeof expression === "string" ? expression : expression[kind];
  });
  const selected = keys.map((key, i) => `${key} AS g${i}`);
  const { where, values } = conditions(filter);
  const positions = keys.map((_, i) => i + 1);
  const times = by.flatMap((group, i) => (["day", "hour", "month"].includes(group) ? [i + 1] : []));
  const order = [...times, "calls DESC", ...positions];
  const text = `SELECT ${[...selected, sums].join(", ")} FROM lintel_usage ${where}
    ${keys.length > 0 ? `GROUP BY ${positions.join(", ")}` : ""} ORDER BY ${order.join(", ")}
    ${page ? `LIMIT ${Math.trunc(page.limit)} OFFSET ${Math.trunc(page.from)}` : ""}`;
  return { text, values, long: true };
}

/** Of a record: whoever has a whole answer to a chat, and no backend was asked, has one that was kept. */
const isCacheHit = "outcome = 'ok' AND attempts = 0 AND method IN ('chat', 'complete')";

/** Spend is summed as a number of ours: beyond 2^53 SQLite's libraries refuse to hand out a whole one. */
const sums = `COUNT(*) AS calls,
  COALESCE(SUM(CASE WHEN outcome IN ('ok', 'cancelled') THEN 0 ELSE 1 END), 0) AS failed,
  COALESCE(SUM(CASE WHEN outcome = 'cancelled' THEN 1 ELSE 0 END), 0) AS cancelled,
  COALESCE(SUM(CASE WHEN ${isCacheHit} THEN 1 ELSE 0 END), 0) AS cache_hits,
  COALESCE(SUM(prompt_tokens), 0) AS prompt_tokens,
  COALESCE(SUM(completion_tokens), 0) AS completion_tokens,
  COALESCE(SUM(cached_tokens), 0) AS cached_tokens,
  COALESCE(SUM(cache_write_tokens), 0) AS cache_write_tokens,
  COALESCE(SUM(reasoning_tokens), 0) AS reasoning_tokens,
  COALESCE(SUM(images), 0) AS images,
  COALESCE(SUM(CAST(spend AS DOUBLE PRECISION)), 0) AS spend,
  COALESCE(AVG(duration_ms), 0) AS mean_duration_ms,
  AVG(first_ms) AS mean_first_ms`;

function conditions({ since, until, token, team, user, model, request }: UsageFilter) {
  const all: [string, Value[]][] = [];
  if (since !== undefined) all.push(["at >= ?", [since]]);
  if (until !== undefined) all.push(["at < ?", [until]]);
  if (token !== undefined) all.push(["(caller = ? OR token = ?)", [token, token]]);
  if (team !== undefined) all.push(["team = ?", [team]]);
  if (user !== undefined) all.push(["end_user = ?", [user]]);
  if (model !== undefined) all.push(["model = ?", [model]]);
  if (request !== undefined) all.push(["request_id = ?", [request]]);
  const where = all.length === 0 ? "" : `WHERE ${all.map(([text]) => text).join(" AND ")}`;
  return { where, values: all.flatMap(([, values]) => values) };
}

/** What a row of such a statement says. @param by as the statement has it */
export function totalsOf(row: Row, by: readonly Group[]): UsageTotals {
  return {
    group: Object.fromEntries(by.map((group, i) => [group, String(row[`g${i}`])])),
    calls: Number(row.calls),
    failed: Number(row.failed),
    cancelled: Number(row.cancelled),
    cacheHits: Number(row.cache_hits),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    cachedTokens: Number(row.cached_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    reasoningTokens: Number(row.reasoning_tokens),
    images: Number(row.images),
    spend: Number(row.spend),
    meanDurationMs: Number(row.mean_duration_ms),
    meanFirstMs: row.mean_first_ms === null ? undefined : Number(row.mean_first_ms),
  };
}
