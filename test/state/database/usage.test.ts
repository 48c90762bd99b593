/** Usage in every database. */
import { expect, test } from "vitest";
import { TimeZone } from "../../../src/core/time-zone.js";
import type { UsersOf } from "../../../src/core/usage/history.js";
import type { UsageRecord } from "../../../src/core/usage/record.js";
import type { Group } from "../../../src/core/usage/sums.js";
import { DatabaseOwnTokens } from "../../../src/state/database/own-tokens.js";
import { rowsOf, type Sql, type Statement } from "../../../src/state/database/sql.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../../src/state/database/usage.js";
import { linesOf, record } from "../record.js";
import { onEveryDatabase } from "./databases.js";

onEveryDatabase((make) => {
  const day = Date.UTC(2026, 1, 3);

  test("a record that arrives twice counts once, and is as it was", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const full = record({ id: "a", firstMs: 1.25, spend: 12_345_678_901_234, estimated: true });
    const bare = record({ id: "b", token: undefined, model: undefined, backend: undefined });
    expect(await usage.insert(linesOf(full, bare))).toEqual([]);
    expect(await usage.insert(linesOf(bare, full, record({ id: "c" })))).toEqual([]);
    const rows = await rowsOf(again(), "SELECT * FROM lintel_usage ORDER BY id");
    expect(rows).toHaveLength(3);
    expect(rows[0]).toMatchObject({
      request_id: full.requestId,
      first_ms: 1.25,
      spend: 12_345_678_901_234,
      estimated: 1,
      attempts: 1,
    });
    expect(rows[1]).toMatchObject({ token: null, model: null, backend: null, first_ms: null });
  });

  test("many records at once, and one among them that is not taken", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const good = Array.from({ length: 1200 }, (_, i) => record({ id: `n${i}` }));
    const bad = record({ id: "bad", caller: null as unknown as string });
    const [worse, ...lines] = linesOf(bad, ...good);
    const broken = '{"id":"broken"';
    const refused = await usage.insert([
      ...lines.slice(0, 700),
      worse as string,
      broken,
      ...lines.slice(700),
    ]);
    expect(refused.map(({ line }) => line)).toEqual([worse, broken]);
    expect(await usage.totals([])).toMatchObject([{ calls: 1200 }]);
  });

  test("what only one of many records has, or nobody", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const plain = Array.from({ length: 60 }, (_, i) => record({ id: `n${i}` }));
    const last = record({ id: "z", user: "ann", team: "lobby", cachedTokens: 3 });
    expect(await usage.insert(linesOf(...plain, last))).toEqual([]);
    const text = "SELECT * FROM lintel_usage WHERE id IN ('n0', 'n59', 'z') ORDER BY id";
    const none = { end_user: null, team: null, cached_tokens: null, cache_write_tokens: null };
    expect(await rowsOf(again(), text)).toMatchObject([
      none,
      none,
      { ...none, end_user: "ann", team: "lobby", cached_tokens: 3 },
    ]);
    for (const line of ["[]", "{}", "[null]"]) {
      expect((await usage.insert([line])).map((each) => each.line)).toEqual([line]);
    }
  });

  test("lines are taken as earlier versions wrote them, as objects", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const old = record({ id: "old", caller: "before", spend: 7, estimated: true });
    const lines = [JSON.stringify(old), ...linesOf(old, record({ caller: "now" }))];
    expect(await usage.insert(lines)).toEqual([]);
    expect(await usage.totals(["token"])).toMatchObject([
      { group: { token: "before" }, calls: 1, spend: 7, promptTokens: 10, completionTokens: 5 },
      { group: { token: "now" }, calls: 1, spend: 0 },
    ]);
  });

  test("tokens in a cache, written to one, and thoughts, are summed where they were told", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const told = { cachedTokens: 4, cacheWriteTokens: 2, reasoningTokens: 0 };
    const none = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    const [line = ""] = linesOf(record({ id: "earlier", caller: "before" }));
    const earlier = JSON.stringify(JSON.parse(line).slice(0, 18));
    expect(await usage.insert([...linesOf(record(told), record(told)), earlier])).toEqual([]);
    expect(await usage.totals(["token"])).toMatchObject([
      { group: { token: "alice" }, cachedTokens: 8, cacheWriteTokens: 4, reasoningTokens: 0 },
      { group: { token: "before" }, calls: 1, ...none },
    ]);
    const text =
      "SELECT cached_tokens, cache_write_tokens, reasoning_tokens FROM lintel_usage ORDER BY id DESC";
    const [row, , oldest] = await rowsOf(again(), text);
    expect(row).toEqual({ cached_tokens: 4, cache_write_tokens: 2, reasoning_tokens: 0 });
    expect(oldest).toEqual({
      ...{ cached_tokens: null, cache_write_tokens: null, reasoning_tokens: null },
    });
  });

  test("sums by whom calls were for, and of one of these; older records and lines name nobody", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const of = (user: string, more = {}) => record({ user, ...more });
    const lines = linesOf(of("u-1"), of("u-1", { caller: "bob" }), of("u-2"), record());
    const [line = ""] = linesOf(record());
    const values: unknown[] = JSON.parse(line);
    const earlier = JSON.stringify(values.slice(0, 21));
    expect(await usage.insert([...lines, earlier])).toEqual([]);
    expect(await usage.totals(["user"])).toMatchObject([
      { group: { user: "" }, calls: 2 },
      { group: { user: "u-1" }, calls: 2 },
      { group: { user: "u-2" }, calls: 1 },
    ]);
    expect(await usage.totals(["token", "user"], { user: "u-1" })).toMatchObject([
      { group: { token: "alice", user: "u-1" }, calls: 1 },
      { group: { token: "bob", user: "u-1" }, calls: 1 },
    ]);
    expect(await usage.totals([], { user: "u" })).toMatchObject([{ calls: 0 }]);
    const [, , , bare] = await rowsOf(again(), "SELECT end_user FROM lintel_usage ORDER BY id");
    expect(bare).toEqual({ end_user: null });
  });

  test("tells what end users of each caller used, whoever used most first", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const of = (caller: string, user: string | undefined, spend: number, images: number, at = 10) =>
      record({ caller, user, spend, images, at });
    const lines = linesOf(
      ...[of("a", "u:1", 3, 1), of("a", "u:1", 4e15, 0), of("a", "u2", 1, 2), of("b", "u2", 9, 0)],
      // Nobody's, or of another time.
      ...[of("a", undefined, 5, 5), of("a", "u2", 7, 7, 9), of("a", "u2", 7, 7, 20)],
    );
    expect(await usage.insert(lines)).toEqual([]);
    expect(await usage.ofUsers("spend", 10, 20, 9)).toEqual([
      { caller: "a", user: "u:1", used: 4e15 + 3 },
      { caller: "b", user: "u2", used: 9 },
      { caller: "a", user: "u2", used: 1 },
    ]);
    expect(await usage.ofUsers("images", 10, 20, 9)).toEqual([
      { caller: "a", user: "u2", used: 2 },
      { caller: "a", user: "u:1", used: 1 },
    ]);
    expect(await usage.ofUsers("spend", 10, 20, 1)).toHaveLength(1);
  });

  test("tells whose tokens of the database have a limit of a period, also of those that were revoked", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const tokens = new DatabaseTokens(again());
    const day = { amount: 1, period: "day" } as const;
    await tokens.create({ name: "a", limits: { budget: day } });
    await tokens.create({ name: "b", limits: { imagesPerDay: 4, requestsPerMinute: 1 } });
    await tokens.create({ name: "c" });
    await tokens.create({ name: "d", limits: { requestsPerMinute: 1 } });
    await tokens.revoke("a");
    await tokens.create({ name: "a" });
    expect(await usage.limited("day")).toEqual(["a"]);
    expect(await usage.limited("images")).toEqual(["b"]);
    expect(await usage.limited("lifetime")).toEqual([]);
  });

  test("tells what end users of some callers used: by name, issuer, team and tokens of the database", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const tokens = new DatabaseTokens(again());
    const of = (caller: string, more: object = {}) =>
      record({ caller, user: "u", spend: 1, images: 1, at: 10, ...more });
    const others = [of("corp:x", { token: "corp" }), of("red", { team: "r" }), of("d"), of("e")];
    // By a token that the caller made for itself; another issuer's name begins alike.
    others.push(of("corp:y", { token: "tok_123456789012" }), of("corporation:x"));
    expect(await usage.insert(linesOf(of("a"), of("b"), of("c"), ...others))).toEqual([]);
    const asked = async (more: Partial<UsersOf>, quantity: "images" | "spend" = "spend") => {
      const nobody: UsersOf = { callers: [], issuers: [], teams: [], stored: "day" };
      const found = await usage.ofUsers(quantity, 0, 20, 9, { ...nobody, ...more });
      return found.map(({ caller }) => caller).toSorted();
    };
    expect(await asked({})).toEqual([]);
    expect(await asked({ callers: ["a", "b"], issuers: ["corp"], teams: ["r"] })).toEqual([
      ...["a", "b", "corp:x", "corp:y", "red"],
    ]);
    const day = { amount: 1, period: "day" } as const;
    await tokens.create({ name: "c", limits: { user: { budget: day } } });
    await tokens.create({ name: "d", limits: { budget: day, user: { imagesPerDay: 0 } } });
    await tokens.create({ name: "e", limits: { budget: day, imagesPerDay: 4 } });
    expect(await asked({})).toEqual(["c"]);
    expect(await asked({ callers: ["a"] })).toEqual(["a", "c"]);
    expect(await asked({ stored: "month" })).toEqual([]);
    expect(await asked({ stored: "images" }, "images")).toEqual(["d"]);
    await tokens.update("c", { limits: { user: { budget: null } } });
    expect(await asked({})).toEqual([]);
    await tokens.update("d", { limits: { user: { budget: day } } });
    await tokens.revoke("d");
    expect(await asked({})).toEqual([]);
  });

  test("answers that were kept are counted: chats that went well, and no backend was asked", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const kept = { attempts: 0, backend: undefined };
    await usage.insert(
      linesOf(
        record({ ...kept, method: "chat" }),
        record({ ...kept, method: "complete" }),
        record({ ...kept, method: "countTokens" }),
        record({ ...kept, method: "textToImage" }),
        record({ ...kept, outcome: "cancelled" }),
        record({ ...kept, outcome: "rate_limited" }),
        record(),
      ),
    );
    expect(await usage.totals([])).toMatchObject([{ calls: 7, cacheHits: 2 }]);
  });

  test("a database of an earlier version gets the columns that it lacks, and keeps its records", async () => {
    const { again } = await make();
    const old = again();
    await new DatabaseUsage(old).insert(linesOf(record({ id: "kept", spend: 7 })));
    await new DatabaseTokens(old).create({ name: "kept" });
    await old.run([
      { text: "DROP INDEX lintel_tokens_made" },
      { text: "DROP INDEX lintel_tokens_over" },
      { text: "DROP INDEX lintel_tokens_owner" },
      { text: "DROP INDEX lintel_tokens_name" },
      ...["owner", "owner_issuer", "owner_claims"].map((column) => ({
        text: `ALTER TABLE lintel_tokens DROP COLUMN ${column}`,
      })),
      {
        text: "CREATE UNIQUE INDEX lintel_tokens_name ON lintel_tokens (name) WHERE revoked_at IS NULL",
      },
      { text: "ALTER TABLE lintel_tokens DROP COLUMN from_addresses" },
      { text: "ALTER TABLE lintel_usage DROP COLUMN cached_tokens" },
      { text: "ALTER TABLE lintel_usage DROP COLUMN reasoning_tokens" },
      { text: "ALTER TABLE lintel_usage DROP COLUMN team" },
      { text: "ALTER TABLE lintel_tokens DROP COLUMN team" },
      { text: "ALTER TABLE lintel_usage DROP COLUMN end_user" },
      { text: "DROP TABLE lintel_usage_past" },
      { text: "ALTER TABLE lintel_usage DROP COLUMN cache_write_tokens" },
      { text: "DELETE FROM lintel_migrations WHERE version > 1" },
    ]);
    await old.close();
    const usage = new DatabaseUsage(again());
    expect(await usage.totals([])).toMatchObject([{ calls: 1, spend: 7, cachedTokens: 0 }]);
    const tokens = new DatabaseTokens(again());
    const none = { from: undefined, team: undefined, owner: undefined };
    expect(await tokens.list()).toMatchObject([{ name: "kept", ...none }]);
    expect(await tokens.create({ name: "kept" })).toBeUndefined();
    const owner = { caller: "corp:ann", issuer: "https://corp", claims: {} };
    const own = { owner, name: "kept", expiresAt: Date.now() + 60_000, max: 1, maxPerDay: 1 };
    expect(await new DatabaseOwnTokens(again()).create(own)).toMatchObject({ token: { owner } });
    const newer = record({ cachedTokens: 3, cacheWriteTokens: 1, reasoningTokens: 2, user: "u-1" });
    expect(await usage.insert(linesOf(newer))).toEqual([]);
    expect(await usage.lifetimes(Date.now())).toMatchObject([{ calls: 2, spend: 7 }]);
    expect(await usage.totals(["user"])).toMatchObject([
      { group: { user: "" }, calls: 1 },
      { group: { user: "u-1" }, calls: 1 },
    ]);
    expect(await usage.totals([])).toMatchObject([
      { calls: 2, promptTokens: 20, cachedTokens: 3, cacheWriteTokens: 1, reasoningTokens: 2 },
    ]);
  });

  test("members of a team are summed together, or told apart; older records are of none", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const [line = ""] = linesOf(record({ id: "earlier", caller: "before", team: "red" }));
    const earlier = JSON.stringify(JSON.parse(line).slice(0, 20));
    const red = [record({ team: "red" }), record({ caller: "bob", team: "red" })];
    expect(await usage.insert([...linesOf(...red, record()), earlier])).toEqual([]);
    expect(await usage.totals(["team"])).toMatchObject([
      { group: { team: "" }, calls: 2 },
      { group: { team: "red" }, calls: 2, promptTokens: 20 },
    ]);
    expect(await usage.totals(["token"], { team: "red" })).toMatchObject([
      { group: { token: "alice" }, calls: 1 },
      { group: { token: "bob" }, calls: 1 },
    ]);
  });

  test("text with every character is taken", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    expect(await usage.insert(linesOf(record({ caller: "a\0'\"\u{1f600}\ud800" })))).toEqual([]);
    expect(await usage.totals([])).toMatchObject([{ calls: 1 }]);
  });

  test("hours, days and months by the clocks of a zone", async () => {
    const { again } = await make();
    await new DatabaseUsage(again()).insert(
      linesOf(
        ...[
          // Clocks are set back at 1:00 UTC.
          ["a", "2026-10-25T00:30Z"],
          ["b", "2026-10-25T01:15Z"],
          ["c", "2026-10-25T22:59Z"],
          ["d", "2026-10-25T23:00Z"],
          ["e", "2026-10-31T23:00Z"],
        ].map(([id = "", at = ""]) => record({ id, caller: id, at: Date.parse(at) })),
      ),
    );
    const told = async (name: string, by: Group) => {
      const totals = await new DatabaseUsage(again(), new TimeZone(name)).totals([by]);
      return totals.map(({ group, calls }) => `${group[by]}: ${calls}`);
    };
    expect(await told("Europe/Berlin", "day")).toEqual([
      "2026-10-25: 3",
      "2026-10-26: 1",
      "2026-11-01: 1",
    ]);
    expect(await told("Europe/Berlin", "month")).toEqual(["2026-10: 4", "2026-11: 1"]);
    expect(await told("Europe/Berlin", "hour")).toEqual([
      "2026-10-25T02:00+02:00: 1",
      "2026-10-25T02:00+01:00: 1",
      "2026-10-25T23:00+01:00: 1",
      "2026-10-26T00:00+01:00: 1",
      "2026-11-01T00:00+01:00: 1",
    ]);
    expect((await told("America/St_Johns", "hour"))[0]).toBe("2026-10-24T22:00-02:30: 2");
    expect((await told("Asia/Kolkata", "hour"))[0]).toBe("2026-10-25T06:00+05:30: 2");
    expect((await told("UTC", "hour"))[0]).toBe("2026-10-25T00:00Z: 1");
  });

  test("sums by groups, and of a part", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const of = (n: number, more: Partial<UsageRecord>) => record({ id: `r${n}`, ...more });
    await usage.insert(
      linesOf(
        of(1, { at: day, caller: "a", model: "m", promptTokens: 3, spend: 5 }),
        of(2, { at: day + 3_600_000, caller: "a", model: "m", outcome: "cancelled" }),
        of(3, { at: day + 86_400_000, caller: "b", model: "m", images: 2, firstMs: 4 }),
        of(4, { at: day + 86_400_000, caller: "b", model: undefined, outcome: "rate_limited" }),
        of(5, {
          at: day + 86_400_001,
          caller: "b",
          model: "n",
          token: "t",
          durationMs: 30,
          requestId: "x",
        }),
      ),
    );
    expect(await usage.totals(["token", "model"])).toMatchObject([
      {
        group: { token: "a", model: "m" },
        calls: 2,
        failed: 0,
        cancelled: 1,
        promptTokens: 13,
        spend: 5,
      },
      { group: { token: "b", model: "" }, calls: 1, failed: 1, cancelled: 0 },
      { group: { token: "b", model: "m" }, calls: 1, failed: 0, images: 2, meanFirstMs: 4 },
      { group: { token: "b", model: "n" }, calls: 1, meanDurationMs: 30 },
    ]);
    const by = async (...groups: Parameters<DatabaseUsage["totals"]>[0]) =>
      (await usage.totals(groups)).map(({ group, calls }) => [...Object.values(group), calls]);
    expect(await by("day")).toEqual([
      ["2026-02-03", 2],
      ["2026-02-04", 3],
    ]);
    expect(await by("hour")).toEqual([
      ["2026-02-03T00:00Z", 1],
      ["2026-02-03T01:00Z", 1],
      ["2026-02-04T00:00Z", 3],
    ]);
    expect(await by("token", "month")).toEqual([
      ["b", "2026-02", 3],
      ["a", "2026-02", 2],
    ]);
    expect(await usage.totals([], { since: day + 1, until: day + 86_400_001 })).toMatchObject([
      { group: {}, calls: 3 },
    ]);
    expect(await usage.totals([], { token: "t" })).toMatchObject([{ calls: 1 }]);
    expect(await usage.totals(["model"], { token: "b", model: "n" })).toHaveLength(1);
    expect(await usage.totals(["model"], { request: "x" })).toMatchObject([
      { group: { model: "n" }, calls: 1 },
    ]);
    expect(await usage.totals([], { token: "nobody" })).toMatchObject([
      { calls: 0, failed: 0, cancelled: 0, spend: 0, meanDurationMs: 0, meanFirstMs: undefined },
    ]);
    expect(await usage.totals(["token"], { token: "nobody" })).toEqual([]);
  });

  test("spend in a small unit of money is summed, however many billionths that are", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const exact = [record({ spend: 2 ** 52 }), record({ spend: 2 ** 52 - 1 })];
    await usage.insert(linesOf(...exact));
    expect(await usage.totals([])).toMatchObject([{ spend: 2 ** 53 - 1 }]);
    await usage.insert(linesOf(record({ spend: 9e18 }), record({ spend: 9e18 })));
    const [{ spend = 0 } = {}] = await usage.totals([]);
    expect(spend / 1.8e19).toBeCloseTo(1, 2);
  });

  test("sums may take as long as all records need", async () => {
    const asked: Statement[] = [];
    const run: Sql["run"] = async (statements) => {
      asked.push(...statements);
      return [[]];
    };
    const sql = { kind: "postgres" as const, run, insert: async () => {}, close: async () => {} };
    await new DatabaseUsage(sql).totals(["token"]);
    expect(asked).toEqual([expect.objectContaining({ long: true })]);
  });

  test("what is old is deleted", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    await usage.insert(
      linesOf(...Array.from({ length: 30 }, (_, i) => record({ id: `o${i}`, at: day + i }))),
    );
    // The clock tells fractions of a millisecond.
    expect(await usage.purge(day + 18.5)).toBe(19);
    expect(await usage.purge(day + 20)).toBe(1);
    expect(await usage.purge(day + 20)).toBe(0);
    expect(await usage.totals([])).toMatchObject([{ calls: 10 }]);
  });

  test("what deleted records cost is kept, by caller, team and model", async () => {
    const { again } = await make();
    const usage = new DatabaseUsage(again());
    const old = { at: day, team: "red", user: "u" };
    await usage.insert(
      linesOf(
        record({ ...old, spend: 2 ** 50 }),
        record({ ...old, spend: 3 }),
        record({ ...old, model: "chat-2" }),
        record({ at: day, spend: 5 }),
        record({ at: day, caller: "anon-1", token: undefined, spend: 7 }),
        record({ at: day, caller: "anon-2", token: undefined, model: undefined, spend: 1 }),
        record({ at: day, caller: "anonymous", token: undefined, spend: 4 }),
        record({ ...old, at: day + 9, spend: 10, images: 2 }),
        record({ ...old, at: day + 10, spend: 100 }),
      ),
    );
    const lifetimes = async () =>
      (await usage.lifetimes(day + 10))
        .filter(({ spend }) => spend > 0)
        .map(({ caller, team, model, spend }) => [caller, team, model, spend])
        .sort();
    const red = ["alice", "red", "chat-1", 2 ** 50 + 13];
    const others = [
      ["alice", "", "chat-1", 5],
      ["anonymous", "", "chat-1", 4],
    ];
    expect(await lifetimes()).toEqual(
      [red, ...others, ["anon-1", "", "chat-1", 7], ["anon-2", "", "", 1]].sort(),
    );
    // Two gateways at once, and again.
    const second = new DatabaseUsage(again());
    const deleted = await Promise.all([usage.purge(day + 5), second.purge(day + 5)]);
    expect(deleted.reduce((a, b) => a + b)).toBe(7);
    const kept = [red, ...others, ["", "", "chat-1", 7], ["", "", "", 1]].sort();
    expect(await lifetimes()).toEqual(kept);
    expect(await usage.purge(day + 9.5)).toBe(1);
    expect(await lifetimes()).toEqual(kept);
    expect(await usage.totals([])).toMatchObject([{ calls: 1, spend: 100 }]);
  });
});
