/** Tokens in every database. */
import { expect, test } from "vitest";
import type { Rotation } from "../../../src/core/callers/registry.js";
import { hashToken } from "../../../src/core/tokens.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { onEveryDatabase } from "./databases.js";

/** Rotates a token; fails if that is refused. */
async function rotate(tokens: DatabaseTokens, which: string, rotation: Rotation) {
  const rotated = await tokens.rotate(which, rotation);
  if (!rotated || "refused" in rotated) throw new Error(`not rotated: ${rotated?.refused}`);
  return rotated;
}

onEveryDatabase((make) => {
  test("are found by their hash, with all that they were given", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const expiresAt = Date.now() + 60_000;
    const limits = {
      requestsPerMinute: 60,
      tokensPerMinute: Number.POSITIVE_INFINITY,
      budget: { amount: 2.5, period: "month" as const },
    };
    const from = ["10.0.0.0/8", "::1"];
    const wanted = { name: "Zoë 'x'", models: ["a", "b*"], from, limits, team: "red", expiresAt };
    const made = await tokens.create(wanted);
    const plain = await tokens.create({ name: "plain" });
    const hashes = [made, plain].map((it) => hashToken(it?.secret ?? ""));
    const found = await new DatabaseTokens(again()).find([...hashes, hashToken("other")]);
    expect(found.toSorted((a, b) => a.createdAt - b.createdAt)).toEqual([
      expect.objectContaining({
        id: made?.token.id,
        name: "Zoë 'x'",
        hash: hashes[0],
        models: ["a", "b*"],
        from,
        limits,
        team: "red",
        expiresAt,
      }),
      expect.objectContaining({ id: plain?.token.id, name: "plain", hash: hashes[1] }),
    ]);
    const [, second] = await tokens.list();
    const keys = [
      "models",
      "from",
      "limits",
      "team",
      "expiresAt",
      "revokedAt",
      "previous",
    ] as const;
    for (const key of keys) {
      expect(second?.[key]).toBeUndefined();
    }
  });

  test("a name is taken until its token is revoked", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    await tokens.create({ name: "a" });
    expect(await tokens.create({ name: "a" })).toBeUndefined();
    expect(await tokens.revoke("a")).toMatchObject({ name: "a" });
    expect(await tokens.revoke("a")).toBeUndefined();
    expect(await tokens.create({ name: "a" })).toBeDefined();
    expect((await tokens.list()).map(({ revokedAt }) => revokedAt !== undefined)).toEqual([
      true,
      false,
    ]);
  });

  test("what a token may do changes as far as is said; the token stays", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const limits = { requestsPerMinute: 60, concurrent: 2 };
    const from = ["10.0.0.0/8"];
    const made = await tokens.create({ name: "a", models: ["x"], from, limits, team: "red" });
    const before = await tokens.changes();
    expect(await tokens.update("a", { limits: { requestsPerMinute: 9 } })).toMatchObject({
      ...{ id: made?.token.id, hash: hashToken(made?.secret ?? ""), models: ["x"], team: "red" },
      from,
      limits: { requestsPerMinute: 9, concurrent: 2 },
    });
    const expiresAt = Date.now() + 60_000;
    const budget = { amount: Number.POSITIVE_INFINITY, period: "day" as const };
    await tokens.update(made?.token.id ?? "", {
      ...{ models: ["y", "z*"], from: ["::1"], team: "blue", expiresAt },
    });
    await tokens.update("a", { limits: { requestsPerMinute: null, concurrent: null, budget } });
    const { tokens: told } = await tokens.changes(before.version);
    expect(told).toMatchObject([
      {
        ...{ models: ["y", "z*"], from: ["::1"], team: "blue", limits: { budget } },
        ...{ expiresAt, name: "a" },
      },
    ]);
    expect(Object.keys(told[0]?.limits ?? {})).toEqual(["budget"]);
    const nothing = {
      ...{ limits: { budget: null }, models: null, from: null, team: null, expiresAt: null },
    };
    const bare = await tokens.update("a", nothing);
    for (const key of ["models", "from", "limits", "team", "expiresAt"] as const) {
      expect(bare?.[key]).toBeUndefined();
    }
    await tokens.revoke("a");
    expect(await tokens.update("a", { team: "red" })).toBeUndefined();
    expect(await tokens.update("b", { team: "red" })).toBeUndefined();
  });

  test("one is got by its id, or by its name while it counts", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const first = await tokens.create({ name: "a" });
    expect(await tokens.get("a")).toEqual(first?.token);
    await tokens.revoke("a");
    expect(await tokens.get("a")).toBeUndefined();
    expect(await tokens.get(first?.token.id ?? "")).toMatchObject({ revokedAt: expect.anything() });
    const second = await tokens.create({ name: "a" });
    expect(await tokens.get("a")).toEqual(second?.token);
    expect(await tokens.get("b")).toBeUndefined();
  });

  test("pages have every token once, in the order of the whole list", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    // Some of them in one millisecond: their order is that of their ids.
    for (const name of ["a", "b", "c", "d", "e"]) await tokens.create({ name });
    await tokens.revoke("b");
    const all = await tokens.list();
    const paged = [];
    for (let page = await tokens.list({ limit: 2 }); page.length > 0; ) {
      expect(page.length).toBeLessThanOrEqual(2);
      paged.push(...page);
      page = await tokens.list({ limit: 2, after: page.at(-1) });
    }
    expect(paged).toEqual(all);
    expect(await tokens.list({ liveOnly: true, after: all[0] })).toEqual(
      all.slice(1).filter(({ name }) => name !== "b"),
    );
  });

  test("of two changes at once both are there", async () => {
    const { again } = await make();
    await new DatabaseTokens(again()).create({ name: "a" });
    const [one, other] = [new DatabaseTokens(again()), new DatabaseTokens(again())];
    await Promise.all([
      one.update("a", { limits: { requestsPerMinute: 1 } }),
      other.update("a", { limits: { concurrent: 2 } }),
      one.update("a", { team: "red" }),
    ]);
    expect(await other.list()).toMatchObject([
      { team: "red", limits: { requestsPerMinute: 1, concurrent: 2 } },
    ]);
  });

  test("who gives an expired token another expiry does not bring the one before it back", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    await tokens.create({ name: "a", expiresAt: Date.now() + 3_600_000 });
    await rotate(tokens, "a", { graceMs: 86_400_000 });
    const expiredAt = Date.now() - 1000;
    await tokens.update("a", { expiresAt: expiredAt });
    const { previous } = (await tokens.update("a", { expiresAt: null })) ?? {};
    expect(previous?.until).toBe(expiredAt);
  });

  test("a rotated token keeps its id, and is found by both hashes", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const first = await tokens.create({ name: "a", models: ["m"] });
    const rotated = await rotate(tokens, first?.token.id ?? "", { graceMs: 60_000 });
    expect(rotated.token).toMatchObject({ id: first?.token.id, name: "a", models: ["m"] });
    const old = hashToken(first?.secret ?? "");
    const [byNew] = await tokens.find([hashToken(rotated.secret)]);
    expect(byNew?.previous).toMatchObject({ hash: old });
    expect(await tokens.find([old])).toEqual([byNew]);
    expect(await tokens.rotate("nobody", { graceMs: 0 })).toBeUndefined();
  });

  test("a rotation that was overtaken says so, and does not end the other's token", async () => {
    const { again } = await make();
    const sql = again();
    const tokens = new DatabaseTokens(sql);
    await tokens.create({ name: "a" });
    let between: (() => Promise<unknown>) | undefined = () => tokens.rotate("a", { graceMs: 0 });
    const overtaken = new DatabaseTokens({
      kind: sql.kind,
      insert: (insertion) => sql.insert(insertion),
      close: () => sql.close(),
      async run(statements) {
        const rows = await sql.run(statements);
        const first = between;
        between = undefined;
        await first?.();
        return rows;
      },
    });
    const refused = await overtaken.rotate("a", { graceMs: 0, force: true });
    const [now] = await tokens.list();
    expect(refused).toEqual({ refused: "raced", token: now });
    between = () => tokens.revoke("a");
    expect(await overtaken.rotate("a", { graceMs: 0 })).toBeUndefined();
    await tokens.create({ name: "a" });
    between = () => tokens.update("a", { team: "red" });
    expect(await overtaken.rotate("a", { graceMs: 0 })).toMatchObject({ token: { team: "red" } });
  });

  test("while an earlier grace runs, a token is rotated only by force", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const first = await tokens.create({ name: "a" });
    const second = await rotate(tokens, "a", { graceMs: 60_000 });
    const { version } = await tokens.changes();
    const before = await tokens.list();
    expect(await tokens.rotate("a", { graceMs: 0 })).toEqual({
      refused: "grace",
      token: before[0],
    });
    expect(before[0]?.previous?.hash).toBe(hashToken(first?.secret ?? ""));
    expect((await tokens.changes(version)).tokens).toEqual([]);
    const third = await rotate(tokens, "a", { graceMs: 0, force: true });
    expect(third.token.previous?.hash).toBe(hashToken(second.secret));
    // That grace has run out at once.
    await rotate(tokens, "a", { graceMs: 0 });
  });

  test("a token that expired is rotated only with another expiry", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const expiresAt = Date.now() - 1;
    await tokens.create({ name: "a", expiresAt });
    const refused = await tokens.rotate("a", { graceMs: 0, force: true });
    expect(refused).toMatchObject({ refused: "expired", token: { expiresAt } });
    const later = Date.now() + 60_000;
    const renewed = await rotate(tokens, "a", { graceMs: 0, expiresAt: later });
    expect(renewed.token.expiresAt).toBe(later);
    expect((await rotate(tokens, "a", { graceMs: 0 })).token.expiresAt).toBe(later);
    const { token } = await rotate(tokens, "a", { graceMs: 0, expiresAt: null });
    expect(token.expiresAt).toBeUndefined();
  });

  test("what expired counts no more, whatever grace is given or was, and ended when it expired", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const long = { graceMs: 60_000, expiresAt: Date.now() + 60_000 };
    const expired = Date.now() - 1;
    await tokens.create({ name: "old", expiresAt: expired });
    expect((await rotate(tokens, "old", long)).token.previous?.until).toBe(expired);
    await tokens.create({ name: "mine" });
    await rotate(tokens, "mine", { ...long, expiresAt: expired });
    // The grace of then ended with the token.
    expect((await rotate(tokens, "mine", long)).token.previous?.until).toBe(expired);
  });

  test("changes are told in the order in which they can be seen", async () => {
    const { again } = await make();
    const [reader, ...writers] = [again(), again(), again(), again()].map(
      (sql) => new DatabaseTokens(sql),
    );
    let { version, tokens } = (await reader?.changes()) ?? { version: -1, tokens: [] };
    expect(tokens).toEqual([]);
    const seen = new Set<string>();
    let done = false;
    const reading = (async () => {
      while (!done) {
        const changes = await reader?.changes(version);
        expect(changes?.version).toBeGreaterThanOrEqual(version);
        version = changes?.version ?? version;
        for (const { name } of changes?.tokens ?? []) seen.add(name);
      }
    })();
    await Promise.all(
      writers.map(async (writer, w) => {
        for (let i = 0; i < 10; i++) await writer.create({ name: `${w}-${i}` });
      }),
    );
    await writers[0]?.revoke("1-1");
    done = true;
    await reading;
    for (const { name } of (await reader?.changes(version))?.tokens ?? []) seen.add(name);
    expect(seen.size).toBe(30);
  });
});
