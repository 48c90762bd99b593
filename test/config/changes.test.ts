/** What the docs say of every section: when a change of it applies. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { changeOf } from "../../src/config/changes.js";
import { type Config, configSchema } from "../../src/config/schema.js";

/** What docs/operations.md says of each section: the left column applies at once, the right one after a restart. */
function told(): readonly [ReadonlySet<string>, ReadonlySet<string>] {
  const text = readFileSync("docs/operations.md", "utf8");
  const row = /^\| Applies at once .*\n.*\n\|(.*)\|(.*)\|$/m.exec(text);
  const names = (cell = "") => new Set([...cell.matchAll(/`([a-z_.]+)`/g)].map(([, name]) => name));
  return [names(row?.[1]), names(row?.[2])] as never;
}

test("docs/operations.md says of every section when a change of it applies", () => {
  const [atOnce, restart] = told();
  const now = configSchema.parse({});
  for (const section of Object.keys(configSchema.shape) as (keyof Config)[]) {
    if (
      section === "admin" ||
      section === "auth" ||
      section === "console" ||
      section === "idempotency" ||
      section === "cache"
    )
      continue;
    const other = { ...now, [section]: { another: true } } as unknown as Config;
    const change = changeOf(now, other, false);
    expect([section, change.changed, change.restart]).toEqual([
      section,
      atOnce.has(section) ? [section] : [],
      restart.has(section) ? [section] : [],
    ]);
    expect(atOnce.has(section)).not.toBe(restart.has(section));
    const holds = atOnce.has(section) ? other : now;
    expect(change.config[section]).toEqual(holds[section]);
  }
});

const of = (config: object) => configSchema.parse(config);

test("who may administer applies at once, whether and where anybody may does not", () => {
  const token = (name: string, digit: string) => ({ name, hash: `sha256:${digit.repeat(64)}` });
  const ops = of({ admin: { tokens: [token("ops", "a")] } });
  const others = of({ admin: { tokens: [token("dev", "b")] } });
  const now = changeOf(ops, others, false);
  expect([now.changed, now.restart]).toEqual([["admin.tokens"], []]);
  expect(now.config.admin).toEqual(others.admin);
  const both = changeOf(
    ops,
    of({ admin: { tokens: others.admin?.tokens, listen: ":9090" } }),
    false,
  );
  expect([both.changed, both.restart]).toEqual([["admin.tokens"], ["admin"]]);
  expect(both.config.admin).toEqual(others.admin);
  // Nobody may any more; that the services are there ends with a restart.
  const none = changeOf(ops, of({}), false);
  expect([none.changed, none.restart]).toEqual([["admin.tokens"], ["admin"]]);
  expect(none.config.admin).toEqual({ tokens: [] });
  const first = changeOf(of({}), ops, false);
  expect([first.changed, first.restart]).toEqual([[], ["admin"]]);
  expect(first.config.admin).toBeUndefined();
});

test("tokens of the database are looked up from the start on, or after a restart", () => {
  const now = of({ auth: { mode: "public" } });
  const token = of({ auth: { mode: "token" } });
  for (const [lookedUp, restart] of [
    [false, ["auth.mode (tokens in the database)"]],
    [true, []],
  ] as const) {
    const change = changeOf(now, token, lookedUp);
    expect([change.changed, change.restart]).toEqual([["auth"], restart]);
  }
});

test("of idempotency only linger applies at once", () => {
  const now = of({ idempotency: { linger: "1s", ttl: "1h" } });
  const linger = of({ idempotency: { linger: "2s", ttl: "1h" }, listen: "127.0.0.1:1" });
  const ttl = of({ idempotency: { linger: "1s", ttl: "2h" } });
  const both = of({ idempotency: { linger: "2s", ttl: "2h" } });
  const told = (next: Config) => {
    const { config, changed, restart } = changeOf(now, next, false);
    return [changed, restart, config.idempotency];
  };
  const applied = { ...now.idempotency, linger: 2000 };
  expect(told(linger)).toEqual([["idempotency.linger"], ["listen"], applied]);
  expect(told(ttl)).toEqual([[], ["idempotency"], now.idempotency]);
  expect(told(both)).toEqual([["idempotency.linger"], ["idempotency"], applied]);
});

test("of console who signs in applies at once, and whether there is one after a restart", () => {
  const sign_in = [{ name: "A", issuer: "corp", client_id: "c" }];
  const now = of({});
  const signs = changeOf(now, of({ console: { sign_in } }), false);
  expect([signs.changed, signs.restart]).toEqual([["console.sign_in"], []]);
  const none = changeOf(now, of({ console: false }), false);
  expect([none.changed, none.restart]).toEqual([[], ["console"]]);
});

test("of cache all but its store applies at once", () => {
  const now = of({ cache: { ttl: "1h" } });
  const live = of({ cache: { ttl: "2h", scope: "all", max_answer: "2MiB" } });
  const first = changeOf(now, live, false);
  expect([first.changed, first.restart]).toEqual([
    ["cache.ttl", "cache.scope", "cache.max_answer"],
    [],
  ]);
  expect(first.config.cache).toEqual(live.cache);
  const none = changeOf(now, of({}), false);
  expect([none.changed, none.restart, none.config.cache.ttl]).toEqual([
    ["cache.ttl"],
    [],
    undefined,
  ]);
  const again = changeOf(none.config, of({}), false);
  expect([again.changed, again.restart]).toEqual([[], []]);
  const redis = { url: "redis://127.0.0.1:6379" };
  const store = changeOf(now, of({ cache: { ttl: "1h", max_bytes: "1GiB", redis } }), false);
  expect([store.changed, store.restart]).toEqual([[], ["cache"]]);
  expect(store.config.cache).toEqual(now.cache);
});

test("what becomes of tokens while the database is away needs a restart, the rest of auth does not", () => {
  const now = of({ auth: { mode: "token" } });
  const next = of({ auth: { mode: "public", database_away: "allow" } });
  const { config, changed, restart } = changeOf(now, next, true);
  expect([changed, restart]).toEqual([["auth"], ["auth.database_away"]]);
  expect(config.auth).toEqual({ ...next.auth, database_away: "refuse" });
  const again = changeOf(config, next, true);
  expect([again.changed, again.restart]).toEqual([[], ["auth.database_away"]]);
});
