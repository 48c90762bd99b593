/** Tokens that callers make for themselves while the database is away, and more of them than may be. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { StoredTokens } from "../../src/core/callers/stored.js";
import { silent } from "../../src/core/log.js";
import { ownTokens } from "../../src/state/database/administered.js";
import { openDatabase } from "../../src/state/database/open.js";
import { DatabaseTokens } from "../../src/state/database/tokens.js";
import { FlakySql } from "../state/flaky-sql.js";
import { freePort } from "../support/port.js";
import { eachWithGateway } from "./making.js";

const corp = eachWithGateway();

test.each<[string, string, object?]>([
  ["POST", "/account/tokens", { name: "laptop" }],
  ["GET", "/account/tokens"],
  ["DELETE", "/account/tokens/laptop"],
])("%s %s is a 503 that says so, and calls with a JWT go on", async (method, path, body) => {
  const database = `postgres://me:hunter22@127.0.0.1:${await freePort()}/lintel`;
  const it = await corp.served(
    "own_tokens: {}",
    `state: { directory: state, database: "${database}" }`,
  );
  const ann = await corp.issuer.sign({ sub: "ann" });
  const { status, json } = await it.call(method, path, ann, body);
  expect([status, json.error.code, json.error.message]).toEqual([
    ...[503, "unavailable", "the database of tokens and usage is away"],
  ]);
  expect(await it.calls(ann)).toBe(200);
  expect(JSON.stringify(it.lines)).not.toContain("hunter22");
  expect(it.lines.filter(({ message }) => message === "a caller made a token for itself")).toEqual(
    [],
  );
});

test("one that goes away amid a change may have made it: what it did counts here at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lintel-own-"));
  const sql = new FlakySql(openDatabase("sqlite", folder));
  onTestFinished(async () => {
    await sql.close();
    rmSync(folder, { recursive: true });
  });
  const stored = new StoredTokens(new DatabaseTokens(sql), { log: silent });
  onTestFinished(() => stored.close());
  await stored.follow();
  const own = ownTokens(sql, stored, silent);
  const wanted = {
    owner: { caller: "corp:ann", issuer: corp.issuer.url, claims: {} },
    ...{ name: "laptop", expiresAt: Date.now() + 60_000, max: 2, maxPerDay: 9 },
  };
  const made = await own.create(wanted);
  if (typeof made === "string" || "nextAt" in made) throw new Error("not made");
  expect(await stored.find(made.secret)).toMatchObject({ id: "corp:ann" });
  const away = { code: "unavailable", message: "the database of tokens and usage is away" };
  sql.state = "away";
  await expect(own.create({ ...wanted, name: "ci" })).rejects.toMatchObject(away);
  await expect(own.list("corp:ann")).rejects.toMatchObject(away);
  await expect(own.revoke("corp:ann", "laptop")).rejects.toMatchObject(away);
  // What was seen goes on.
  expect(await stored.find(made.secret)).toMatchObject({ id: "corp:ann" });
  sql.state = "deaf";
  await expect(own.create({ ...wanted, name: "ci" })).rejects.toMatchObject(away);
  await expect(own.revoke("corp:ann", "laptop")).rejects.toMatchObject(away);
  sql.state = "there";
  await stored.follow();
  await expect((async () => stored.find(made.secret))()).rejects.toMatchObject({
    code: "invalid_token",
  });
  // Its name is its owner's to end.
  expect(await own.create({ ...wanted, name: "ci" })).toBe("taken");
  expect((await own.list("corp:ann")).map(({ name }) => name)).toEqual(["ci"]);
});

test("more within 24 hours than may be is a 429 that says until when, whatever became of the others", async () => {
  const it = await corp.served("own_tokens: { max: 1, max_per_day: 2 }");
  const ann = await corp.issuer.sign({ sub: "ann" });
  const began = Date.now();
  for (const name of ["one", "two"]) {
    await it.make(ann, name);
    expect((await it.call("DELETE", `/account/tokens/${name}`, ann)).status).toBe(200);
  }
  const response = await fetch(`${it.url}/account/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${ann}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "three" }),
  });
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect([response.status, error.code]).toEqual([429, "rate_limited"]);
  const [, until = ""] =
    /^you have made 2 tokens within 24 hours, and may make no more until (.*Z)$/.exec(
      error.message,
    ) ?? [];
  const day = 86_400_000;
  expect(Date.parse(until)).toBeGreaterThanOrEqual(began + day);
  expect(Date.parse(until)).toBeLessThanOrEqual(Date.now() + day);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(86_000);
  await it.make(await corp.issuer.sign({ sub: "bob" }), "three");
  await it.changed("own_tokens: { max: 1 }");
  await it.make(ann, "three");
});
