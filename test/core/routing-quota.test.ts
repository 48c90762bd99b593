/** Quotas of targets: how much a vendor lets a model be asked for in a minute. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { CurrentCore } from "../../src/core/current.js";
import { LintelError } from "../../src/core/errors.js";
import { reasonOf } from "../../src/core/log.js";
import { QuotaUses } from "../../src/core/routing/quota.js";
import type { TargetSettings } from "../../src/core/routing/settings.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { FakeClock, seeded, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { meeting } from "../support/peers.js";
import {
  backend,
  bench,
  fails,
  failure,
  gate,
  hello,
  inTurn,
  routing,
  stateOf,
  textOf,
} from "../support/routing.js";
import { hangsAfter, piece, type Scripted, says, scripted } from "../support/scripted.js";

type Quotas = Readonly<Record<string, Partial<TargetSettings>>>;

/** `m`, at each of some backends in this order, with these quotas. */
const inOrder = (quotas: Quotas): ModelSettings[] => [
  {
    name: "m",
    targets: Object.entries(quotas).map(([name, quota], priority) => ({
      ...{ backend: name, priority },
      ...quota,
    })),
  },
];

const ask = (core: Parameters<typeof run>[0], request: object = {}) =>
  textOf(run(core, "chat", { ...hello, ...request }));

/** A prompt that is taken for about so many tokens, the four of its message among them. */
const prompt = (tokens: number) => ({
  messages: [{ role: "user", content: "x".repeat(4 * (tokens - 4)) }],
});

/** Says one word, of which its server tells these tokens. */
const tells = (promptTokens: number, completionTokens: number): Handle<"chat"> =>
  async function* () {
    yield [piece("said")];
    yield [piece("", "stop", [promptTokens, completionTokens])];
  };

/** Says one word of eight letters, and tells no tokens. */
const silent: Handle<"chat"> = async function* () {
  yield [piece("eight ok")];
  yield [piece("", "stop")];
};

describe("a quota of requests", () => {
  const quota = { requestsPerMinute: 2 };

  it("sends calls on to others until the minute is over, and takes nobody out", async () => {
    const all = [backend("a"), backend("b")];
    const { core, clock } = bench(all, {}, inOrder({ a: quota, b: {} }));
    expect([await ask(core), await ask(core), await ask(core)]).toEqual(["a", "a", "b"]);
    expect(stateOf(core, "a")).toMatchObject({
      ...{ state: "used_up", outForMs: 61_000, failures: 0 },
      quota: { requests: { used: 2, limit: 2 } },
    });
    expect(stateOf(core, "b")).not.toHaveProperty("quota");
    await clock.advance(60_999);
    expect(await ask(core)).toBe("b");
    await clock.advance(1);
    expect(stateOf(core, "a")).toMatchObject({ state: "in", outForMs: 0 });
    expect(await ask(core)).toBe("a");
  });

  it("lets a whole minute pass for each, whenever in a second it came", async () => {
    const { core, clock } = bench([backend("a")], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    await clock.advance(999);
    await ask(core);
    await clock.advance(59_999);
    await expect(ask(core)).rejects.toEqual(failure("unavailable"));
    await clock.advance(2);
    expect(await ask(core)).toBe("a");
  });

  it("comes back as what was used passes, not all at once", async () => {
    const { core, clock } = bench([backend("a")], {}, inOrder({ a: quota }));
    await ask(core);
    await clock.advance(30_000);
    await ask(core);
    await expect(ask(core)).rejects.toEqual(failure("unavailable", { retryAfter: 31 }));
    await clock.advance(31_000);
    expect(await ask(core)).toBe("a");
    await expect(ask(core)).rejects.toEqual(failure("unavailable", { retryAfter: 30 }));
  });

  it("that is used up everywhere is said, with the time of the first that has room again", async () => {
    const all = [backend("a"), backend("b")];
    const { core, clock } = bench(all, {}, inOrder({ a: { requestsPerMinute: 1 }, b: quota }));
    await ask(core);
    await clock.advance(10_000);
    expect([await ask(core), await ask(core)]).toEqual(["b", "b"]);
    const error = await ask(core).catch((thrown: unknown) => thrown);
    expect(error).toEqual(
      failure("unavailable", {
        http: 503,
        retryAfter: 51,
        message: "as much was asked of this model's servers as they allow in a minute",
      }),
    );
    expect(reasonOf(error)).toContain("a has used up its quota; b has used up its quota");
    expect(all.map(({ asked }) => asked.length)).toEqual([1, 2]);
  });

  it("is not what is said where the other target is out", async () => {
    const all = [backend("a"), backend("b", fails("unavailable"))];
    const some = { health: { failures: 1 }, retry: { attempts: 1 } };
    const { core } = bench(all, some, inOrder({ a: { requestsPerMinute: 1 }, b: {} }));
    await ask(core);
    await expect(ask(core)).rejects.toEqual(failure("unavailable"));
    const error = await ask(core).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: "no model server can take the request now" });
    expect(reasonOf(error)).toContain("a has used up its quota; b is out");
  });

  it("counts every attempt, also of retries, and of those that fail", async () => {
    const failing = backend("a", inTurn(fails("unavailable"), says("a")));
    const { core, clock } = bench([failing], {}, inOrder({ a: quota }));
    const answer = ask(core);
    await clock.advance(2000);
    expect(await answer).toBe("a");
    expect(stateOf(core, "a")).toMatchObject({ state: "used_up", failures: 1 });
  });

  it("ends retries: what is used up meanwhile is not asked again", async () => {
    const failing = backend("a", fails("unavailable"));
    const { core, clock } = bench([failing], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    const answer = ask(core);
    const said = expect(answer).rejects.toEqual(failure("unavailable"));
    await clock.advance(2000);
    await said;
    expect(failing.asked).toHaveLength(1);
  });

  it("counts hedges, and none goes where it is used up", async () => {
    for (const requestsPerMinute of [1, 2]) {
      const slow = inTurn(...Array(20).fill(says("a")), hangsAfter().handle);
      const all = [backend("a", slow), backend("b", says("b"))];
      const hedge = { percentile: 95, leastMs: 50 };
      const models = inOrder({ a: {}, b: { requestsPerMinute } });
      models.push({ name: "only-b", targets: [{ backend: "b", model: "m" }] });
      const { core, clock } = bench(all, { hedge }, models);
      await ask(core, { model: "only-b" });
      for (let i = 0; i < 20; i++) await ask(core, { model: "m" });
      const aborted = new AbortController();
      const answer = textOf(
        run(core, "chat", { ...hello, model: "m" }, { signal: aborted.signal }),
      ).catch(() => "nobody");
      await clock.advance(100);
      aborted.abort();
      expect(await answer).toBe(requestsPerMinute === 1 ? "nobody" : "b");
      expect(stateOf(core, "b").state).toBe("used_up");
    }
  });

  it("does not count what the target could not be asked for", async () => {
    const plain = scripted({ chat: says("a") }, [chatModel("m", { supports: [] })], "a");
    const { core } = bench([plain], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    await expect(ask(core, { stop: ["x"] })).rejects.toEqual(failure("unsupported_parameter"));
    expect(await ask(core)).toBe("a");
  });

  it("is one for all names that lead there, also for those that say nothing of it, and the smallest", async () => {
    const models: ModelSettings[] = [
      { name: "x", targets: [{ backend: "a", model: "m", requestsPerMinute: 5 }] },
      { name: "y", targets: [{ backend: "a", model: "m", requestsPerMinute: 2 }] },
      { name: "z", targets: [{ backend: "a", model: "m" }] },
    ];
    const { core } = bench([backend("a")], {}, models);
    await ask(core, { model: "z" });
    await ask(core, { model: "x" });
    expect(stateOf(core, "a").quota).toEqual({ requests: { used: 2, limit: 2 } });
    for (const model of ["x", "y", "z"]) {
      await expect(ask(core, { model })).rejects.toEqual(failure("unavailable"));
    }
  });

  it("sends sessions elsewhere for the moment, and back again", async () => {
    const all = [backend("a"), backend("b")];
    const targets = all.map(({ name }) => ({ backend: name, requestsPerMinute: 1 }));
    const { core, clock } = bench(all, {}, [{ name: "m", targets }]);
    const session = { promptCacheKey: "one" };
    const home = await ask(core, session);
    const other = await ask(core, session);
    expect([home, other].sort()).toEqual(["a", "b"]);
    await clock.advance(61_000);
    expect(await ask(core, session)).toBe(home);
  });

  it("is no reason not to count tokens there, and counting them uses none of it", async () => {
    const counted = {
      $typeName: "lintel.v1.CountTokensResponse",
      ...{ tokens: 3, estimated: false, model: "", warnings: [] },
    } as never;
    const countTokens = async function* () {
      yield [counted];
    };
    const a = scripted({ chat: says("a"), countTokens } as never, [chatModel("m")], "a");
    const { core } = bench([a], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    await run(core, "countTokens", hello);
    expect(await ask(core)).toBe("a");
    await expect(run(core, "countTokens", hello)).resolves.toMatchObject([{ estimated: false }]);
  });

  it("holds for one that is about to leave, too, though that is asked rather than nobody", async () => {
    const leaving = fails("shutting_down", { leaving: true, retryAfter: 30 });
    const a = backend("a", leaving);
    const { core } = bench([a], {}, inOrder({ a: quota }));
    for (let i = 0; i < 4; i++) await expect(ask(core)).rejects.toThrow();
    expect(a.asked).toHaveLength(2);
  });
});

describe("a quota of tokens", () => {
  const quota = { tokensPerMinute: 100 };

  it("counts the prompts of calls that run, so that many at once don't go far beyond it", async () => {
    const [a, b] = [gate("a"), gate("b")];
    const all = [backend("a", a.handle), backend("b", b.handle)];
    const { core } = bench(all, {}, inOrder({ a: quota, b: {} }));
    const answers = Array.from({ length: 5 }, () => ask(core, prompt(40)));
    await settled();
    expect([a.begun, b.begun]).toEqual([3, 2]);
    expect(stateOf(core, "a").quota).toEqual({ tokens: { used: 120, limit: 100 } });
    for (const { open } of [a, a, a, b, b]) open();
    await Promise.all(answers);
  });

  it("is put right by what the server tells, once it does", async () => {
    const cases: [string, Handle<"chat">, number][] = [
      ["fewer of the prompt", tells(10, 5), 15],
      ["more of it", tells(60, 5), 65],
      ["nothing of the answer", tells(10, 0), 11],
      ["nothing of the prompt", tells(0, 5), 45],
      ["nothing at all", silent, 42],
    ];
    for (const [what, handle, used] of cases) {
      const { core } = bench([backend("a", handle)], {}, inOrder({ a: quota }));
      await ask(core, prompt(40));
      expect(stateOf(core, "a").quota?.tokens?.used, what).toBe(used);
      await run(core, "complete", { ...hello, ...prompt(40) });
      expect(stateOf(core, "a").quota?.tokens?.used, what).toBe(2 * used);
    }
  });

  it("counts of a call that its caller left what came until then", async () => {
    const { core } = bench(
      [backend("a", hangsAfter("eight ok").handle)],
      {},
      inOrder({ a: quota }),
    );
    const leaving = new AbortController();
    const answer = run(core, "chat", { ...hello, ...prompt(40) }, { signal: leaving.signal });
    await settled();
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await settled();
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(42);
  });

  it("lets the prompt count from its begin, and the answer from its end", async () => {
    const door = gate("eight ok");
    const all = [backend("a", door.handle)];
    const { core, clock } = bench(all, {}, inOrder({ a: quota }));
    const answer = ask(core, prompt(40));
    await clock.advance(50_000);
    door.open();
    await answer;
    // As the script tells: 7 of the prompt, and 1.
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(8);
    await clock.advance(11_000);
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(1);
    await clock.advance(50_000);
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(0);
  });

  it("forgets no tokens of a call that takes longer than a minute, and gives none back twice", async () => {
    const door = gate("eight ok");
    const all = [backend("a", door.handle)];
    const { core, clock } = bench(all, {}, inOrder({ a: quota }));
    const answer = ask(core, prompt(40));
    await clock.advance(90_000);
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(0);
    door.open();
    await answer;
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(1);
  });

  it("lets a prompt go that alone is larger, and then none for a minute, the longest time that clients heed", async () => {
    const { core, clock } = bench([backend("a", silent)], {}, inOrder({ a: quota }));
    await ask(core, prompt(10));
    expect(await ask(core, prompt(500))).toBe("eight ok");
    await expect(ask(core)).rejects.toEqual(failure("unavailable", { retryAfter: 59 }));
    await clock.advance(61_000);
    expect(await ask(core)).toBe("eight ok");
  });

  it("and one of requests hold beside each other", async () => {
    const both = { requestsPerMinute: 2, tokensPerMinute: 100 };
    const { core } = bench([backend("a", silent)], {}, inOrder({ a: both }));
    await ask(core, prompt(98));
    expect(stateOf(core, "a")).toMatchObject({
      state: "used_up",
      quota: { requests: { used: 1, limit: 2 }, tokens: { used: 100, limit: 100 } },
    });
  });
});

describe("calls that wait for a full target", () => {
  const queue = { timeoutMs: 120_000 };
  const quota = { requestsPerMinute: 2, maxInFlight: 1 };

  it("go there once its quota is back, and no more of them than that lets through", async () => {
    const door = gate("a");
    const { core, clock } = bench([backend("a", door.handle)], { queue }, inOrder({ a: quota }));
    const answers = Array.from({ length: 4 }, () => ask(core));
    await settled();
    door.open();
    await settled();
    expect(door.begun).toBe(2);
    door.open();
    await clock.advance(60_999);
    expect(door.begun).toBe(2);
    expect(stateOf(core, "a")).toMatchObject({ state: "used_up", waiting: 2 });
    await clock.advance(1);
    expect(door.begun).toBe(3);
    door.open();
    await settled();
    door.open();
    expect(await Promise.all(answers)).toEqual(["a", "a", "a", "a"]);
  });

  it("don't go together where their prompts use it up", async () => {
    const door = gate("a");
    const tokens = { tokensPerMinute: 100, maxInFlight: 2 };
    const { core } = bench([backend("a", door.handle)], { queue }, inOrder({ a: tokens }));
    const answers = [10, 10, 95, 95].map((size) => ask(core, prompt(size)));
    await settled();
    expect(door.begun).toBe(2);
    // Each of these took 8 tokens, so there is room for one prompt, which uses it up.
    door.open();
    await settled();
    expect(door.begun).toBe(3);
    door.open();
    await settled();
    expect(door.begun).toBe(3);
    expect(stateOf(core, "a")).toMatchObject({ state: "used_up", waiting: 1 });
    door.open();
    await settled();
    door.open();
    await Promise.all(answers);
  });

  /** One call at each of two targets, of which `a` has used up its quota, one that waits, and `b` goes out. */
  async function outage(timeoutMs: number) {
    const doors = { a: gate("a"), b: gate("b") };
    const all = [backend("a", doors.a.handle), backend("b", doors.b.handle)];
    const models = inOrder({ a: { requestsPerMinute: 1 }, b: { maxInFlight: 1 } });
    const some = { queue: { timeoutMs }, health: { failures: 1, firstPauseMs: 300_000 } };
    const { core, clock } = bench(all, { ...some, retry: { attempts: 1 } }, models);
    const first = ask(core);
    const second = ask(core).catch(() => "lost");
    const waits = ask(core).catch(({ code }) => code);
    await settled();
    expect(stateOf(core, "a")).toMatchObject({ state: "used_up", waiting: 1 });
    doors.a.open();
    doors.b.fail(new LintelError("unavailable", "gone"));
    expect([await first, await second]).toEqual(["a", "lost"]);
    return { core, clock, doors, waits };
  }

  it("wait on when another target goes out, since a quota comes back by itself", async () => {
    const { core, clock, doors, waits } = await outage(120_000);
    expect(stateOf(core, "a").waiting).toBe(1);
    await clock.advance(61_000);
    doors.a.open();
    expect(await waits).toBe("a");
  });

  it("are told at once then where it comes back too late for them", async () => {
    const { core, waits } = await outage(30_000);
    expect(await waits).toBe("unavailable");
    expect(stateOf(core, "a").waiting).toBe(0);
  });

  it("give back what was kept for them where they leave", async () => {
    const door = gate("a");
    const { core } = bench([backend("a", door.handle)], { queue }, inOrder({ a: quota }));
    const first = ask(core);
    await settled();
    const leaving = new AbortController();
    const second = run(core, "chat", hello, { signal: leaving.signal });
    await settled();
    leaving.abort();
    await expect(second).rejects.toThrow();
    door.open();
    await first;
    expect(stateOf(core, "a").quota).toEqual({ requests: { used: 1, limit: 2 } });
  });
});

describe("mirrored calls", () => {
  it("count where real ones go as well, and are not made once it is used up", async () => {
    for (const quota of [{ requestsPerMinute: 2 }, { tokensPerMinute: 40 }]) {
      const real = backend("real");
      const shadow = scripted({ chat: tells(15, 5) }, [chatModel("s")], "shadow");
      const models: ModelSettings[] = [
        {
          ...{ name: "m", targets: [{ backend: "real" }] },
          mirrors: [{ backend: "shadow", model: "s" }],
        },
        { name: "s", targets: [{ backend: "shadow", ...quota }] },
      ];
      const { core } = bench([real, shadow], {}, models);
      for (let i = 0; i < 3; i++) {
        expect(await ask(core, { model: "m", ...prompt(30) })).toBe("real");
        await settled();
      }
      expect(shadow.asked).toHaveLength(2);
      await expect(ask(core, { model: "s" })).rejects.toEqual(failure("unavailable"));
      const { mirrors } = core.routing.snapshot();
      expect(mirrors).toMatchObject([{ backend: "shadow", state: "used_up", failures: 0 }]);
    }
  });
});

describe("another configuration", () => {
  it("goes on with what was used, under its own quota", async () => {
    const clock = new FakeClock();
    const quotaUses = new QuotaUses();
    const a = backend("a");
    const made = (requestsPerMinute?: number) =>
      coreOf(
        [a],
        { routing: routing(), models: inOrder({ a: { requestsPerMinute } }) },
        { clock, quotaUses },
      );
    const core = new CurrentCore(made(2));
    await ask(core);
    await ask(core);
    await core.replace(made(3));
    expect(stateOf(core, "a").quota).toEqual({ requests: { used: 2, limit: 3 } });
    expect(await ask(core)).toBe("a");
    await expect(ask(core)).rejects.toEqual(failure("unavailable"));
    await core.replace(made());
    expect(await ask(core)).toBe("a");
  });

  it("counts what a call of the one before uses after it", async () => {
    const clock = new FakeClock();
    const quotaUses = new QuotaUses();
    const door = gate("eight ok");
    const made = () =>
      coreOf(
        [backend("a", door.handle)],
        { routing: routing(), models: inOrder({ a: { tokensPerMinute: 100 } }) },
        { clock, quotaUses },
      );
    const core = new CurrentCore(made());
    const answer = ask(core, prompt(40));
    await settled();
    const replaced = core.replace(made());
    await settled();
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(40);
    door.open();
    await answer;
    await replaced;
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(8);
  });
});

describe("several gateways", () => {
  function pair(quota: Partial<TargetSettings>, targets: readonly Scripted[] = [backend("a")]) {
    const clock = new FakeClock();
    const peers = meeting();
    const cores = [1, 2].map((seed) => {
      const settings = { routing: routing(), models: inOrder({ a: quota }) };
      const core = coreOf(targets, settings, { clock, peers, random: seeded(seed) });
      core.routing.start();
      return core;
    });
    return { clock, peers, one: cores[0] as never, two: cores[1] as never };
  }

  it("hold a quota together, a moment late", async () => {
    const { clock, peers, one, two } = pair({ requestsPerMinute: 3 });
    await ask(one);
    await ask(one);
    await clock.advance(1000);
    expect([...peers.told.values()]).toEqual([
      { out: [], running: [], used: [["a\nm", 2, 0]] },
      { out: [], running: [] },
    ]);
    await ask(two);
    await expect(ask(two)).rejects.toEqual(failure("unavailable"));
    // Told within a second, and heard within another one.
    await clock.advance(2000);
    await expect(ask(one)).rejects.toEqual(failure("unavailable"));
    await clock.advance(62_000);
    expect(await ask(two)).toBe("a");
  });

  it("tell their tokens", async () => {
    const { clock, one, two } = pair({ tokensPerMinute: 20 }, [backend("a", tells(15, 5))]);
    await ask(one);
    await clock.advance(1000);
    const { tokens } = stateOf(two, "a").quota ?? {};
    expect(tokens).toEqual({ used: 20, limit: 20 });
    await expect(ask(two)).rejects.toEqual(failure("unavailable"));
  });

  it("tell callers a time, though they don't know when others began", async () => {
    const { clock, one, two } = pair({ requestsPerMinute: 4 });
    for (let i = 0; i < 4; i++) await ask(one);
    await clock.advance(1000);
    // One of four, evenly over the minute.
    await expect(ask(two)).rejects.toEqual(failure("unavailable", { retryAfter: 15 }));
  });

  it("remember for a minute what was told, where nobody can be asked any more", async () => {
    const { clock, peers, one, two } = pair({ requestsPerMinute: 1 });
    await ask(one);
    await clock.advance(1000);
    peers.away = true;
    await clock.advance(58_000);
    await expect(ask(two)).rejects.toEqual(failure("unavailable"));
    await clock.advance(3000);
    expect(await ask(two)).toBe("a");
  });

  it("serve those who wait as soon as others have used less", async () => {
    const clock = new FakeClock();
    const peers = meeting();
    const door = gate("a");
    const models = inOrder({ a: { requestsPerMinute: 2, maxInFlight: 1 } });
    const made = (handle: Handle<"chat">) => {
      const settings = { routing: routing({ queue: { timeoutMs: 200_000 } }), models };
      const core = coreOf([backend("a", handle)], settings, { clock, peers, random: seeded(1) });
      core.routing.start();
      return core;
    };
    const [one, two] = [made(says("a")), made(door.handle)];
    peers.away = true;
    await ask(one);
    await clock.advance(30_000);
    const first = ask(two);
    await settled();
    const waits = ask(two);
    await settled();
    peers.away = false;
    await clock.advance(2000);
    door.open();
    await first;
    expect(stateOf(two, "a")).toMatchObject({ state: "used_up", waiting: 1 });
    // A minute after the first one's, of which the second one knows no time, and half a minute before its own.
    await clock.advance(31_000);
    expect(door.begun).toBe(2);
    door.open();
    expect(await waits).toBe("a");
  });
});
