import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openNamed } from "../../src/state/database/open.js";
import { DatabaseUsage } from "../../src/state/database/usage.js";
import { linesOf, record } from "../state/record.js";
import { runHere } from "./here.js";
import { folder } from "./lintel.js";

const hour = 3_600_000;

/** A database with a few calls. */
async function filled(): Promise<string> {
  const cwd = folder();
  const sql = openNamed(join(cwd, "usage.db"));
  const at = Date.now() - hour;
  const records = [
    record({
      at,
      caller: "alice",
      model: "m",
      promptTokens: 1000,
      cachedTokens: 900,
      cacheWriteTokens: 80,
      spend: 1_500_000_000,
    }),
    record({ at, caller: "alice", model: "m", spend: 1, outcome: "cancelled", firstMs: 5.25 }),
    record({
      ...{ at, caller: '=HYPERLINK("x")', model: "n,1", images: 2, outcome: "timeout" },
      reasoningTokens: 3,
    }),
    record({ at, caller: "alice", model: "m", attempts: 0, promptTokens: 0, completionTokens: 0 }),
    record({ at: at - 30 * 24 * hour, caller: "old", requestId: "req-old" }),
  ];
  await new DatabaseUsage(sql).insert(linesOf(...records));
  await sql.close();
  return cwd;
}

test("as a table, as CSV and as JSON", async () => {
  const cwd = await filled();
  const database = ["--database", join(cwd, "usage.db")];
  const usage = (...args: string[]) => runHere(["usage", ...database, ...args]);
  const shown = await usage();
  const csv = await usage("--format", "csv", "--by", "token, model");
  const json = await usage("--format", "json", "--by", "model", "--token", "alice");
  const all = await usage("--since", "2000-01-01", "--by", "token", "--model", "chat-1");
  const none = await usage("--until", "2000-01-01", "--since", "1999-01-01T00:00Z");
  const request = ["--request", "req-old"];
  const one = await usage("--by", "token", "--format", "csv", ...request);
  expect(shown.code).toBe(0);
  const lines = shown.stdout.trimEnd().split("\n");
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    [
      "TOKEN",
      "MODEL",
      "CALLS",
      "FAILED",
      "CANCELLED",
      "CACHE HITS",
      "PROMPT TOKENS",
      "COMPLETION TOKENS",
      "CACHED TOKENS",
      "CACHE WRITE TOKENS",
      "REASONING TOKENS",
      "IMAGES",
      "SPEND",
      "MEAN DURATION MS",
      "MEAN FIRST MS",
    ],
    [
      "alice",
      "m",
      "3",
      "0",
      "1",
      "1",
      "1010",
      "10",
      "900",
      "80",
      "0",
      "0",
      "1.500000001",
      "20",
      "5.3",
    ],
    ['=HYPERLINK("x")', "n,1", "1", "1", "0", "0", "10", "5", "0", "0", "3", "2", "0", "20"],
    ["total", "4", "1", "1", "1", "1020", "15", "900", "80", "3", "2", "1.500000001"],
  ]);
  expect(csv.stdout.split("\r\n")).toEqual([
    "token,model,calls,failed,cancelled,cache_hits,prompt_tokens,completion_tokens,cached_tokens,cache_write_tokens,reasoning_tokens,images,spend,mean_duration_ms,mean_first_ms",
    "alice,m,3,0,1,1,1010,10,900,80,0,0,1.500000001,20,5.3",
    `"'=HYPERLINK(""x"")","n,1",1,1,0,0,10,5,0,0,3,2,0,20,\n`,
  ]);
  expect(JSON.parse(json.stdout)).toEqual([
    {
      model: "m",
      calls: 3,
      failed: 0,
      cancelled: 1,
      cache_hits: 1,
      prompt_tokens: 1010,
      completion_tokens: 10,
      cached_tokens: 900,
      cache_write_tokens: 80,
      reasoning_tokens: 0,
      images: 0,
      spend: 1.500000001,
      mean_duration_ms: 20,
      mean_first_ms: 5.3,
    },
  ]);
  expect(all.stdout).toMatch(/^old +1 +0 +0 +0 +10 +5 /m);
  expect(one.stdout.split("\r\n").slice(1)).toEqual(["old,1,0,0,0,10,5,0,0,0,0,0,20,\n"]);
  expect(none).toMatchObject({ code: 0, stdout: "", stderr: "nothing was used\n" });
});

test("by team, and of one team", async () => {
  const cwd = folder();
  const sql = openNamed(join(cwd, "usage.db"));
  const at = Date.now() - hour;
  const of = (caller: string, team?: string) => record({ at, caller, team });
  await new DatabaseUsage(sql).insert(linesOf(of("a", "red"), of("b", "red"), of("c", "blue")));
  await sql.close();
  const usage = async (...args: string[]) =>
    (
      await runHere(["usage", "--database", join(cwd, "usage.db"), "--format", "csv", ...args])
    ).stdout
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(",").slice(0, 2));
  expect(await usage("--by", "team")).toEqual([
    ["red", "2"],
    ["blue", "1"],
  ]);
  expect(await usage("--by", "token", "--team", "red")).toEqual([
    ["a", "1"],
    ["b", "1"],
  ]);
});

/** A file of a process of this machine that is gone. */
const leftBy = (nonce: string) =>
  `${hostname().replace(/[^\w-]/g, "_")}.999999999.${nonce}.0000000000.journal`;

test("what a gateway left behind that was killed is in it, once", async () => {
  const cwd = folder({ "lintel.yaml": "state: { directory: . }" });
  const journal = join(cwd, "usage");
  mkdirSync(journal, { recursive: true });
  const at = Date.now();
  const left = [record({ at, id: "a" }), record({ at, id: "b" })];
  const text = linesOf(...left).join("\n");
  // Its last line is only half there.
  writeFileSync(
    join(journal, leftBy("abc")),
    `${text}\n${linesOf(record({ at }))[0]?.slice(0, 40)}`,
  );
  for (const _ of [1, 2]) {
    const { stdout } = await runHere([
      "usage",
      "--format",
      "json",
      "--by",
      "token",
      "--config",
      join(cwd, "lintel.yaml"),
    ]);
    expect(JSON.parse(stdout)).toMatchObject([{ token: "alice", calls: 2, prompt_tokens: 20 }]);
  }
  expect(readdirSync(journal)).toEqual([]);
});

test("all that was left behind is in it, however long that takes", async () => {
  const cwd = folder({ "lintel.yaml": "state: { directory: . }" });
  const journal = join(cwd, "usage");
  mkdirSync(journal);
  for (let file = 0; file < 20; file++) {
    const records = Array.from({ length: 500 }, () => record({ at: Date.now() }));
    writeFileSync(join(journal, leftBy(`a${file}`)), `${linesOf(...records).join("\n")}\n`);
  }
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const usage = ["usage", "--format", "csv", "--by", "token", "--config"];
  const running = runHere([...usage, join(cwd, "lintel.yaml")]);
  // As many seconds as there are turns, while it is at work.
  let over = false;
  void running.finally(() => {
    over = true;
  });
  while (!over) {
    vi.advanceTimersByTime(1000);
    await new Promise(setImmediate);
  }
  expect((await running).stdout.split("\r\n")[1]).toMatch(/^alice,10000,/);
});

test("what can't be brought in is told, and the rest is summed up", async () => {
  const cwd = folder({ "lintel.yaml": "state: { directory: . }" });
  const journal = join(cwd, "usage");
  mkdirSync(journal);
  const [line = ""] = linesOf(record({ at: Date.now() }));
  writeFileSync(join(journal, leftBy("abc")), `${line}\n["bad"]\n`);
  mkdirSync(join(journal, leftBy("abd")));
  const usage = ["usage", "--format", "csv", "--by", "token", "--config"];
  const { code, stdout, stderr } = await runHere([...usage, join(cwd, "lintel.yaml")]);
  expect({ code, rows: stdout.split("\r\n").slice(1) }).toMatchObject({
    code: 0,
    rows: [expect.stringMatching(/^alice,1,/)],
  });
  expect(stderr.split("\n")).toHaveLength(3);
  expect(stderr).toMatch(/^warning: \S+: a file of usage can't be sent; .*: EISDIR/m);
  expect(stderr).toMatch(/^warning: the database does not take a record of usage: \w/m);
});

test("days and dates are those of the configuration's time zone", async () => {
  const cwd = folder({ "lintel.yaml": "state: { directory: . }\ntime_zone: Asia/Tokyo\n" });
  const sql = openNamed(join(cwd, "lintel.db"));
  const at = (time: string) => record({ id: time, at: Date.parse(time) });
  // Midnight in Tokyo is at 15:00 UTC.
  const times = ["2026-05-01T14:59Z", "2026-05-01T15:00Z", "2026-05-02T14:59Z"];
  await new DatabaseUsage(sql).insert(linesOf(...times.map(at), at("2026-05-02T15:00Z")));
  await sql.close();
  const usage = async (since: string, until: string, ...where: string[]) => {
    const what = ["--by", "day", "--format", "json", "--since", since, "--until", until];
    const { stdout } = await runHere(["usage", ...what, ...where]);
    return JSON.parse(stdout).map(({ day, calls }: Record<string, unknown>) => `${day}: ${calls}`);
  };
  const config = ["--config", join(cwd, "lintel.yaml")];
  expect(await usage("2026-05-02", "2026-05-03", ...config)).toEqual(["2026-05-02: 2"]);
  expect(await usage("2026-05-01T00:00Z", "2026-05-04", ...config)).toEqual([
    "2026-05-01: 1",
    "2026-05-02: 2",
    "2026-05-03: 1",
  ]);
  // Of a database alone nothing more is known.
  expect(await usage("2026-05-02", "2026-05-03", "--database", join(cwd, "lintel.db"))).toEqual([
    "2026-05-02: 2",
  ]);
});

test("that no records are kept is told, with a database and without", async () => {
  const cwd = folder({ "lintel.yaml": "state: { directory: . }\nusage: { enabled: false }\n" });
  const usage = () => runHere(["usage", "--config", join(cwd, "lintel.yaml")]);
  const warning = "warning: usage.enabled is false: no records of calls are kept\n";
  expect(await usage()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(`^${warning}lintel: there is no database`),
  });
  const sql = openNamed(join(cwd, "lintel.db"));
  await new DatabaseUsage(sql).insert(linesOf(record({ at: Date.now() })));
  await sql.close();
  expect(await usage()).toMatchObject({ code: 0, stderr: warning });
});

test("nothing that callers or servers named steers the terminal; JSON has it as it is", async () => {
  const cwd = folder();
  const database = join(cwd, "usage.db");
  const sql = openNamed(database);
  const model = "m\u001b]0;pwned\u0007\u001b[2J\u009b31m\u202e\n=1+1";
  await new DatabaseUsage(sql).insert(linesOf(record({ at: Date.now() - hour, model })));
  await sql.close();
  const usage = (format: string) =>
    runHere(["usage", "--database", database, "--by", "model", "--format", format]);
  const [shown, csv, json] = [await usage("table"), await usage("csv"), await usage("json")];
  expect(shown.stdout).toMatch(/^MODEL .*\nm +=1\+1 +1 +0 .*\n$/);
  expect(csv.stdout).toMatch(/\r\nm +=1\+1,1,0,.*\n$/);
  expect(JSON.parse(json.stdout)).toMatchObject([{ model }]);
});

test("a time that ends before it begins is used wrongly", async () => {
  const database = ["--database", join(await filled(), "usage.db")];
  const usage = (...args: string[]) => runHere(["usage", ...database, ...args]);
  const order = "--until must be after --since";
  expect(await usage("--since", "1d", "--until", "7d")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${order}\n`),
  });
  expect((await usage("--since", "2026-01-01", "--until", "2026-01-01")).code).toBe(2);
  expect(await usage("--until", "30d")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${order}, which is 7d`),
  });
  expect(await usage("--until", "1d", "--request", "req-old")).toMatchObject({ code: 0 });
});

test("by whom callers asked for, and of one of these", async () => {
  const cwd = folder();
  const database = join(cwd, "usage.db");
  const sql = openNamed(database);
  const at = Date.now() - hour;
  const records = ["u-1", "u-1", "u-2", undefined].map((user) => record({ at, user }));
  await new DatabaseUsage(sql).insert(linesOf(...records));
  await sql.close();
  const usage = (...args: string[]) =>
    runHere(["usage", "--database", database, "--format", "csv", ...args]);
  const rows = async (...args: string[]) =>
    (await usage(...args)).stdout.split("\r\n").map((row) => row.trim().split(",").slice(0, 3));
  expect(await rows("--by", "token,user")).toEqual([
    ["token", "user", "calls"],
    ["alice", "u-1", "2"],
    ["alice", "", "1"],
    ["alice", "u-2", "1"],
  ]);
  expect(await rows("--by", "user,model", "--user", "u-2")).toEqual([
    ["user", "model", "calls"],
    ["u-2", "chat-1", "1"],
  ]);
});

test("a group that is there twice is used wrongly", async () => {
  const { code, stderr } = await runHere(["usage", "--by", "token, token"]);
  expect([code, stderr.split("\n", 1)[0]]).toEqual([2, 'lintel: --by: "token" is there twice']);
});
