/** Tokens of a database that is away, or does not answer. */
import { describe, expect, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { createToken } from "../../src/core/tokens.js";
import { following, remembered, ScriptedStore, who } from "./stored-tokens.js";

describe("while the database of tokens is away", () => {
  test("away: what was seen goes on, what was not is refused, all comes back by itself", async () => {
    const store = new ScriptedStore();
    const log = { ...silent, warn: vi.fn(), info: vi.fn() };
    const seen = store.add("alice");
    const unseen = store.add("bob");
    const tokens = await following(store, { log });
    await tokens.find(seen);
    store.away = true;
    await vi.waitUntil(() => tokens.away);
    expect(tokens.find(seen)).toMatchObject({ id: "alice" });
    const refused = "unavailable: the bearer token can't be checked now";
    expect(await who(tokens, unseen)).toBe(refused);
    expect(await who(tokens, createToken())).toBe(refused);
    store.away = false;
    await vi.waitUntil(() => !tokens.away);
    expect(await tokens.find(unseen)).toMatchObject({ id: "bob" });
    expect(tokens.outages).toBe(1);
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.info).toHaveBeenCalledTimes(1);
    expect(JSON.stringify(log.warn.mock.calls)).not.toContain("lt_");
  });

  test("away, and later for a reason that says more: the log hears of that once", async () => {
    const store = new ScriptedStore();
    const log = { ...silent, warn: vi.fn() };
    const tokens = remembered(store, { log });
    const cutOff = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const refused = Object.assign(new Error("wrong password"), { code: "28P01" });
    store.away = true;
    for (const why of [cutOff, cutOff, refused, refused]) {
      store.why = why;
      await tokens.follow();
    }
    expect(log.warn.mock.calls.map(([{ error }]) => error)).toEqual([
      expect.stringContaining("ECONNRESET"),
      expect.stringContaining("wrong password"),
    ]);
    expect(tokens.outages).toBe(1);
  });

  test("a store that hangs holds nobody up for long, those who come later not at all", async () => {
    vi.useFakeTimers();
    try {
      const store = new ScriptedStore();
      const [first, second, third] = ["a", "b", "c"].map((id) => store.add(id));
      const tokens = remembered(store);
      store.gate = new Promise(() => {});
      const early = [who(tokens, first as string), who(tokens, second as string)];
      await vi.advanceTimersByTimeAsync(2000);
      expect(await Promise.all(early)).toEqual(early.map(() => expect.stringMatching(/^unavail/)));
      expect(await who(tokens, third as string)).toMatch(/^unavailable/);
      expect(store.asked).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("away for a moment: asked again soon, however seldom changes are asked for", async () => {
    vi.useFakeTimers();
    try {
      const store = new ScriptedStore();
      const secret = store.add("alice");
      const tokens = remembered(store, { refreshMs: 3_600_000 });
      tokens.start();
      await vi.advanceTimersByTimeAsync(0);
      store.away = true;
      expect(await who(tokens, secret)).toMatch(/^unavailable/);
      store.away = false;
      expect(store.polls).toBe(1);
      await vi.advanceTimersByTimeAsync(1000);
      expect([store.polls, tokens.away]).toEqual([2, false]);
      expect(await tokens.find(secret)).toMatchObject({ id: "alice" });
      // And as seldom as before from then on.
      await vi.advanceTimersByTimeAsync(60_000);
      expect(store.polls).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  test("away at start, and the operator lets strangers in then", async () => {
    const store = new ScriptedStore();
    store.away = true;
    const secret = store.add("alice", { models: ["a"] });
    const tokens = await following(store, { whenAway: "allow" });
    expect(await who(tokens, secret)).toEqual({ id: expect.stringMatching(/^anon-/) });
    store.away = false;
    await vi.waitUntil(() => !tokens.away);
    expect(await tokens.find(secret)).toMatchObject({ id: "alice", models: ["a"] });
  });

  test("a change during an outage arrives when it is over", async () => {
    const store = new ScriptedStore();
    const secret = store.add("alice");
    const tokens = await following(store);
    await tokens.find(secret);
    store.away = true;
    await vi.waitUntil(() => tokens.away);
    store.put({ ...store.token("alice"), revokedAt: 1 });
    expect(tokens.find(secret)).toMatchObject({ id: "alice" });
    store.away = false;
    await vi.waitUntil(async () => typeof (await who(tokens, secret)) === "string");
  });
});
