/** Usage in a database: records come in, sums go out. */
import { type TimeZone, utc } from "../../core/time-zone.js";
import type { PeriodLimit, UsedByUser, UsedSoFar, UsersOf } from "../../core/usage/history.js";
import type {
  Group,
  UsageFilter,
  UsagePage,
  UsageSums,
  UsageTotals,
} from "../../core/usage/sums.js";
import { rowsOf, type Sql, ValueRefused } from "./sql.js";
import { columns } from "./usage-line.js";
import { totalsOf, totalsStatement } from "./usage-totals.js";

/** Rows of one insertion; PostgreSQL takes 65535 values. */
const rowsAtOnce = 500;

/** Rows that are deleted at a time, so that writers never wait long. */
const purgeSize = 5000;

/** The usage in a database. */
export class DatabaseUsage implements UsageSums {
  readonly #sql: Sql;
  readonly #zone: TimeZone;

  /** @param zone by whose clocks hours, days and months are told */
  constructor(sql: Sql, zone = utc) {
    this.#sql = sql;
    this.#zone = zone;
  }

  /**
   * Keeps records; those that are there already are passed over.
   * @param lines as `lineOf` makes them: they come from files, and the thread that writes
   *   them to the database reads them
   * @returns lines that the database does not take, with its reasons
   * @throws DatabaseAway; then some may be kept, and all can be tried again
   */
  async insert(
    lines: readonly string[],
  ): Promise<readonly { readonly line: string; readonly reason: string }[]> {
    const refused: { line: string; reason: string }[] = [];
    for (let i = 0; i < lines.length; i += rowsAtOnce) {
      const some = lines.slice(i, i + rowsAtOnce);
      try {
        await this.#sql.insert({ table: "lintel_usage", columns, lines: some });
      } catch (error) {
        if (!(error instanceof ValueRefused)) throw error;
        // One of them is at fault, and must not hold up the others.
        if (some.length === 1 && some[0]) refused.push({ line: some[0], reason: error.message });
        else for (const one of some) refused.push(...(await this.insert([one])));
      }
    }
    return refused;
  }

  async totals(
    by: readonly Group[],
    filter: UsageFilter = {},
    page?: UsagePage,
  ): Promise<readonly UsageTotals[]> {
    const [rows = []] = await this.#sql.run([
      totalsStatement({ kind: this.#sql.kind, zone: this.#zone }, by, filter, page),
    ]);
    return rows.map((row) => totalsOf(row, by));
  }

  /**
   * What each end user of each caller used in the calls of a time, whoever used most first; at most `most` of them.
   * @param from milliseconds since the epoch
   * @param until calls that began then or later are left out
   * @param of whose; absent: of all callers
   */
  async ofUsers(
    quantity: "images" | "spend",
    from: number,
    until: number,
    most: number,
    of?: UsersOf,
  ): Promise<readonly UsedByUser[]> {
    const whose = of && (await this.#whose(of));
    if (whose?.text === "") return [];
    const text = `SELECT caller, end_user, SUM(CAST(${quantity} AS DOUBLE PRECISION)) AS used
      FROM lintel_usage WHERE at >= ? AND at < ? AND end_user IS NOT NULL AND ${quantity} > 0
        ${whose ? `AND (${whose.text})` : ""}
      GROUP BY caller, end_user ORDER BY used DESC LIMIT ?`;
    const [rows = []] = await this.#sql.run([
      { text, values: [from, until, ...(whose?.values ?? []), most], long: true },
    ]);
    return rows.map(({ caller, end_user, used }) => {
      return { caller: String(caller), user: String(end_user), used: Number(used) };
    });
  }

  /** Names of tokens, also of those that were revoked, that have such a limit of their own, or of their users. */
  async limited(limit: PeriodLimit): Promise<readonly string[]> {
    const text = "SELECT DISTINCT name FROM lintel_tokens WHERE limits LIKE ?";
    const rows = await rowsOf(this.#sql, text, [`%${writtenAs(limit)}%`]);
    return rows.map(({ name }) => String(name));
  }

  /** A condition for records of some callers; empty: there are none. */
  async #whose({ callers, issuers, teams, stored }: UsersOf) {
    const all: [string, readonly string[]][] = [];
    const some = (column: string, names: readonly string[]) => {
      if (names.length > 0) all.push([`${column} IN (${names.map(() => "?").join(", ")})`, names]);
    };
    some("caller", callers);
    // Also by tokens that they made for themselves: no other caller is called like them.
    for (const issuer of issuers) {
      all.push([`SUBSTR(caller, 1, ${issuer.length + 1}) = ?`, [`${issuer}:`]]);
    }
    some("team", teams);
    const values = [`%"user":{%${writtenAs(stored)}%`];
    const tokens = "FROM lintel_tokens WHERE revoked_at IS NULL AND limits LIKE ?";
    const any = await rowsOf(this.#sql, `SELECT 1 AS found ${tokens} LIMIT 1`, values);
    if (any.length > 0) all.push([`caller IN (SELECT name ${tokens})`, values]);
    return {
      text: all.map(([text]) => text).join(" OR "),
      values: all.flatMap(([, values]) => values),
    };
  }

  /**
   * What all calls there ever were came to, by caller, team and model; deleted records as far as `purge` keeps them.
   * @param until calls that began then or later are left out
   */
  async lifetimes(until: number): Promise<readonly UsedSoFar[]> {
    // In one statement: what is deleted meanwhile counts once.
    const text = `SELECT caller, team, model, SUM(calls) AS calls, SUM(prompt) AS prompt,
        SUM(completion) AS completion, SUM(images) AS images, SUM(spend) AS spend FROM (
          SELECT caller, COALESCE(team, '') AS team, COALESCE(model, '') AS model, 1 AS calls,
            prompt_tokens AS prompt, completion_tokens AS completion, images,
            CAST(COALESCE(spend, 0) AS DOUBLE PRECISION) AS spend
          FROM lintel_usage WHERE at < ?
          UNION ALL SELECT caller, team, model, 0, 0, 0, 0, spend FROM lintel_usage_past
        ) AS every GROUP BY 1, 2, 3`;
    const [rows = []] = await this.#sql.run([{ text, values: [Math.ceil(until)], long: true }]);
    return rows.map((row) => ({
      caller: String(row.caller),
      team: String(row.team),
      model: String(row.model),
      calls: Number(row.calls),
      promptTokens: Number(row.prompt),
      completionTokens: Number(row.completion),
      images: Number(row.images),
      spend: Number(row.spend),
    }));
  }

  /**
   * Deletes records of calls that began before a time, which may have a fraction. What they cost is kept, summed up by
   * caller, team and model, for budgets that never begin anew.
   * @returns how many
   */
  async purge(before: number): Promise<number> {
    // PostgreSQL takes no fractions where whole numbers stand.
    const values = [Math.ceil(before)];
    const statements = purging[this.#sql.kind].map((text) => ({ text, values }));
    let deleted = 0;
    for (;;) {
      const length = (await this.#sql.run(statements)).at(-1)?.length ?? 0;
      deleted += length;
      if (length < purgeSize) return deleted;
    }
  }
}

const oldest = `(SELECT id FROM lintel_usage WHERE at < ? ORDER BY at, id LIMIT ${purgeSize})`;

/** Adds to the sums what records cost. Callers whom nobody knew may have had any number of names. */
const summing = (from: string) => `INSERT INTO lintel_usage_past (caller, team, model, spend)
  SELECT CASE WHEN token IS NULL AND caller <> 'anonymous' THEN '' ELSE caller END AS whose,
    COALESCE(team, '') AS members, COALESCE(model, '') AS named, SUM(CAST(spend AS DOUBLE PRECISION))
  FROM ${from} AND spend > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (caller, team, model) DO UPDATE SET spend = lintel_usage_past.spend + excluded.spend`;

/**
 * What deletes the oldest records, in one transaction; the last statement answers a row for each. In SQLite one
 * transaction writes at a time. Of PostgreSQL's, two gateways' may meet: only what one has deleted it sums up.
 */
const purging: Readonly<Record<Sql["kind"], readonly string[]>> = {
  sqlite: [
    summing(`lintel_usage WHERE id IN ${oldest}`),
    `DELETE FROM lintel_usage WHERE id IN ${oldest} RETURNING at`,
  ],
  postgres: [
    `WITH gone AS (DELETE FROM lintel_usage WHERE id IN ${oldest} RETURNING *),
      summed AS (${summing("gone WHERE TRUE")} RETURNING 1)
    SELECT at FROM gone`,
  ],
};

/** As `DatabaseTokens` writes a limit; a token that has it elsewhere as well does no harm. */
const writtenAs = (limit: PeriodLimit) =>
  limit === "images" ? '"imagesPerDay":' : `"period":"${limit}"`;
