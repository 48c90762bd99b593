/** Who is told when budgets are nearly used up: when, of what, and how it arrives. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { bodyOf } from "../src/alerts/body.js";
import { AlertWebhook } from "../src/alerts/webhook.js";
import type { Caller } from "../src/core/call.js";
import type { Core } from "../src/core/core.js";
import { CurrentCore } from "../src/core/current.js";
import {
  type AlertScope,
  alertScopes,
  type BudgetAlert,
  type Telling,
} from "../src/core/limits/alerts.js";
import type { BudgetPeriod, LimitSettings } from "../src/core/limits/settings.js";
import type { LimitStore } from "../src/core/limits/store.js";
import { type Logger, silent } from "../src/core/log.js";
import type { AuthSettings } from "../src/core/settings.js";
import { createToken, hashToken } from "../src/core/tokens.js";
import { memoryLimits } from "../src/state/limits/memory.js";
import { echo } from "./backends/openai-subject.js";
import { Upstream } from "./backends/upstream.js";
import { receiver, spend } from "./support/alerts.js";
import { outcome, start } from "./support/calls.js";
import { FakeClock } from "./support/clock.js";
import { coreOf } from "./support/core.js";
import { gateway } from "./support/gateway.js";
import { noon } from "./support/limits.js";
import { chatModel } from "./support/models.js";
import { hangsAfter, says, scripted } from "./support/scripted.js";

describe("budgets that pass a share", () => {
  /** Each token of an answer is one, and a prompt is free. */
  const prices = [{ model: "*", output: 1_000_000 }];
  const budget = (amount: number, period: BudgetPeriod = "month") => ({
    budget: { amount, period },
  });
  /** For how long a name is held while it is told. */
  const shortMs = 60_000;
  const find = (id: string): Caller => ({ id, token: `id of ${id}`, team: "red" });

  function bench(
    more: { scopes?: AlertScope[] } & Partial<Pick<LimitStore, "hold" | "keep" | "release">> = {},
  ) {
    const clock = { now: noon };
    const store = memoryLimits({ clock: () => clock.now });
    const { hold = store.hold, keep = store.keep, release = store.release } = more;
    Object.assign(store, { hold, keep, release });
    const sent: BudgetAlert[] = [];
    /** What was sent last. */
    let last: Telling | undefined;
    const alerts = {
      at: [0.5, 0.8, 1],
      scopes: new Set(more.scopes ?? alertScopes),
      sink: {
        async send(telling: Telling) {
          if (!(await telling.begin(shortMs))) return;
          sent.push(telling.alert);
          last = telling;
        },
      },
    };
    const core = (
      settings: Partial<LimitSettings>,
      chat = says("a", "b", "c"),
      auth: AuthSettings = { mode: "token", tokens: [] },
    ) =>
      coreOf(
        [scripted({ chat }, [chatModel("m")])],
        { auth },
        {
          callers: [{ find }],
          limits: {
            ...{ settings: { models: [], ...settings }, prices, store, alerts },
            clock: () => clock.now,
          },
        },
      );
    /** What was told since it was asked last. */
    const told = async () => {
      await new Promise(setImmediate);
      return sent
        .splice(0)
        .map(({ scope, name, threshold, used, refused }) =>
          [scope, name, threshold, used, ...(refused ? ["refused"] : [])]
            .join(" ")
            .replace("  ", " "),
        )
        .sort();
    };
    return { clock, core, told, sent, arrive: () => last?.told(), lose: () => last?.lost() };
  }
  const hello = { model: "m", maxTokens: 4, messages: [{ role: "user", content: "Hello" }] };
  const call = async (core: ReturnType<typeof coreOf>, more: object = {}) =>
    (await outcome(core, "chat", { ...hello, ...more }, { credential: "ann" })).code;

  it("are told of once for each share and period, and when they refuse calls", async () => {
    const { core, told, clock, sent } = bench();
    const it = core({ global: budget(10) });
    await call(it);
    expect(await told()).toEqual([]);
    await call(it);
    await new Promise(setImmediate);
    expect(sent).toEqual([
      {
        ...{ scope: "global", name: "", period: "month", threshold: 0.5, refused: false },
        ...{ amount: 10, used: 6, endsAt: Date.UTC(2026, 1, 1) },
      },
    ]);
    expect(await told()).toEqual(["global 0.5 6"]);
    await call(it);
    expect(await told()).toEqual(["global 0.8 9"]);
    expect(await call(it)).toBe("rate_limited");
    expect(await call(it)).toBe("rate_limited");
    expect(await told()).toEqual(["global 1 9 refused"]);
    // Of the next month, and of several shares at once the largest.
    clock.now = Date.UTC(2026, 1, 1);
    await call(it, { maxTokens: 9 });
    expect(await told()).toEqual([]);
    await Promise.all([call(it, { maxTokens: 3 }), call(it, { maxTokens: 3 })]);
    expect(await told()).toEqual(["global 0.8 9"]);
  });

  it("are told of for whom they are, but not for end users, and as is chosen", async () => {
    const settings = {
      ...{ global: budget(100), caller: budget(6), user: budget(6), team: budget(6, "lifetime") },
      models: [{ model: "*", ...budget(6, "hour") }],
    };
    const all = bench();
    await call(all.core(settings), { user: "u" });
    const { sent } = all;
    expect(sent.find(({ scope }) => scope === "team")?.endsAt).toBeUndefined();
    expect(await all.told()).toEqual(["caller ann 0.5 3", "model * 0.5 3", "team red 0.5 3"]);
    const some = bench({ scopes: ["team"] });
    await call(some.core(settings), { user: "u" });
    expect(await some.told()).toEqual(["team red 0.5 3"]);
  });

  it("are not told of for calls that run, nor for one that alone wants too much", async () => {
    const { core, told } = bench();
    const { handle } = hangsAfter();
    const it = core({ global: budget(10) }, handle);
    const leaving = new AbortController();
    const running = start(it, "chat", { ...hello, maxTokens: 10 }, { signal: leaving.signal });
    const next = running.messages[Symbol.asyncIterator]().next();
    expect(await call(it)).toBe("rate_limited");
    leaving.abort();
    await expect(next).rejects.toMatchObject({ code: "cancelled" });
    expect(await call(it, { maxTokens: 11 })).toBe("rate_limited");
    expect(await told()).toEqual([]);
  });

  it("are told of by their shares, too, when a large call was refused long before", async () => {
    const { core, told } = bench();
    const it = core({ global: budget(10) });
    await call(it);
    expect(await call(it, { maxTokens: 8 })).toBe("rate_limited");
    expect(await told()).toEqual(["global 1 3 refused"]);
    await call(it);
    await call(it);
    expect(await call(it)).toBe("rate_limited");
    expect(await told()).toEqual(["global 0.5 6", "global 0.8 9"]);
    await call(it, { maxTokens: 1 });
    expect(await told()).toEqual([]);
  });

  it("are told of anew where they are raised, and not where a reload changes nothing", async () => {
    const { core, told } = bench();
    const it = new CurrentCore(core({ team: budget(10) }));
    for (let i = 0; i < 3; i++) await call(it);
    expect(await told()).toEqual(["team red 0.5 6", "team red 0.8 9"]);
    await it.replace(core({ team: budget(10) }));
    expect(await call(it, { maxTokens: 1 })).toBe("ok");
    expect(await told()).toEqual(["team red 1 12"]);
    await it.replace(core({ team: budget(20) }));
    expect(await told()).toEqual([]);
    await call(it);
    expect(await told()).toEqual(["team red 0.5 15"]);
  });

  it("of callers are not told of anew where a reload changes who may call", async () => {
    const { core, told } = bench();
    const it = new CurrentCore(core({ caller: budget(20) }));
    for (let i = 0; i < 4; i++) await call(it);
    expect(await told()).toEqual(["caller ann 0.5 12"]);
    const auth = (name: string): AuthSettings => {
      return { mode: "token", tokens: [{ name, hash: `sha256:${"0".repeat(64)}` }] };
    };
    // Of two reloads, too, without a call between them.
    await it.replace(core({ caller: budget(20) }, undefined, auth("b")));
    await it.replace(core({ caller: budget(20) }, undefined, auth("c")));
    await call(it);
    expect(await told()).toEqual([]);
    await call(it);
    expect(await told()).toEqual(["caller ann 0.8 18"]);
    await it.replace(core({ caller: budget(30) }, undefined, auth("d")));
    await call(it);
    expect(await told()).toEqual(["caller ann 0.5 21"]);
  });

  it("are told of anew after a while where nobody heard, more rarely each time", async () => {
    const released: string[] = [];
    const { core, told, clock, lose } = bench({ release: (name) => void released.push(name) });
    const it = core({ global: budget(100) });
    for (let i = 0; i < 17; i++) await call(it);
    expect(await told()).toEqual(["global 0.5 51"]);
    lose();
    expect(released).toEqual([expect.stringMatching(/^global:spend-month:\d+:\d+:0\.5$/)]);
    await call(it);
    expect(await told()).toEqual([]);
    clock.now += 900_000;
    await call(it);
    await call(it);
    expect(await told()).toEqual(["global 0.5 57"]);
    lose();
    clock.now += 900_000;
    await call(it);
    expect(await told()).toEqual([]);
    clock.now += 900_000;
    await call(it);
    expect(await told()).toEqual(["global 0.5 66"]);
    clock.now += 86_400_000;
    await call(it);
    expect(await told()).toEqual([]);
  });

  it("are told of anew each day at least where nobody hears", async () => {
    const { core, told, clock, lose } = bench();
    const it = core({ global: budget(100, "lifetime") });
    for (let i = 0; i < 17; i++) await call(it);
    expect(await told()).toEqual(["global 0.5 51"]);
    for (let day = 1; day < 10; day++) {
      lose();
      clock.now += 86_400_000;
      await call(it);
      expect(await told()).toEqual([`global 0.5 ${51 + 3 * day}`]);
    }
  });

  /** Who holds which name, and until when, as stores for all gateways keep it. */
  function shared(clock: () => number) {
    const held = new Map<string, { holder: string; until: number }>();
    const hold = (name: string, holder: string, forMs: number) => {
      const now = held.get(name);
      if (now && now.until > clock() && now.holder !== holder) return false;
      held.set(name, { holder, until: clock() + forMs });
      return true;
    };
    const keep = (name: string, holder: string, forMs: number) => void hold(name, holder, forMs);
    const release = (name: string, holder: string) => {
      if (held.get(name)?.holder === holder) held.delete(name);
    };
    return { held, hold, keep, release };
  }

  it.each(["lost it", "was killed with it"])(
    "are told of by another where the first that shares a store %s",
    async (what) => {
      const clock = { now: noon };
      const names = shared(() => clock.now);
      const [one, other] = [bench(names), bench(names)];
      const cores = [one, other].map(({ core }) => core({ global: budget(40) }));
      const [its, others] = cores as [Core, Core];
      for (let i = 0; i < 7; i++) for (const core of cores) await call(core);
      expect([await one.told(), await other.told()]).toEqual([["global 0.5 21"], []]);
      if (what === "lost it") one.lose();
      await call(others);
      expect(await other.told()).toEqual([]);
      for (const it of [clock, one.clock, other.clock]) it.now += 900_000;
      await call(others);
      expect(await other.told()).toEqual(["global 0.5 27"]);
      other.arrive();
      await call(its);
      expect(await one.told()).toEqual([]);
    },
  );

  it("are told of by the first alone of those who share a store, for the whole period", async () => {
    const clock = { now: noon };
    const names = shared(() => clock.now);
    const [one, other] = [bench(names), bench(names)];
    const cores = [one, other].map(({ core }) => core({ global: budget(40) }));
    const [its, others] = cores as [Core, Core];
    for (let i = 0; i < 7; i++) for (const core of [its, others]) await call(core);
    expect([await one.told(), await other.told()]).toEqual([["global 0.5 21"], []]);
    const month = Date.UTC(2026, 0, 1);
    const name = `global:spend-month:${month}:40000000000:0.5`;
    expect([...names.held]).toEqual([
      [name, { holder: expect.any(String), until: noon + shortMs }],
    ]);
    one.arrive();
    const end = Date.UTC(2026, 1, 1);
    expect(names.held.get(name)?.until).toBe(end + 86_400_000);
    for (const later of [noon + 900_000, end - 1000]) {
      for (const it of [clock, other.clock]) it.now = later;
      await call(others);
      expect(await other.told()).toEqual([]);
    }
  });
});

/** What becomes of an alert. */
const telling = (more: Partial<BudgetAlert> = {}, of: Partial<Telling> = {}): Telling => ({
  ...{ alert: { ...alert, ...more }, begin: () => true, told() {}, lost() {} },
  ...of,
});

const alert: BudgetAlert = {
  ...{ scope: "caller", name: "ann", period: "month", threshold: 0.8, refused: false },
  ...{ amount: 50, used: 40.25, endsAt: Date.UTC(2026, 1, 1) },
};

describe("a webhook", () => {
  const open = (
    url: string,
    more: { pauses?: number[]; timeout?: number; clock?: FakeClock } = {},
  ) => {
    const warned: [object, string | undefined][] = [];
    const log = {
      ...silent,
      warn: (fields: object, text?: string) => warned.push([fields, text]),
    } as Logger;
    const { pauses = [1, 1], timeout = 10_000, clock } = more;
    const headers = { Authorization: "Bearer s" };
    const webhook = new AlertWebhook({ url, headers, timeout }, log, undefined, pauses, clock);
    onTestFinished(() => webhook.close());
    return { webhook, warned };
  };
  const lost = (reason: unknown) => [
    { scope: "caller", name: "ann", threshold: 0.8, reason },
    "an alert of a budget can't be sent",
  ];

  it("gets a POST of JSON for each alert", async () => {
    const { url, seen } = await receiver(200);
    const { webhook } = open(url);
    for (const name of ["ann", "bob", "cat"]) webhook.send(telling({ name }));
    await expect.poll(() => webhook.counts).toEqual({ sent: 3, lost: 0 });
    seen.sort((a, b) => a.body.name.localeCompare(b.body.name));
    expect(seen.map(({ body }) => body.name)).toEqual(["ann", "bob", "cat"]);
    expect(seen[0]?.path).toBe("/services/T0/secret?a=b");
    expect(seen[0]?.headers).toMatchObject({
      authorization: "Bearer s",
      "content-type": "application/json",
    });
    expect(seen[0]?.body).toEqual({
      text: 'Budget of the caller "ann": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
      event: "budget",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      ...{ scope: "caller", name: "ann", period: "month", threshold: 0.8, refused: false },
      ...{ amount: 50, used: 40.25, ratio: 0.805, resets_at: "2026-02-01T00:00:00.000Z" },
    });
  });

  it.each<[Partial<BudgetAlert>, string]>([
    [
      { scope: "global", name: "", threshold: 1, used: 50.5 },
      "Budget of the whole gateway: it is used up (50.5 of 50 per month; it begins anew at 2026-02-01T00:00Z).",
    ],
    [
      { scope: "team", period: "lifetime", refused: true, used: 1 / 3, endsAt: undefined },
      'Budget of the team "ann": calls are refused (0.333333 of 50 in all; it does not begin anew).',
    ],
    [
      { used: 14.5 },
      'Budget of the caller "ann": 29% is used (14.5 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { name: '<!channel> & "\n' },
      'Budget of the caller "&lt;!channel&gt; &amp; \\"\\n": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { name: "@channel, @all, idp:@here, ann@example.com" },
      'Budget of the caller "@\u200bchannel, @\u200ball, idp:@\u200bhere, ann@example.com": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
  ])("is told of %j in words", (different, words) => {
    expect(bodyOf({ ...alert, ...different }, 0).text).toBe(words);
  });

  it.each([-700, 700])("is told of a full hour where a store's clock is %i ms off", (offMs) => {
    const { text, resets_at } = bodyOf({ ...alert, endsAt: Date.UTC(2026, 1, 1) + offMs }, 0);
    expect(text).toContain("it begins anew at 2026-02-01T00:00Z");
    expect(resets_at).toBe("2026-02-01T00:00:00.000Z");
  });

  it("that fails is asked again, and not for ever", async () => {
    const { url, seen } = await receiver(408, 429, 200, 500);
    const { webhook, warned } = open(url);
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 1, lost: 0 });
    expect(seen).toHaveLength(3);
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 1, lost: 1 });
    expect(seen).toHaveLength(6);
    expect(warned).toEqual([lost("it answers with status 500")]);
  });

  it.each<[string, number, string, number]>([
    ["seconds", 429, "7", 7000],
    ["seconds, if it fails", 500, "7", 7000],
    ["less than the usual pause", 503, "1", 5000],
    ["very long", 503, "86400", 180_000],
    ["a date", 503, "Fri, 01 Jan 2100 00:00:00 GMT", 180_000],
    ["a date that has passed", 503, "Wed, 01 Jan 2020 00:00:00 GMT", 5000],
    ["nonsense", 429, "soon", 5000],
  ])("that asks for time (%s) gets it, within bounds", async (_, status, retryAfter, ms) => {
    const { url, seen } = await receiver([status, retryAfter], 200);
    const clock = new FakeClock();
    const { webhook } = open(url, { pauses: [5000], clock });
    webhook.send(telling());
    await expect.poll(() => clock.timers).toBe(1);
    await clock.advance(ms - 1);
    expect([clock.timers, seen.length]).toEqual([1, 1]);
    await clock.advance(1);
    await expect.poll(() => webhook.counts).toEqual({ sent: 1, lost: 0 });
    expect([clock.timers, seen.length]).toEqual([0, 2]);
  });

  it("that does not know it is asked once, and its address is in no log", async () => {
    const { url, seen } = await receiver(404);
    const { webhook, warned } = open(url);
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 1 });
    expect(seen).toHaveLength(1);
    expect(warned).toEqual([lost("it answers with status 404")]);
    expect(JSON.stringify(warned)).not.toContain("secret");
  });

  it("that is not there loses what was for it", async () => {
    const { url, leave } = await receiver(200);
    await leave();
    const { webhook, warned } = open(url);
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 1 });
    const reason = /^the webhook of budget_alerts can't be reached: .*ECONNREFUSED/;
    expect(warned).toEqual([lost(expect.stringMatching(reason))]);
  });

  it("that hangs is asked four things at once, holds up so many and no more, and no end", async () => {
    const { url, seen } = await receiver(0);
    const { webhook, warned } = open(url);
    const begun: string[] = [];
    const begin = (name: string) => () => begun.push(name) > 0;
    for (const name of ["ann", "ann", "bob", "cat", "dan", "eve"]) {
      webhook.send(telling({ name }, { begin: begin(name) }));
    }
    for (let i = 0; i < 997; i++) webhook.send(telling());
    await expect.poll(() => seen.length).toBe(4);
    expect(begun).toEqual(["ann", "bob", "cat", "dan"]);
    expect(webhook.counts).toEqual({ sent: 0, lost: 3 });
    expect(warned).toEqual(Array.from({ length: 3 }, () => lost("too many wait")));
    await webhook.close();
    expect(webhook.counts).toEqual({ sent: 0, lost: 1003 });
    expect(seen).toHaveLength(4);
  });

  it("that fails for one holds up those of its budget alone", async () => {
    const { url, seen } = await receiver(503, 200);
    const { webhook, warned } = open(url, { pauses: [600_000] });
    const of = (name: string, threshold: number) => telling({ name, threshold });
    webhook.send(of("ann", 0.5));
    await expect.poll(() => seen.length).toBe(1);
    webhook.send(of("ann", 0.8));
    for (const threshold of [0.5, 0.8, 1]) webhook.send(of("bob", threshold));
    webhook.send(of("cat", 0.5));
    await expect.poll(() => webhook.counts).toEqual({ sent: 4, lost: 0 });
    const told = (name: string) =>
      seen.flatMap(({ body }) => (body.name === name ? [body.threshold] : []));
    expect([told("ann"), told("bob"), told("cat")]).toEqual([[0.5], [0.5, 0.8, 1], [0.5]]);
    await webhook.close();
    expect(warned.map(([fields]) => fields)).toEqual([
      { scope: "caller", name: "ann", threshold: 0.5, reason: "the gateway ends" },
      { scope: "caller", name: "ann", threshold: 0.8, reason: "the gateway ends" },
    ]);
  });

  it("is not told what another gateway tells, also where that is so only by the next attempt", async () => {
    const { url, seen } = await receiver(503);
    const { webhook } = open(url);
    const asked: number[] = [];
    const ends: string[] = [];
    const theirs = (first: boolean): Partial<Telling> => ({
      begin: async (forMs) => asked.push(forMs) === 1 && first,
      told: () => ends.push("told"),
      lost: () => ends.push("lost"),
    });
    webhook.send(telling({}, theirs(true)));
    await expect.poll(() => asked.length).toBe(2);
    webhook.send(telling({ name: "bob" }, theirs(false)));
    await expect.poll(() => asked.length).toBe(3);
    await webhook.close();
    expect([seen.length, ends, webhook.counts]).toEqual([1, [], { sent: 0, lost: 0 }]);
    // All attempts and pauses, and time to spare.
    expect(asked).toEqual(Array.from({ length: 3 }, () => 3 * 10_000 + 2 * 180_000 + 30_000));
  });

  it("hands over what waits, and what comes later, of each budget in its order", async () => {
    const [hangs, refuses, takes] = [await receiver(0), await receiver(503), await receiver(200)];
    const names = ["ann", "bob", "cat", "dan", "eve"];
    for (const { url, seen } of [hangs, refuses]) {
      const { webhook: before } = open(url, { pauses: [600_000] });
      const { webhook: between } = open(url);
      const { webhook: next } = open(takes.url);
      const ends: string[] = [];
      const of = (name: string, threshold: number) =>
        telling(
          { name, threshold },
          { told: () => ends.push("told"), lost: () => ends.push("lost") },
        );
      for (const name of names) for (const at of [0.5, 0.8]) before.send(of(name, at));
      // Those that pause leave their place to others.
      const sent = seen === hangs.seen ? 4 : 5;
      await expect.poll(() => seen.length).toBe(sent);
      before.handOver(between);
      between.handOver(next);
      await before.close();
      before.send(of("ann", 1));
      await expect.poll(() => next.counts).toEqual({ sent: 11, lost: 0 });
      const arrived = takes.seen.splice(0).map(({ body }) => body);
      for (const name of names) {
        const its = arrived.filter((body) => body.name === name).map((body) => body.threshold);
        expect(its).toEqual(name === "ann" ? [0.5, 0.8, 1] : [0.5, 0.8]);
      }
      expect([seen.length, before.counts]).toEqual([sent, { sent: 0, lost: 0 }]);
      expect(ends).toEqual(Array.from({ length: 11 }, () => "told"));
    }
  });

  it("that is no longer told of anything loses at once what waits for it, and says why", async () => {
    const { url, seen } = await receiver(503);
    const { webhook, warned } = open(url, { pauses: [600_000] });
    webhook.send(telling());
    await expect.poll(() => seen.length).toBe(1);
    webhook.send(telling());
    webhook.handOver(undefined);
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 2 });
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 3 });
    expect(seen).toHaveLength(1);
    expect(warned).toEqual(
      Array.from({ length: 3 }, () => lost("budget_alerts is no longer configured")),
    );
  });

  it("whose answers come to no end holds up nothing", async () => {
    const server = createServer((_, response) => void response.writeHead(200).write("ok"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { webhook } = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    for (const name of ["ann", "bob", "cat", "dan", "eve"]) webhook.send(telling({ name }));
    await expect.poll(() => webhook.counts).toEqual({ sent: 5, lost: 0 });
  });

  it("that takes too long is given up", async () => {
    const { url, seen } = await receiver(0);
    const { webhook, warned } = open(url, { timeout: 20, pauses: [1] });
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 1 });
    expect(seen.length).toBeLessThanOrEqual(2);
    expect(warned).toEqual([lost(expect.stringMatching(/^the webhook of budget_alerts .* ms/))]);
  });
});

it("a gateway tells, goes on to tell after a reload, and counts it", async () => {
  const upstream = await Upstream.start(echo);
  onTestFinished(() => upstream.close());
  const [first, second] = [await receiver(200, 503), await receiver(200)];
  const token = createToken();
  const text = (url: string) => `
telemetry: { prometheus: true }
auth: { mode: token, tokens: [{ name: ann, hash: "${hashToken(token)}" }] }
prices: [{ model: m, output: 1000000 }]
limits: { caller: { budget: { amount: 200, period: lifetime } } }
budget_alerts: { url: "${url}", at: [0.2, 0.1, 0.01], headers: { X-From: lintel } }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`;
  const running = await gateway(text(first.url));
  const chat = () => spend(running.url, token, { content: "a b c", maxTokens: 5 });
  await chat();
  await expect.poll(() => first.seen.length).toBe(1);
  expect(first.seen[0]?.headers["x-from"]).toBe("lintel");
  expect(first.seen[0]?.body).toMatchObject({ scope: "caller", name: "ann", threshold: 0.01 });
  for (let i = 0; first.seen.length < 2 && i < 20; i++) await chat();
  await expect.poll(() => first.seen.length).toBe(2);
  // What waits for the address before is told to the one of now; a reload that fails changes nothing.
  running.write(`${text(second.url)}\nnonsense: true`);
  await running.reload();
  expect(second.seen).toEqual([]);
  running.write(text(second.url));
  await running.reload();
  await expect.poll(() => second.seen.length).toBe(1);
  expect(second.seen[0]?.body).toMatchObject({ threshold: 0.1, period: "lifetime" });
  for (let i = 0; second.seen.length < 2 && i < 40; i++) await chat();
  await expect.poll(() => second.seen.length).toBe(2);
  expect(second.seen[1]?.body).toMatchObject({ threshold: 0.2 });
  expect(first.seen).toHaveLength(2);
  const metrics = async () => (await fetch(`${running.url}/metrics`)).text();
  await expect
    .poll(metrics)
    .toMatch(/lintel_budget_alerts_total\{lintel_alert_result="sent"[^}]*\} 3/);
});

it("a gateway whose configuration tells nobody any more says so of what waited", async () => {
  const upstream = await Upstream.start(echo);
  onTestFinished(() => upstream.close());
  const { url, seen } = await receiver(503);
  const token = createToken();
  const text = `
auth: { mode: token, tokens: [{ name: ann, hash: "${hashToken(token)}" }] }
prices: [{ model: m, output: 1000000 }]
limits: { caller: { budget: { amount: 200, period: lifetime } } }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`;
  const running = await gateway(`${text}\nbudget_alerts: { url: "${url}", at: [0.01] }`);
  await spend(running.url, token, { content: "a b c", maxTokens: 5 });
  await expect.poll(() => seen.length).toBe(1);
  running.write(text);
  await running.reload();
  const { fields } = await running.said("an alert of a budget can't be sent");
  expect(fields).toMatchObject({
    threshold: 0.01,
    reason: "budget_alerts is no longer configured",
  });
});

it("a gateway that ends just after a reload still tells what was on its way to the address before", async () => {
  const upstream = await Upstream.start(echo);
  onTestFinished(() => upstream.close());
  const [hangs, takes] = [await receiver(0), await receiver(200)];
  const token = createToken();
  const text = (url: string) => `
auth: { mode: token, tokens: [{ name: ann, hash: "${hashToken(token)}" }] }
prices: [{ model: m, output: 1000000 }]
limits: { caller: { budget: { amount: 200, period: lifetime } } }
budget_alerts: { url: "${url}", at: [0.01] }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`;
  const running = await gateway(text(hangs.url));
  await spend(running.url, token, { content: "a b c", maxTokens: 5 });
  await expect.poll(() => hangs.seen.length).toBe(1);
  running.write(text(takes.url));
  await running.reload();
  await running.running.close(0);
  expect(takes.seen).toHaveLength(1);
});
