/** Sums of usage by groups: the statement that asks a database for them, and what it answers. */

import type { TimeZone } from "../../core/time-zone.js";
import type { Group, UsageFilter, UsagePage, UsageTotals } from "../../core/usage/sums.js";
import type { Row, Sql, Statement, Value } from "./sql.js";

/** A group as SQL, but for those of time. */
const expressions: Readonly<Record<Exclude<Group, keyof typeof forms>, string>> = {
  token: "caller",
  token_id: "COALESCE(token, '')",
  team: "COALESCE(team, '')",
  user: "COALESCE(end_user, '')",
  model: "COALESCE(model, '')",
  backend: "COALESCE(backend, '')",
  door: "door",
  method: "method",
  outcome: "outcome",
};

/** How times are written, by kind of database. */
const forms = {
  day: { sqlite: "%Y-%m-%d", postgres: "YYYY-MM-DD" },
  hour: { sqlite: "%Y-%m-%dT%H:00", postgres: 'YYYY-MM-DD"T"HH24:00' },
  month: { sqlite: "%Y-%m", postgres: "YYYY-MM" },
} as const;

const isTime = (group: Group): group is keyof typeof forms => Object.hasOwn(forms, group);

/** No record is older, milliseconds since the epoch. */
const oldest = Date.UTC(2025, 0);

/** What a zone's clocks are ahead as SQL, which has rules of its own for zones, or none. */
function ahead(zone: TimeZone, written: (ms: number) => string): string {
  const offsets = zone.between(oldest, Date.now());
  const [{ ms } = { ms: 0 }, ...later] = offsets;
  if (later.length === 0) return written(ms);
  const cases = later.map(
    ({ from }, i) => `WHEN at < ${from} THEN ${written(offsets[i]?.ms ?? 0)}`,
  );
  return `CASE ${cases.join(" ")} ELSE ${written(later.at(-1)?.ms ?? 0)} END`;
}

/** The hour, the day or the month of a record's time, as clocks of a zone say. */
function time(group: keyof typeof forms, { kind, zone }: Clock): string {
  const seconds = zone.isUtc ? "at / 1000" : `(at + ${ahead(zone, String)}) / 1000`;
  const form = forms[group][kind];
  const text =
    kind === "sqlite"
      ? `strftime('${form}', ${seconds}, 'unixepoch')`
      : `to_char(to_timestamp(${seconds}) AT TIME ZONE 'UTC', '${form}')`;
  return group === "hour" ? `${text} || ${ahead(zone, (ms) => `'${suffix(zone, ms)}'`)}` : text;
}

/** What stands behind an hour: there are two of the same name when clocks are set back. */
function suffix(zone: TimeZone, ms: number): string {
  if (zone.isUtc) return "Z";
  const minutes = Math.abs(ms) / 60_000;
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  return `${ms < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** When an hour began, by which such groups are put in order: their texts are not in it where clocks are set back. */
function beginOf(zone: TimeZone): string {
  const ms = ahead(zone, String);
  return `MIN((at + ${ms}) / 3600000 * 3600000 - ${ms})`;
}

/** Of which kind a database is, and by which clocks it tells times. */
interface Clock {
  readonly kind: Sql["kind"];
  readonly zone: TimeZone;
}

/** Asks for the sums of the records that a filter leaves, a row for each group; `totalsOf` reads the rows. */
export function totalsStatement(
  clock: Clock,
  by: readonly Group[],
  filter: UsageFilter,
  page: UsagePage | undefined,
): Statement {
  const keys = by.map((group) => {
    return isTime(group) ? time(group, clock) : expressions[group];
  });
  const selected = keys.map((key, i) => `${key} AS g${i}`);
  const { where, values } = conditions(filter);
  const positions = keys.map((_, i) => i + 1);
  const times = by.flatMap((group, i): (string | number)[] => {
    if (!isTime(group)) return [];
    return group === "hour" && !clock.zone.isUtc ? [beginOf(clock.zone)] : [i + 1];
  });
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
