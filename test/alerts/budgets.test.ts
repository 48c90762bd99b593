/** Who is told of budgets that pass a share, and when. */
import { describe, expect, it } from "vitest";
import type { Caller } from "../../src/core/call.js";
import type { Core } from "../../src/core/core.js";
import { CurrentCore } from "../../src/core/current.js";
import {
  type AlertScope,
  alertScopes,
  type BudgetAlert,
  type Telling,
} from "../../src/core/limits/alerts.js";
import type { BudgetPeriod, LimitSettings } from "../../src/core/limits/settings.js";
import type { LimitStore } from "../../src/core/limits/store.js";
import type { AuthSettings } from "../../src/core/settings.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { outcome, start } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { noon } from "../support/limits.js";
import { chatModel } from "../support/models.js";
import { hangsAfter, says, scripted } from "../support/scripted.js";

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
      models: [{ model: "*", ...budget(6, "hour"), caller: budget(6), team: budget(6) }],
    };
    const all = bench();
    await call(all.core(settings), { user: "u" });
    const { sent } = all;
    expect(sent.find(({ scope }) => scope === "team")?.endsAt).toBeUndefined();
    expect(sent.find(({ scope }) => scope === "caller_model")?.caller).toBe("ann");
    expect(sent.find(({ scope }) => scope === "team_model")?.team).toBe("red");
    expect(await all.told()).toEqual([
      "caller ann 0.5 3",
      "caller_model * 0.5 3",
      "model * 0.5 3",
      "team red 0.5 3",
      "team_model * 0.5 3",
    ]);
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
