/** `lintel usage`: what was used, by whom and of what. */

import { time } from "../config/quantities.js";
import { didYouMean } from "../config/suggest.js";
import { unit } from "../core/limits/prices.js";
import { type Logger, silent } from "../core/log.js";
import { momentOf, type TimeZone, utc } from "../core/time-zone.js";
import { longestTimerMs } from "../core/timers.js";
import { type Group, groups, type UsageTotals } from "../core/usage/sums.js";
import { DatabaseUsage } from "../state/database/usage.js";
import { Shipper } from "../state/journal/shipper.js";
import { whereOptions } from "./administered.js";
import { withUsage } from "./administered-usage.js";
import { type Command, type Given, UsageError } from "./command.js";
import type { OpenDatabase } from "./database.js";
import { out, say } from "./output.js";
import { csv, table } from "./table.js";
import { parseDuration } from "./token-options.js";

const formats = ["table", "csv", "json"] as const;

export const usage: Command = {
  summary: "sums up what was used",
  details: `Reads the database, whether a gateway runs or not; of a running one the last second may be missing.
Groups: ${groups.join(", ")}. Times are by time_zone of the configuration, or of the gateway that --server names (default: UTC).`,
  options: {
    by: { value: "A,B", help: "what to tell apart (default: token,model)" },
    since: {
      value: "WHEN",
      help: "from when on: 7d, 24h, a date or a time (default: 7d; with --request all)",
    },
    until: { value: "WHEN", help: "until when (default: now)" },
    model: { value: "NAME", help: "only this model" },
    token: { value: "NAME", help: "only this caller, by the token's name or its id" },
    team: { value: "NAME", help: "only members of this team" },
    user: { value: "ID", help: "only calls for this user of a caller's, as the caller names it" },
    request: { value: "ID", help: "only this x-request-id" },
    format: { value: "FORMAT", help: "table, csv or json (default: table)" },
    ...whereOptions,
  },
  async run(given) {
    const by = groupsOf(given);
    const format = given.text("format") ?? "table";
    if (!formats.some((one) => one === format)) {
      throw new UsageError("--format must be table, csv or json");
    }
    const request = given.text("request");
    const filterBy = (zone: TimeZone) => ({
      ...stretchOf(given, zone),
      model: given.text("model"),
      token: given.text("token"),
      team: given.text("team"),
      user: given.text("user"),
      request,
    });
    // What is wrong is said before anything is opened.
    filterBy(utc);
    const missing: string[] = [];
    const before = (database: OpenDatabase) => {
      if (database.config?.usage.enabled === false) {
        say("warning: usage.enabled is false: no records of calls are kept");
      }
      return bringIn(database, missing);
    };
    return withUsage(given, before, async (usage, zone) => {
      const byZone = isDate(given.text("since")) || isDate(given.text("until"));
      const totals = await usage.totals(by, filterBy(byZone ? await zone() : utc));
      for (const warning of missing) say(`warning: ${warning}`);
      if (format === "json") out(JSON.stringify(totals.map(entryOf), undefined, 2));
      else if (format === "csv") out(csv(...cells(totals, by)));
      else if (totals.length === 0) say("nothing was used");
      else out(table(...forPeople(totals, by)));
      return 0;
    });
  },
};

/**
 * What a gateway left behind that was killed and not started again.
 * @param missing gets what can't be brought in, and why
 */
async function bringIn(
  { sql, journal: directory }: OpenDatabase,
  missing: string[],
): Promise<void> {
  if (directory === undefined) return;
  const tell: Logger["warn"] = (fields: { file?: string; error?: string }, message) => {
    const { file, error } = fields;
    missing.push([file, message, error].filter((part) => part !== undefined).join(": "));
  };
  const log = { ...silent, warn: tell, error: tell };
  const usage = new DatabaseUsage(sql);
  // All of it, however long that takes: sums without the rest would be taken for the whole.
  await new Shipper({ directory, usage, log, closeMs: longestTimerMs }).close();
}

const day = 86_400_000;

const weekAgo = () => Date.now() - 7 * day;

function groupsOf(given: Given): Group[] {
  const words = (given.text("by") ?? "token,model").split(",").map((word) => word.trim());
  return words.map((word, i) => {
    if (words.indexOf(word) < i) throw new UsageError(`--by: "${word}" is there twice`);
    const known = groups.find((group) => group === word);
    if (known) return known;
    const hint = didYouMean(word, groups) || `; there are: ${groups.join(", ")}`;
    throw new UsageError(`--by: there is no group "${word}"${hint}`);
  });
}

/** From when until when. @throws UsageError */
function stretchOf(given: Given, zone: TimeZone) {
  // One call is found however long ago it was.
  const since = timeOption(given, "since", zone) ?? (given.has("request") ? undefined : weekAgo());
  const until = timeOption(given, "until", zone);
  if (since !== undefined && until !== undefined && until <= since) {
    const usual = given.has("since") ? "" : ", which is 7d where it is not given";
    throw new UsageError(`--until must be after --since${usual}`);
  }
  return { since, until };
}

/** Whether it is a date alone, which begins by the clocks of a zone. */
const isDate = (text = "") => /^\d{4}-\d\d-\d\d$/.test(text);

/** A time, or a duration that is counted back from now; a date alone is its beginning by the clocks of a zone. */
function timeOption(given: Given, name: string, zone: TimeZone): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const at = time.safeParse(text);
  const ago = parseDuration(text);
  if (at.success) {
    return isDate(text) ? momentOf(zone.between(at.data - day, at.data + day), at.data) : at.data;
  }
  if (ago !== undefined) return Date.now() - ago;
  throw new UsageError(
    `--${name} must be a duration, a date or a time: 7d, 2027-01-31, 2027-01-31T18:00:00Z`,
  );
}

/** What programs get. */
function entryOf({ group, ...totals }: UsageTotals) {
  return {
    ...group,
    calls: totals.calls,
    failed: totals.failed,
    cancelled: totals.cancelled,
    cache_hits: totals.cacheHits,
    prompt_tokens: totals.promptTokens,
    completion_tokens: totals.completionTokens,
    cached_tokens: totals.cachedTokens,
    cache_write_tokens: totals.cacheWriteTokens,
    reasoning_tokens: totals.reasoningTokens,
    images: totals.images,
    spend: totals.spend / unit,
    mean_duration_ms: rounded(totals.meanDurationMs),
    mean_first_ms: totals.meanFirstMs === undefined ? null : rounded(totals.meanFirstMs),
  };
}

const rounded = (ms: number) => Math.round(ms * 10) / 10;

const columns = [
  "calls",
  "failed",
  "cancelled",
  "cache_hits",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "images",
  "spend",
  "mean_duration_ms",
  "mean_first_ms",
] as const;

function cells(totals: readonly UsageTotals[], by: readonly Group[]): [string[], string[][]] {
  const rows = totals
    .map(entryOf)
    .map((entry) => [
      ...by.map((group) => entry[group] ?? ""),
      ...columns.map((column) => (entry[column] === null ? "" : plain(entry[column]))),
    ]);
  return [[...by, ...columns], rows];
}

/** Without an exponent: 1e-7 is not what a table wants. */
const plain = (n: number) => (Number.isInteger(n) ? String(n) : n.toFixed(9).replace(/0+$/, ""));

function forPeople(totals: readonly UsageTotals[], by: readonly Group[]): [string[], string[][]] {
  const [heading, rows] = cells(totals, by);
  const titles = heading.map((title) => title.toUpperCase().replaceAll("_", " "));
  return [titles, totals.length > 1 && by.length > 0 ? [...rows, sumOf(totals, by)] : rows];
}

/** The last line: everything together. */
function sumOf(totals: readonly UsageTotals[], by: readonly Group[]): string[] {
  type Sum = Exclude<keyof UsageTotals, "group" | "spend" | "meanDurationMs" | "meanFirstMs">;
  const sum = (key: Sum) => String(totals.reduce((all, one) => all + one[key], 0));
  const spend = totals.reduce((all, one) => all + one.spend, 0) / unit;
  return [
    "total",
    ...by.slice(1).map(() => ""),
    sum("calls"),
    sum("failed"),
    sum("cancelled"),
    sum("cacheHits"),
    sum("promptTokens"),
    sum("completionTokens"),
    sum("cachedTokens"),
    sum("cacheWriteTokens"),
    sum("reasoningTokens"),
    sum("images"),
    plain(spend),
  ];
}
