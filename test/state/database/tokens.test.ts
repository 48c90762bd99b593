/** Tokens in every database. */
import { expect, test } from "vitest";
import { hashToken } from "../../../src/core/tokens.js";
import { DatabaseTokens, type Rotation } from "../../../src/state/database/tokens.js";
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
    const made = await tokens.create({ name: "Zoë 'x'", models: ["a", "b*"], limits, expiresAt });
    const plain = await tokens.create({ name: "plain" });
    const hashes = [made, plain].map((it) => hashToken(it?.secret ?? ""));
    const found = await new DatabaseTokens(again()).find([...hashes, hashToken("other")]);
    expect(found.toSorted((a, b) => a.createdAt - b.createdAt)).toEqual([
      expect.objectContaining({
        id: made?.id,
        name: "Zoë 'x'",
        hash: hashes[0],
        models: ["a", "b*"],
        limits,
        expiresAt,
      }),
      expect.objectContaining({ id: plain?.id, name: "plain", hash: hashes[1] }),
    ]);
    const [, second] = await tokens.list();
    for (const key of ["models", "limits", "expiresAt", "revokedAt", "previous"] as const) {
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

  test("a rotated token keeps its id, and is found by both hashes", async () => {
    const { again } = await make();
    const tokens = new DatabaseTokens(again());
    const first = await tokens.create({ name: "a", models: ["m"] });
    const rotated = await rotate(tokens, first?.id ?? "", { graceMs: 60_000 });
    expect(rotated.token).toMatchObject({ id: first?.id, name: "a", models: ["m"] });
    const old = hashToken(first?.secret ?? "");
    const [byNew] = await tokens.find([hashToken(rotated.secret)]);
    expect(byNew?.previous).toMatchObject({ hash: old });
    expect(await tokens.find([old])).toEqual([byNew]);
    expect(await tokens.rotate("nobody", { graceMs: 0 })).toBeUndefined();
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
