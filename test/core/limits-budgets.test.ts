/** How much of budgets is used, as a core tells of them. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Caller } from "../../src/core/call.js";
import type { CallerSource } from "../../src/core/callers/source.js";
import type { Core } from "../../src/core/core.js";
import { CurrentCore } from "../../src/core/current.js";
import type { BudgetUse } from "../../src/core/limits/budget-use.js";
import type { CallerLimits, LimitSettings } from "../../src/core/limits/settings.js";
import type { LimitStore } from "../../src/core/limits/store.js";
import { silent } from "../../src/core/log.js";
import type { AuthSettings } from "../../src/core/settings.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { RedisLimits } from "../../src/state/limits/redis.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { outcome as outcomeOf, start } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { noon } from "../support/limits.js";
import { chatModel } from "../support/models.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../support/redis.js";
import { hangsAfter, says, scripted } from "../support/scripted.js";

/** Each token of an answer is one, and a prompt is free. */
const prices = [{ model: "chat-*", output: 1_000_000 }];
const budget = (amount: number, period: "hour" | "month" = "month") => ({
  budget: { amount, period },
});

/** Callers whose tokens are their names. */
function source(members: Record<string, Partial<Caller>>): CallerSource {
  const find = (token: string): Caller | undefined =>
    members[token] && { id: token, token: `id of ${token}`, ...members[token] };
  return { find };
}

const ann = { team: "red", limits: { concurrent: 9 } };

function bench(more: { store?: LimitStore; now?: number } = {}) {
  const clock = { now: more.now ?? noon };
  const store = more.store ?? memoryLimits({ clock: () => clock.now });
  const known = source({ ann, bob: {} });
  const core = (
    settings: Partial<LimitSettings>,
    parts: {
      chat?: Parameters<typeof scripted>[0]["chat"];
      callers?: readonly CallerSource[];
      auth?: AuthSettings;
    } = {},
  ) =>
    coreOf(
      [
        scripted({ chat: parts.chat ?? says("a", "b", "c") }, [
          chatModel("chat-1"),
          chatModel("free"),
        ]),
      ],
      { auth: parts.auth ?? { mode: "token", tokens: [] } },
      {
        callers: parts.callers ?? [known],
        limits: { settings: { models: [], ...settings }, prices, store, clock: () => clock.now },
      },
    );
  return { clock, store, known, core };
}

const hello = { model: "chat-1", maxTokens: 10, messages: [{ role: "user", content: "Hello" }] };
const call = async (core: Core, credential = "ann", more: object = {}) =>
  (await outcomeOf(core, "chat", { ...hello, ...more }, { credential })).code;

/** `scope name period share`, in order. */
const told = (core: Core) =>
  (core.budgets?.snapshot() ?? []).map(textOf).sort((a, b) => (a < b ? -1 : 1));
const textOf = ({ scope, name, period, ratio }: BudgetUse) =>
  `${scope} ${name} ${period} ${ratio.toFixed(2)}`;

describe("how much of budgets is used", () => {
  it("is told of the gateway, entries of models, teams and known callers, and of no end user", async () => {
    const { core } = bench();
    const it = core({
      global: budget(100),
      caller: budget(10),
      user: budget(50),
      team: budget(20, "hour"),
      models: [
        { model: "chat-*", ...budget(40) },
        { model: "chat-*", ...budget(30, "hour") },
        { model: "other", ...budget(1) },
      ],
    });
    expect(told(it)).toEqual([]);
    expect(await call(it, "ann", { user: "u-1" })).toBe("ok");
    const ofAnn = [
      "caller ann month 0.30",
      "global  month 0.03",
      "model chat-* hour 0.10",
      "model chat-* month 0.07",
      "team red hour 0.15",
    ];
    expect(told(it)).toEqual(ofAnn);
    // What costs nothing claims nothing.
    expect(await call(it, "bob", { model: "free" })).toBe("ok");
    expect(told(it)).toEqual(ofAnn);
    expect(await call(it, "bob")).toBe("ok");
    expect(told(it)).toEqual([
      "caller ann month 0.30",
      "caller bob month 0.30",
      "global  month 0.06",
      "model chat-* hour 0.20",
      "model chat-* month 0.15",
      "team red hour 0.15",
    ]);
  });

  it("is told of what each caller asks of some models, also after a reload", async () => {
    const { core, clock } = bench();
    const pairs = (amount: number, ...more: LimitSettings["models"]): Partial<LimitSettings> => ({
      models: [{ model: "chat-*", caller: budget(amount) }, ...more],
    });
    const it = new CurrentCore(core(pairs(10, { model: "chat-1", caller: budget(6, "hour") })));
    const uses = () => (it.budgets?.snapshot() ?? []).map((one) => `${textOf(one)} ${one.caller}`);
    const three = { maxTokens: 3 };
    expect([await call(it, "ann", three), await call(it, "bob", three)]).toEqual(["ok", "ok"]);
    expect(await call(it)).toBe("rate_limited");
    const told = (share: string) => [
      `caller_model chat-* month ${share} ann`,
      "caller_model chat-1 hour 0.50 ann",
      `caller_model chat-* month ${share} bob`,
      "caller_model chat-1 hour 0.50 bob",
    ];
    expect(uses()).toEqual(told("0.30"));
    await it.replace(core(pairs(5, { model: "chat-1", caller: budget(6, "hour") })));
    expect(uses()).toEqual(told("0.60"));
    await it.replace(core(pairs(5)));
    expect(uses().map((one) => one.split(" ")[1])).toEqual(["chat-*", "chat-*"]);
    clock.now = Date.UTC(2026, 1, 1);
    expect(uses()).toEqual([]);
  });

  it("is told of what each team asks of some models, also after a reload", async () => {
    const { core } = bench();
    const models = (amount: number) => ({ models: [{ model: "chat-*", team: budget(amount) }] });
    const it = new CurrentCore(core(models(10)));
    const uses = () => (it.budgets?.snapshot() ?? []).map((one) => `${textOf(one)} ${one.team}`);
    // Who is in no team has none.
    expect([await call(it), await call(it, "bob")]).toEqual(["ok", "ok"]);
    expect(uses()).toEqual(["team_model chat-* month 0.30 red"]);
    await it.replace(core(models(5)));
    expect(uses()).toEqual(["team_model chat-* month 0.60 red"]);
    await it.replace(core({}));
    expect(uses()).toEqual([]);
  });

  it("is not told of callers whom nobody knows", async () => {
    const { core } = bench();
    for (const auth of [{ mode: "public" }, { mode: "none" }] as const) {
      const models = [{ model: "chat-*", caller: budget(10) }];
      const it = core({ global: budget(100), caller: budget(10), models }, { auth });
      expect(await call(it, "made up")).toBe("ok");
      expect(told(it)).toHaveLength(1);
    }
  });

  it("has what calls that run have reserved, until they end", async () => {
    const { core } = bench();
    const { handle } = hangsAfter("a");
    const it = core({ global: budget(20) }, { chat: handle });
    const leaving = new AbortController();
    const one = start(it, "chat", hello, { credential: "ann", signal: leaving.signal });
    const messages = one.messages[Symbol.asyncIterator]();
    await messages.next();
    expect(told(it)).toEqual(["global  month 0.50"]);
    expect(await call(it, "bob", { maxTokens: 15 })).toBe("rate_limited");
    expect(told(it)).toEqual(["global  month 0.50"]);
    leaving.abort();
    await expect(messages.next()).rejects.toMatchObject({ code: "cancelled" });
    expect(told(it)).toEqual(["global  month 0.05"]);
  });

  it("is 1 where it is used up, also above where calls took more, and nothing where it never was one", async () => {
    const { core } = bench();
    const it = core({ global: budget(3), models: [{ model: "free", ...budget(0) }] });
    expect(await call(it, "ann", { maxTokens: 2 })).toBe("ok");
    expect(told(it)).toEqual(["global  month 1.00"]);
    expect(await call(it, "ann", { maxTokens: 2 })).toBe("rate_limited");
    expect(told(it)).toEqual(["global  month 1.00"]);
    const none = core({ global: budget(0) });
    expect(await call(none)).toBe("rate_limited");
    expect(told(none)).toEqual([]);
  });

  it.each([
    ["read", true],
    ["not read", false],
  ])(
    "is gone when the period has ended, and what it had reserved counts no more, %s meanwhile",
    async (_, read) => {
      const { core, clock } = bench();
      const { handle } = hangsAfter("a");
      const settings = { caller: budget(40, "hour"), global: budget(100) };
      const it = core(settings, { chat: handle });
      const leaving = new AbortController();
      const before = start(it, "chat", hello, { credential: "ann", signal: leaving.signal });
      const messages = before.messages[Symbol.asyncIterator]();
      await messages.next();
      expect(told(it)).toEqual(["caller ann hour 0.25", "global  month 0.10"]);
      clock.now = noon + 3_599_999;
      expect(told(it)).toHaveLength(2);
      clock.now++;
      if (read) expect(told(it)).toEqual(["global  month 0.10"]);
      const again = new AbortController();
      const after = start(it, "chat", hello, { credential: "ann", signal: again.signal });
      const more = after.messages[Symbol.asyncIterator]();
      await more.next();
      expect(told(it)).toEqual(["caller ann hour 0.25", "global  month 0.20"]);
      leaving.abort();
      await expect(messages.next()).rejects.toMatchObject({ code: "cancelled" });
      expect(told(it)).toEqual(["caller ann hour 0.25", "global  month 0.11"]);
      again.abort();
      await expect(more.next()).rejects.toMatchObject({ code: "cancelled" });
      expect(told(it)).toEqual(["caller ann hour 0.03", "global  month 0.02"]);
    },
  );

  it("is told of the thousand callers and teams that used most, and of all that is shared", async () => {
    const { core } = bench();
    const everybody: CallerSource = { find: (id) => ({ id, token: "t" }) };
    const it = core(
      { global: budget(1_000_000), caller: budget(10) },
      { callers: [everybody], chat: says("a") },
    );
    for (let i = 0; i < 1001; i++) await call(it, `caller-${i}`);
    for (const id of ["caller-1000", "caller-0"]) await call(it, id, { maxTokens: 2 });
    const all = told(it);
    expect(all).toHaveLength(1001);
    expect(all[0]).toBe("caller caller-0 month 0.20");
    expect(all).toContain("caller caller-1000 month 0.20");
    expect(all.at(-1)).toBe("global  month 0.00");
  });
});

describe("how much of budgets is used, once something was changed", () => {
  const before = {
    global: budget(100),
    caller: budget(10),
    team: budget(20),
    models: [{ model: "chat-*", ...budget(40) }],
  };

  it("goes on over a reload, by the new limits", async () => {
    const { core } = bench();
    const it = new CurrentCore(core(before));
    await call(it);
    const now = ["caller ann month 0.30", "global  month 0.03", "model chat-* month 0.07"];
    expect(told(it)).toEqual([...now, "team red month 0.15"]);
    await it.replace(core({ ...before, caller: budget(5), team: budget(2) }));
    expect(told(it)).toEqual(["caller ann month 0.60", ...now.slice(1), "team red month 1.50"]);
  });

  it.each([
    ["no budget", {}],
    ["no limits", undefined],
    [
      "budgets of another period",
      {
        global: budget(100, "hour"),
        caller: budget(10, "hour"),
        team: budget(20, "hour"),
        models: [{ model: "chat-*", ...budget(40, "hour") }],
      },
    ],
    [
      "budgets that are lifted",
      {
        global: { concurrent: 1 },
        caller: budget(Number.POSITIVE_INFINITY),
        team: budget(20),
        teams: [{ team: "red", ...budget(Number.POSITIVE_INFINITY) }],
        models: [{ model: "chat-1", ...budget(40) }],
      },
    ],
  ])("is gone after a reload that leaves %s", async (_, after) => {
    const { core } = bench();
    const it = new CurrentCore(core(before));
    await call(it);
    expect(told(it)).toHaveLength(4);
    await it.replace(after ? core(after) : coreOf([scripted({ chat: says("a") })]));
    expect(told(it)).toEqual([]);
  });

  it("is gone of callers after a reload that may have changed their tokens", async () => {
    const { core, known } = bench();
    const it = new CurrentCore(core(before));
    await call(it);
    await it.replace(core(before, { callers: [known, source({})] }));
    expect(told(it).map((one) => one.split(" ")[0])).toEqual(["global", "model", "team"]);
    await call(it, "ann", { maxTokens: 3 });
    expect(told(it)).toContain("caller ann month 0.60");
    const hash = `sha256:${"0".repeat(64)}`;
    const tokens = [{ name: "ann", hash, limits: {} }];
    const auth = { mode: "token", tokens } as const;
    await it.replace(core(before, { callers: [known, source({})], auth }));
    expect(told(it).map((one) => one.split(" ")[0])).toEqual(["global", "model", "team"]);
  });

  it("goes on for a call that began before a reload", async () => {
    const { core } = bench();
    const { handle } = hangsAfter("a");
    const it = new CurrentCore(core(before, { chat: handle }));
    const leaving = new AbortController();
    const one = start(it, "chat", hello, { credential: "ann", signal: leaving.signal });
    const messages = one.messages[Symbol.asyncIterator]();
    await messages.next();
    const replaced = it.replace(core(before));
    expect(told(it)).toContain("global  month 0.10");
    leaving.abort();
    await expect(messages.next()).rejects.toMatchObject({ code: "cancelled" });
    await replaced;
    expect(told(it)).toContain("global  month 0.01");
  });

  it("follows a token whose limits change", async () => {
    const { core } = bench();
    const own: { limits: CallerLimits | undefined } = { limits: budget(10) };
    const it = core({}, { callers: [source({ ann: own })] });
    await call(it);
    expect(told(it)).toEqual(["caller ann month 0.30"]);
    own.limits = budget(6, "month");
    await call(it, "ann", { maxTokens: 3 });
    expect(told(it)).toEqual(["caller ann month 1.00"]);
    own.limits = budget(30, "hour");
    await call(it);
    expect(told(it)).toEqual(["caller ann hour 0.10"]);
    own.limits = undefined;
    await call(it, "ann", { model: "free" });
    expect(told(it)).toEqual([]);
  });
});

describe.skipIf(!redisBinary).each(redisServers)("how much is used in %s", (_, binary) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ binary });
  });
  afterAll(() => server.close());

  async function replica() {
    const settings = { url: server.url, timeoutMs: 30_000 };
    const connection = new RedisConnection(settings, silent, "limits", "open");
    const store = new RedisLimits(connection, { replicas: 2, clock: () => noon });
    onTestFinished(async () => {
      await store.close();
      await connection.close();
    });
    await connection.settled(30_000);
    return bench({ store }).core({ global: budget(20), caller: budget(10) });
  }

  it("is what all gateways used, as of the last call here; while it is away nothing new is told", async () => {
    const [one, other] = [await replica(), await replica()];
    expect(await call(one, "ann")).toBe("ok");
    // What a call took reaches Redis behind its answer.
    await vi.waitFor(async () => {
      const [account] = await run(other, "getAccount", {}, { credential: "ann" });
      expect(account?.limits.map(({ remaining }) => remaining)).toContain(7);
    });
    expect(await call(other, "bob")).toBe("ok");
    expect(told(one)).toEqual(["caller ann month 0.30", "global  month 0.15"]);
    expect(told(other)).toEqual(["caller bob month 0.30", "global  month 0.30"]);
    await server.kill();
    // By this gateway's share, of which nothing is used.
    expect(await call(one, "ann", { maxTokens: 4 })).toBe("ok");
    expect(told(one)).toEqual(["caller ann month 0.30", "global  month 0.15"]);
    expect(await call(one, "ann", { maxTokens: 11 })).toBe("rate_limited");
    expect(told(one)).toEqual(["caller ann month 0.30", "global  month 0.15"]);
  });
});
