/** Quotas of targets, and calls that wait, mirrors, reloads, and several gateways. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { CurrentCore } from "../../src/core/current.js";
import { LintelError } from "../../src/core/errors.js";
import { QuotaUses } from "../../src/core/routing/quota.js";
import type { TargetSettings } from "../../src/core/routing/settings.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { FakeClock, seeded, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { meeting } from "../support/peers.js";
import { backend, bench, failure, gate, hello, routing, stateOf } from "../support/routing.js";
import { type Scripted, says, scripted } from "../support/scripted.js";
import { ask, inOrder, prompt, tells } from "./quotas.js";

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
