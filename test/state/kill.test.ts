/** Whole gateways as processes, that are killed, and PostgreSQL too. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { openNamed } from "../../src/state/database/open.js";
import { rowsOf } from "../../src/state/database/sql.js";
import { DatabaseTokens } from "../../src/state/database/tokens.js";
import { build, folder, type Lintel, start } from "../cli/lintel.js";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";

let upstream: Server;
let postgres: PostgresServer | undefined;
let databases = 0;
const started: Lintel[] = [];

beforeAll(async () => {
  build();
  upstream = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    request.on("end", () => {
      const { stream } = JSON.parse(body) as { stream?: boolean };
      const choice = { index: 0, finish_reason: null as string | null };
      const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
      if (!stream) {
        const message = { role: "assistant", content: "hello" };
        response.setHeader("content-type", "application/json");
        const choices = [{ ...choice, message, finish_reason: "stop" }];
        return response.end(JSON.stringify({ id: "1", model: "tiny", choices, usage }));
      }
      response.setHeader("content-type", "text/event-stream");
      const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      send({ choices: [{ ...choice, delta: { role: "assistant", content: "hel" } }] });
      send({ choices: [{ ...choice, delta: { content: "lo" }, finish_reason: "stop" }], usage });
      return response.end("data: [DONE]\n\n");
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  if (noPostgres === undefined) postgres = await startPostgres();
});
afterEach(async () => {
  await postgres?.start();
  for (const lintel of started.splice(0)) {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  }
});
afterAll(async () => {
  upstream.close().closeAllConnections();
  await postgres?.remove();
});

/** A folder with a configuration, and where its database is. */
async function settings(kind: string, more = "") {
  const cwd = folder();
  const url = kind === "PostgreSQL" ? await postgres?.create(`kill_${databases++}`) : undefined;
  const database = url ?? join(cwd, "kept", "lintel.db");
  const { port } = upstream.address() as AddressInfo;
  const text = `listen: 127.0.0.1:0
state: { directory: kept, database: "${url ?? "sqlite"}", refresh: 50ms }
backends: [{ type: openai, name: remote, url: "http://127.0.0.1:${port}", models: [tiny] }]
prices: [{ model: tiny, input: 1, output: 1 }]
${more}`;
  return {
    cwd: folder({ "lintel.yaml": text.replace("directory: kept", `directory: ${cwd}/kept`) }),
    database,
    kept: join(cwd, "kept"),
  };
}

async function serve(cwd: string): Promise<{ lintel: Lintel; base: string }> {
  const lintel = start([], cwd);
  started.push(lintel);
  const [, base = ""] = await lintel.until(/ on (http:\S+)\n/);
  return { lintel, base };
}

/** Asks, and waits for the whole answer; answers its status. */
async function ask(base: string, id: string, stream = false, token = "me"): Promise<number> {
  const response = await fetch(`${base}/llm`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "x-request-id": id,
    },
    body: JSON.stringify({ messages: [{ role: "user", content: "hi" }], stream }),
  });
  const text = await response.text();
  if (stream && response.ok) expect(text).toMatch(/data: \[DONE\]\s*$/);
  return response.status;
}

/** The request ids that the database has, in order, each as often as it has it. */
async function recorded(database: string): Promise<string[]> {
  const sql = openNamed(database);
  const rows = await rowsOf(sql, "SELECT request_id FROM lintel_usage ORDER BY request_id");
  await sql.close();
  return rows.map((row) => String(row.request_id));
}

const kinds: [string, string | undefined][] = [
  ["SQLite", undefined],
  ["PostgreSQL", noPostgres],
];

describe.each(kinds)("%s", (kind, missing) => {
  if (missing !== undefined) {
    test.skip(missing, () => {});
    return;
  }

  test("kill -9 right after an answer: its record is there after the next start, once", async () => {
    const { cwd, database, kept } = await settings(kind);
    const { lintel: first, base } = await serve(cwd);
    const answered = [randomUUID(), randomUUID(), randomUUID()];
    for (const [i, id] of answered.entries()) expect(await ask(base, id, i === 2)).toBe(200);
    first.kill("SIGKILL");
    await first.ended;
    const { lintel } = await serve(cwd);
    await vi.waitUntil(() => readdirSync(join(kept, "usage")).length === 0);
    expect(await recorded(database)).toEqual(answered.toSorted());
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
  });

  test("tokens: a revocation reaches a gateway that runs, and nothing kept or logged leads to them", async () => {
    const { cwd, database, kept } = await settings(
      kind,
      "auth: { mode: token }\nlog: { level: trace }",
    );
    const { lintel, base } = await serve(cwd);
    expect(await ask(base, "r0", false, "lt_unknown")).toBe(401);
    const sql = openNamed(database);
    const tokens = new DatabaseTokens(sql);
    const made = await tokens.create({ name: "alice", models: ["tiny"] });
    const secret = made?.secret ?? "";
    expect(await ask(base, "r1", false, secret)).toBe(200);
    await tokens.revoke("alice");
    await vi.waitUntil(async () => (await ask(base, "r2", false, secret)) === 401);
    await sql.close();
    lintel.kill("SIGTERM");
    await lintel.ended;
    const all = [lintel.stdout, lintel.stderr, ...contents(kept)].join("\n");
    expect(all).toContain("alice");
    for (const key of [secret, secret.slice(3), "lt_unknown"]) expect(all).not.toContain(key);
  });
});

test("kill -9 under load: every call that was answered is recorded, none twice", async () => {
  const { cwd, database, kept } = await settings("SQLite");
  const { lintel, base } = await serve(cwd);
  const answered: string[] = [];
  let asked = 0;
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      for (;;) {
        const id = randomUUID();
        asked++;
        const status = await ask(base, id, i % 2 === 0).catch(() => "cut off");
        if (status !== 200) return;
        answered.push(id);
        if (answered.length === 150) lintel.kill("SIGKILL");
      }
    }),
  );
  expect(answered.length).toBeGreaterThanOrEqual(150);
  await serve(cwd);
  await vi.waitUntil(() => readdirSync(join(kept, "usage")).length === 0);
  const ids = await recorded(database);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(answered));
  expect(ids.length).toBeLessThanOrEqual(asked);
});

/** Every file under a folder, as text. */
function contents(path: string): string[] {
  if (!statSync(path).isDirectory()) return [readFileSync(path, "latin1")];
  return readdirSync(path).flatMap((name) => contents(join(path, name)));
}

test.skipIf(noPostgres !== undefined)(
  "PostgreSQL is killed during load and comes back: calls go on, nothing is lost or doubled",
  async () => {
    const { cwd, database } = await settings("PostgreSQL", "auth: { mode: token }");
    const sql = openNamed(database);
    const made = await new DatabaseTokens(sql).create({ name: "alice" });
    const late = await new DatabaseTokens(sql).create({ name: "bob" });
    await sql.close();
    const { lintel, base } = await serve(cwd);
    const answered: string[] = [];
    const load = async (n: number) => {
      await Promise.all(
        Array.from({ length: n }, async () => {
          const id = randomUUID();
          expect(await ask(base, id, true, made?.secret)).toBe(200);
          answered.push(id);
        }),
      );
    };
    await load(30);
    const during = load(30);
    await postgres?.kill();
    await during;
    await load(30);
    // Seen before: goes on. Not seen before: refused, with words that say it may pass.
    expect(await ask(base, "unseen", false, late?.secret)).toBe(503);
    await vi.waitUntil(() => lintel.stderr.includes("database of usage is away"));
    await postgres?.start();
    const back = async () => (await ask(base, "seen", false, late?.secret)) === 200;
    await vi.waitUntil(back);
    await load(30);
    lintel.kill("SIGTERM");
    await lintel.ended;
    // What was not sent at the end is sent by the next start.
    await serve(cwd);
    await vi.waitUntil(async () => (await recorded(database)).length >= answered.length + 1, {
      interval: 200,
    });
    const ids = await recorded(database);
    expect(ids.filter((id) => id !== "seen")).toEqual(answered.toSorted());
    const said = (words: string) => lintel.stderr.split(words).length - 1;
    expect(said("database of tokens is away")).toBe(1);
    expect(said("database of tokens is back")).toBe(1);
    expect(said("database of usage is away")).toBe(1);
  },
);

test.skipIf(noPostgres !== undefined)("PostgreSQL is away at start, and comes later", async () => {
  const { cwd, database } = await settings("PostgreSQL", "auth: { mode: token }");
  const sql = openNamed(database);
  const made = await new DatabaseTokens(sql).create({ name: "alice" });
  await sql.close();
  await postgres?.kill();
  const { base } = await serve(cwd);
  expect(await ask(base, "early", false, made?.secret)).toBe(503);
  await postgres?.start();
  await vi.waitUntil(async () => (await ask(base, "later", false, made?.secret)) === 200);
});
