import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { StoredToken, TokenChanges } from "../../src/core/callers/store.js";
import { Recent } from "../../src/core/recent.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { coreOf, run } from "../support/core.js";
import { says, scripted } from "../support/scripted.js";
import { following, remembered, ScriptedStore, who } from "./stored-tokens.js";

describe("tokens of a database", () => {
  test("a token is asked for once, and then known without waiting", async () => {
    const store = new ScriptedStore();
    const secret = store.add("alice", { models: ["a"], limits: { requestsPerMinute: 1 } });
    const tokens = remembered(store);
    const alice = { id: "alice", token: "alice", models: ["a"], limits: { requestsPerMinute: 1 } };
    expect(await tokens.find(secret)).toEqual(alice);
    expect(tokens.find(secret)).toEqual(alice);
    expect(store.asked).toEqual([[hashToken(secret)]]);
  });

  test("what can't be a token of ours, and what is not there, does not trouble the store", async () => {
    const store = new ScriptedStore();
    const tokens = remembered(store);
    expect(tokens.find("sk-something")).toBeUndefined();
    expect(store.asked).toEqual([]);
    const stranger = createToken();
    expect(await tokens.find(stranger)).toBeUndefined();
    expect(tokens.find(stranger)).toBeUndefined();
    expect(store.asked).toHaveLength(1);
  });

  test.each([
    ["is there", false],
    ["is away", true],
  ])(
    "all hear who come at once with one that was not seen, where the store %s",
    async (_, away) => {
      const store = new ScriptedStore();
      const secret = store.add("alice");
      const tokens = remembered(store);
      // The first is asked for, the others wait for its answer.
      const all = Array.from({ length: 4 }, () => who(tokens, secret));
      store.away = away;
      const [first, ...others] = await Promise.all(all);
      expect(first).toEqual({ id: "alice", token: "alice" });
      const refused = "unavailable: the bearer token can't be checked now";
      expect(others).toEqual(Array(3).fill(away ? refused : first));
    },
  );

  test("a flood of tokens is few questions, and in the end refused", async () => {
    const store = new ScriptedStore();
    let open = () => {};
    store.gate = new Promise((resolve) => {
      open = resolve;
    });
    const tokens = remembered(store);
    const secret = store.add("alice");
    const flood = Array.from({ length: 6000 }, () => who(tokens, createToken()));
    expect(await flood.at(-1)).toBe("unavailable: too many bearer tokens wait to be checked");
    open();
    await Promise.all(flood);
    expect(store.asked.length).toBeLessThanOrEqual(12);
    expect(Math.max(...store.asked.map((hashes) => hashes.length))).toBe(500);
    expect(await tokens.find(secret)).toMatchObject({ id: "alice" });
  });

  test("a revocation arrives by itself", async () => {
    const store = new ScriptedStore();
    const secret = store.add("alice");
    const tokens = await following(store);
    expect(await tokens.find(secret)).toMatchObject({ id: "alice" });
    store.put({ ...store.token("alice"), revokedAt: 1 });
    await vi.waitUntil(
      async () =>
        (await who(tokens, secret)) !== undefined &&
        typeof (await who(tokens, secret)) === "string",
    );
    expect(await who(tokens, secret)).toBe("invalid_token: the bearer token was revoked");
    expect(store.asked).toHaveLength(1);
  });

  test("a revocation that comes while the token is being read is not missed", async () => {
    const store = new ScriptedStore();
    const secret = store.add("alice");
    const tokens = await following(store);
    let answer = () => {};
    store.gate = new Promise((resolve) => {
      answer = resolve;
    });
    // Who comes behind the question waits for the next one, which both are told of.
    const found = [who(tokens, secret), who(tokens, secret)];
    const { polls } = store;
    store.put({ ...store.token("alice"), revokedAt: 1 });
    await vi.waitUntil(() => store.polls > polls + 1);
    answer();
    const revoked = "invalid_token: the bearer token was revoked";
    expect(await Promise.all(found)).toEqual([revoked, revoked]);
  });

  test("who asks what changed knows all that did before, also where an older question runs", async () => {
    const store = new ScriptedStore();
    const secret = store.add("alice");
    const tokens = remembered(store);
    await tokens.follow();
    expect(await who(tokens, secret)).toMatchObject({ id: "alice" });
    const answer = store.holdChanges();
    void tokens.follow();
    await setImmediate();
    store.put({ ...store.token("alice"), revokedAt: 1 });
    const known = tokens.follow();
    await setImmediate();
    // Behind that one: of two at once the older answer may come last.
    expect(store.polls).toBe(2);
    answer();
    await known;
    expect(await who(tokens, secret)).toBe("invalid_token: the bearer token was revoked");
  });

  test("nothing is asked any more once it is closed, also where a question runs then", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const store = new ScriptedStore();
    const tokens = remembered(store);
    await tokens.follow();
    expect(vi.getTimerCount()).toBe(1);
    const answer = store.holdChanges();
    void tokens.follow();
    await setImmediate();
    tokens.close();
    answer();
    await setImmediate();
    expect([store.polls, vi.getTimerCount()]).toEqual([2, 0]);
  });

  test("no more of them are remembered than may be, be they there or not", async () => {
    const store = new ScriptedStore();
    const tokens = remembered(store, { capacity: 4 });
    const there = Array.from({ length: 10 }, (_, i) => store.add(`caller ${i}`));
    const strangers = Array.from({ length: 10 }, () => createToken());
    for (const [first = "", ...others] of [there, strangers]) {
      for (const token of [first, first, ...others]) await who(tokens, token);
      const asked = store.asked.length;
      await who(tokens, first);
      expect(store.asked).toHaveLength(asked + 1);
    }
    expect(store.asked).toHaveLength(22);
  });

  test("what was read before changes were followed is asked for again: it may have been revoked since", async () => {
    const store = new ScriptedStore();
    const secret = store.add("alice");
    const tokens = remembered(store);
    expect(await who(tokens, secret)).toMatchObject({ id: "alice" });
    store.put({ ...store.token("alice"), revokedAt: 1 });
    tokens.start();
    await vi.waitUntil(() => store.polls > 0);
    await setImmediate();
    expect(await who(tokens, secret)).toBe("invalid_token: the bearer token was revoked");
  });

  test("what was read is asked for again where the database is put back to what it was", async () => {
    const store = new ScriptedStore();
    store.add("bob");
    const copy = store.copied();
    const secret = store.add("alice");
    const tokens = await following(store);
    expect(await who(tokens, secret)).toMatchObject({ id: "alice" });
    copy.putBack();
    const { polls } = store;
    await vi.waitUntil(() => store.polls > polls + 1);
    expect(await who(tokens, secret)).toBeUndefined();
  });

  test("a token that was refused as unknown counts as soon as it is known to be there", async () => {
    // The second for which it is refused without a question is not over.
    const time = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    onTestFinished(() => time.mockRestore());
    const store = new ScriptedStore();
    const tokens = remembered(store);
    await tokens.follow();
    const secret = createToken();
    expect(await tokens.find(secret)).toBeUndefined();
    store.put({ id: "late", name: "late", hash: hashToken(secret), createdAt: 0 });
    expect(tokens.find(secret)).toBeUndefined();
    await tokens.follow();
    expect(await tokens.find(secret)).toMatchObject({ id: "late" });
  });

  test("a change is not compared with every token that is remembered", async () => {
    let looks = 0;
    const watched = ({ id, ...token }: StoredToken): StoredToken => ({
      ...token,
      get id() {
        looks++;
        return id;
      },
    });
    const store = new (class extends ScriptedStore {
      override async changes(since?: number): Promise<TokenChanges> {
        const { version, tokens } = await super.changes(since);
        return { version, tokens: tokens.map(watched) };
      }
    })();
    const secrets = Array.from({ length: 300 }, (_, i) => store.add(`t${i}`));
    const tokens = await following(store);
    await Promise.all(secrets.map((secret) => tokens.find(secret)));
    for (let i = 0; i < 100; i++) store.put({ ...store.token(`t${i}`), revokedAt: 1 });
    await vi.waitUntil(async () => typeof (await who(tokens, secrets[99] as string)) === "string");
    expect(looks).toBeLessThan(1000);
    const all = await Promise.all(secrets.map((secret) => who(tokens, secret)));
    expect(all.filter((it) => typeof it === "string")).toHaveLength(100);
  });

  test("expires while it is remembered: it says so, and when", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const expiresAt = Date.UTC(2026, 0, 2);
    const store = new ScriptedStore();
    const secret = store.add("alice", { expiresAt });
    const tokens = remembered(store);
    vi.setSystemTime(expiresAt - 1);
    expect(await who(tokens, secret)).toMatchObject({ id: "alice" });
    vi.setSystemTime(expiresAt);
    expect(await who(tokens, secret)).toBe(
      "invalid_token: the bearer token expired at 2026-01-02T00:00:00.000Z",
    );
  });

  test("after a rotation the old token counts as long as it was given", async () => {
    const store = new ScriptedStore();
    const old = store.add("alice");
    const tokens = await following(store);
    expect(await tokens.find(old)).toMatchObject({ id: "alice" });
    const fresh = createToken();
    const rotate = (until: number) =>
      store.put({
        ...store.token("alice"),
        hash: hashToken(fresh),
        previous: { hash: hashToken(old), until },
      });
    rotate(Date.now() + 60_000);
    const { polls } = store;
    await vi.waitUntil(() => store.polls > polls + 1);
    expect(tokens.find(old)).toMatchObject({ id: "alice" });
    expect(tokens.find(fresh)).toMatchObject({ id: "alice" });
    rotate(Date.UTC(2026, 0, 2));
    await vi.waitUntil(async () => typeof (await who(tokens, old)) === "string");
    expect(await who(tokens, old)).toMatch("invalid_token: the bearer token expired at 2026-01-02");
    expect(tokens.find(fresh)).toMatchObject({ id: "alice" });
  });

  test("a secret that was rotated out twice is forgotten", async () => {
    const store = new ScriptedStore();
    const first = store.add("alice");
    const tokens = await following(store);
    expect(await tokens.find(first)).toMatchObject({ id: "alice" });
    const [second, third] = [createToken(), createToken()];
    store.put({
      ...store.token("alice"),
      hash: hashToken(third),
      previous: { hash: hashToken(second), until: Date.now() + 60_000 },
    });
    const { polls } = store;
    await vi.waitUntil(() => store.polls > polls + 1);
    expect(await who(tokens, first)).toBeUndefined();
    expect(tokens.find(second)).toMatchObject({ id: "alice" });
    expect(tokens.find(third)).toMatchObject({ id: "alice" });
  });

  test("a rotated secret counts no longer than the token itself", async () => {
    const store = new ScriptedStore();
    const old = createToken();
    const previous = { hash: hashToken(old), until: Date.now() + 60_000 };
    store.add("alice", { expiresAt: Date.UTC(2026, 0, 2), previous });
    expect(await who(remembered(store), old)).toBe(
      "invalid_token: the bearer token expired at 2026-01-02T00:00:00.000Z",
    );
  });

  test("a token that is not there is asked for again where the clock is set back", async () => {
    vi.useFakeTimers();
    try {
      const store = new ScriptedStore();
      const tokens = remembered(store);
      const secret = createToken();
      expect(await who(tokens, secret)).toBeUndefined();
      vi.setSystemTime(Date.now() - 3_600_000);
      vi.advanceTimersByTime(1001);
      await who(tokens, secret);
      expect(store.asked).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });
});

test("what is remembered is bounded, and what is used stays", () => {
  const recent = new Recent<number, number>(100);
  for (let i = 0; i < 1000; i++) {
    recent.set(i, i);
    expect(recent.get(0)).toBe(0);
    expect([...recent.entries()].length).toBeLessThanOrEqual(100);
  }
  expect(recent.get(999)).toBe(999);
  expect(recent.get(100)).toBeUndefined();
  recent.delete(0);
  expect(recent.get(0)).toBeUndefined();
});

test("tokens of the configuration and of the database, side by side", async () => {
  const store = new ScriptedStore();
  const stored = store.add("bob", { models: ["chat-1"] });
  const [configured, old] = [createToken(), createToken()];
  const tokens = [
    { name: "alice", hash: hashToken(configured) },
    { name: "old", hash: hashToken(old), expiresAt: Date.UTC(2026, 0, 2) },
  ];
  const backend = scripted({ chat: says("hi") });
  const core = coreOf(
    [backend],
    { auth: { mode: "token", tokens } },
    { callers: [remembered(store)] },
  );
  const as = (credential: string) =>
    run(core, "complete", { messages: [{ role: "user", content: "x" }] }, { credential });
  expect(await as(configured)).toHaveLength(1);
  expect(await as(stored)).toHaveLength(1);
  await expect(as(old)).rejects.toMatchObject({
    code: "invalid_token",
    message: "the bearer token expired at 2026-01-02T00:00:00.000Z",
  });
  for (const stranger of [createToken(), "eyJhbGciOiJub25lIn0.e30."]) {
    await expect(as(stranger)).rejects.toMatchObject({
      code: "invalid_token",
      message: "the bearer token is not known",
    });
  }
  expect(backend.asked).toHaveLength(2);
});
