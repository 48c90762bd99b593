/** What happens when a target fails before the first message: retries, their budget, and what is told. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import type { Attributes } from "../../src/core/call-attributes.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { FakeClock, seeded, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import {
  backend,
  bench,
  equals,
  fails,
  failure,
  gate,
  hello,
  inTurn,
  routing,
  stateOf,
  textOf,
} from "../support/routing.js";
import { paints, says, scripted } from "../support/scripted.js";

describe("retry at the same target", () => {
  it("pauses before, longer each time, by chance and up to a longest", async () => {
    const only = backend("only", fails("upstream_unreachable"));
    const clock = new FakeClock();
    const pauses: number[] = [];
    const after = clock.after.bind(clock);
    clock.after = (ms, go) => {
      pauses.push(ms);
      return after(ms, go);
    };
    const random = seeded(3);
    const health = { failures: 100 };
    const retry = { attempts: 6, firstPauseMs: 100, longestPauseMs: 400, floor: 100 };
    const core = coreOf([only], { routing: routing({ retry, health }) }, { clock, random });
    const answer = run(core, "chat", hello).catch((error: unknown) => error);
    await clock.advance(5000);
    expect(await answer).toEqual(failure("upstream_unreachable"));
    expect(only.asked.length).toBe(6);
    const longest = [100, 200, 400, 400, 400];
    expect(pauses.length).toBe(5);
    for (const [i, ms] of pauses.entries()) {
      expect(ms).toBeGreaterThanOrEqual((longest[i] as number) / 2);
      expect(ms).toBeLessThanOrEqual(longest[i] as number);
    }
    expect(new Set(pauses.map((ms, i) => ms / (longest[i] as number))).size).toBe(5);
    expect(clock.timers).toBe(0);
  });
  it("succeeds when the target does again", async () => {
    const only = backend("only", inTurn(fails("unavailable"), says("back")));
    const { core, clock } = bench([only]);
    const answer = textOf(run(core, "chat", hello));
    await settled();
    expect(only.asked.length).toBe(1);
    await clock.advance(100);
    expect(await answer).toBe("back");
  });
  it("does not begin when the deadline comes first", async () => {
    const only = backend("only", fails("unavailable"));
    const { core } = bench([only], { retry: { firstPauseMs: 600_000, longestPauseMs: 600_000 } });
    await expect(run(core, "chat", hello, { timeoutMs: 60_000 })).rejects.toEqual(
      failure("unavailable"),
    );
  });
  it("is done also where the clock was set forward meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const setForward = () => {
      vi.setSystemTime(Date.now() + 86_400_000);
      throw new LintelError("timeout", "the model server took too long");
    };
    const first = backend("a", setForward);
    const targets = [{ backend: "a" }, { backend: "b", priority: 1 }];
    const { core } = bench([first, backend("b", says("well"))], {}, [{ name: "m", targets }]);
    expect(await textOf(run(core, "chat", hello, { timeoutMs: 60_000 }))).toBe("well");
    expect(stateOf(core, "a").failures).toBe(1);
  });
  it("ends at once when the caller leaves in the pause", async () => {
    const { core } = bench([backend("only", fails("unavailable"))]);
    const controller = new AbortController();
    const answer = run(core, "chat", hello, { signal: controller.signal });
    await settled();
    controller.abort();
    await expect(answer).rejects.toEqual(failure("cancelled"));
  });
  it("is not done for failures that another target alone could help with", async () => {
    const only = backend("only", fails("upstream_failed", { retry: "elsewhere" }));
    await expect(run(bench([only]).core, "chat", hello)).rejects.toEqual(
      failure("upstream_failed"),
    );
    expect(only.asked.length).toBe(1);
  });
});

describe("the budget", () => {
  it("keeps retries a share of requests while everything fails", async () => {
    const all = [backend("a", fails("unavailable")), backend("b", fails("unavailable"))];
    const retry = { attempts: 2, budget: 0.1, floor: 3 };
    const health = { failures: 1e6, failureRate: 1.1 };
    const { core } = bench(all, { retry, health }, equals(all));
    for (let i = 0; i < 200; i++) await run(core, "chat", hello).catch(() => {});
    expect(all.reduce((sum, it) => sum + it.asked.length, 0)).toBe(200 + 23);
    const { retries } = core.routing.snapshot();
    expect(retries).toEqual({ requests: 200, retries: 23, denied: 177 });
  });
});

describe("Retry-After", () => {
  const busy = (retryAfter?: number, code: ErrorCode = "rate_limited") =>
    fails(code, retryAfter === undefined ? {} : { retryAfter });
  it.each(["rate_limited", "unavailable", "shutting_down"] as const)(
    "of %s lets a target rest that long, and no longer",
    async (code) => {
      const a = backend("a", inTurn(busy(30, code), says("a")));
      const b = backend("b");
      const { core, clock } = bench([a, b]);
      for (let i = 0; i < 3; i++) expect(await textOf(run(core, "chat", hello))).toBe("b");
      expect(a.asked.length).toBe(1);
      expect(stateOf(core, "a")).toMatchObject({ state: "resting", outForMs: 30_000 });
      await clock.advance(29_999);
      expect(await textOf(run(core, "chat", hello))).toBe("b");
      await clock.advance(1);
      expect(await textOf(run(core, "chat", hello))).toBe("a");
    },
  );
  it("about a request that alone is more than a limit lets nothing rest", async () => {
    const tooLarge = fails("rate_limited", { param: "max_tokens", retryAfter: 3600 });
    const { core } = bench([backend("a", inTurn(tooLarge, says("a")))]);
    const told = failure("rate_limited", { param: "max_tokens", retryAfter: 3600 });
    await expect(run(core, "chat", hello)).rejects.toEqual(told);
    expect(stateOf(core, "a").state).toBe("in");
    expect(await textOf(run(core, "chat", hello))).toBe("a");
  });
  it("is passed on: the soonest where every target said so", async () => {
    const all = [backend("a", busy(5)), backend("b", busy(30))];
    const { core } = bench(all);
    await expect(run(core, "chat", hello)).rejects.toEqual(
      failure("rate_limited", { retryAfter: 5 }),
    );
    await expect(run(core, "chat", hello)).rejects.toEqual(
      failure("unavailable", { retryAfter: 5 }),
    );
    expect(all.map((it) => it.asked.length)).toEqual([1, 1]);
  });
  it("that nobody sent lets nothing rest", async () => {
    const a = backend("a", inTurn(busy(), says("a")));
    const { core } = bench([a, backend("b")]);
    expect(await textOf(run(core, "chat", hello))).toBe("b");
    expect(await textOf(run(core, "chat", hello))).toBe("a");
  });
  it("that is shorter takes nothing of one that was said before", async () => {
    const door = gate();
    const a = backend("a", inTurn(door.handle, door.handle, busy(2)));
    const { core } = bench([a, backend("b")]);
    const both = [run(core, "chat", hello), run(core, "chat", hello)];
    await settled();
    for (const retryAfter of [30, 5]) {
      door.fail(new LintelError("rate_limited", "busy", { retryAfter }));
      await settled();
      expect(stateOf(core, "a")).toMatchObject({ state: "resting", outForMs: 30_000 });
    }
    await Promise.all(both);
  });
  it("of an hour and more counts as an hour", async () => {
    const { core } = bench([backend("a", busy(999_999)), backend("b")]);
    await run(core, "chat", hello);
    expect(stateOf(core, "a").outForMs).toBe(3_600_000);
  });
});

describe("a target that is about to leave", () => {
  const leaves = fails("unavailable", { retryAfter: 5, leaving: true });
  it("rests while there are others", async () => {
    const a = backend("a", inTurn(leaves, says("a")));
    const { core, clock } = bench([a, backend("b")]);
    for (let i = 0; i < 3; i++) expect(await textOf(run(core, "chat", hello))).toBe("b");
    expect(a.asked.length).toBe(1);
    await clock.advance(5000);
    expect(await textOf(run(core, "chat", hello))).toBe("a");
  });
  it("is asked rather than nobody, and takes calls again once one was answered", async () => {
    const a = backend("a", inTurn(leaves, says("new a")));
    const b = backend("b", inTurn(says("b"), leaves));
    const { core, clock } = bench([a, b]);
    expect(await textOf(run(core, "chat", hello))).toBe("b");
    // Another has taken its place.
    await clock.advance(1);
    expect(await textOf(run(core, "chat", hello))).toBe("new a");
    expect(stateOf(core, "a")).toMatchObject({ state: "in" });
    expect(stateOf(core, "b")).toMatchObject({ state: "resting" });
  });
  it("is waited for where nobody else is, also while old calls end there", async () => {
    const [old, young] = [gate("old"), gate("young")];
    const a = backend("a", inTurn(old.handle, leaves, young.handle));
    const { core, clock } = bench([a], { maxInFlight: 2 });
    const ask = () => textOf(run(core, "chat", hello));
    const first = ask();
    await settled();
    await expect(ask()).rejects.toEqual(failure("unavailable"));
    await clock.advance(1);
    const others = [ask(), ask(), ask()];
    await settled();
    expect([young.begun, stateOf(core, "a").waiting]).toEqual([1, 2]);
    old.open();
    expect(await first).toBe("old");
    await settled();
    expect([young.begun, stateOf(core, "a").waiting]).toEqual([2, 1]);
    for (let i = 0; i < 3; i++) {
      young.open();
      await settled();
    }
    expect(await Promise.all(others)).toEqual(["young", "young", "young"]);
  });
  it("is left alone where what took its place asks for that", async () => {
    const a = backend("a", inTurn(leaves, fails("rate_limited", { retryAfter: 30 })));
    const { core, clock } = bench([a]);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("unavailable"));
    await clock.advance(1);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("rate_limited"));
    for (let i = 0; i < 2; i++) {
      await expect(run(core, "chat", hello)).rejects.toEqual(
        failure("unavailable", { retryAfter: 30 }),
      );
    }
    expect(a.asked.length).toBe(2);
  });
  it.each([0, 1])("is no worse for calls that it answers still, %i ms on", async (ms) => {
    const door = gate("old a");
    const a = backend("a", inTurn(door.handle, leaves));
    const { core, clock } = bench([a, backend("b")]);
    const old = textOf(run(core, "chat", hello));
    await clock.advance(ms);
    expect(await textOf(run(core, "chat", hello))).toBe("b");
    door.open();
    expect(await old).toBe("old a");
    expect(stateOf(core, "a")).toMatchObject({ state: "resting" });
  });
  it("does not count as failed, however often it is asked, and once for each call", async () => {
    const a = backend("a", leaves);
    const { core } = bench([a]);
    for (let i = 0; i < 20; i++) {
      await expect(run(core, "chat", hello)).rejects.toEqual(
        // The next call goes there again.
        failure("unavailable", { retryAfter: 1 }),
      );
    }
    expect(a.asked.length).toBe(20);
    expect(stateOf(core, "a")).toMatchObject({ state: "resting", failures: 0 });
  });
  it("is left alone where it asked for that besides", async () => {
    const busy = fails("rate_limited", { retryAfter: 30 });
    const door = gate();
    const a = backend("a", inTurn(door.handle, busy));
    const { core, clock } = bench([a], { retry: { attempts: 1 } });
    const first = run(core, "chat", hello);
    await settled();
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("rate_limited"));
    await clock.advance(1);
    door.fail(new LintelError("unavailable", "it leaves", { retryAfter: 5, leaving: true }));
    await expect(first).rejects.toEqual(failure("unavailable"));
    expect(stateOf(core, "a").outForMs).toBe(29_999);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("unavailable"));
    expect(a.asked.length).toBe(2);
  });
  it("is left alone no longer than its successor asks for", async () => {
    const busy = fails("rate_limited", { retryAfter: 1 });
    const { core, clock } = bench([backend("a", inTurn(leaves, busy))], { retry: { attempts: 1 } });
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("unavailable"));
    await clock.advance(1);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("rate_limited"));
    expect(stateOf(core, "a").outForMs).toBe(1000);
  });
  it("is no second one for a hedge", async () => {
    const b = backend("b", leaves);
    const door = gate("a");
    let slow = false;
    const a = backend("a", (call) => (slow ? door.handle : says("a"))(call));
    const hedge = { percentile: 95, leastMs: 50 };
    const { core, clock } = bench([a, b], { hedge, maxInFlight: 1 });
    for (let i = 0; i < 20; i++) await run(core, "chat", hello);
    slow = true;
    const first = run(core, "chat", hello);
    await clock.advance(50);
    expect(b.asked.length).toBe(1);
    door.open();
    await first;
    const again = run(core, "chat", hello);
    await clock.advance(50);
    expect(b.asked.length).toBe(1);
    door.open();
    await again;
  });
});

describe("what is told of attempts", () => {
  it("number, targets, outcomes and times; to the caller, the number", async () => {
    const lines: Attributes[] = [];
    const log = { ...silent, info: (fields: object) => lines.push(fields as Attributes) };
    const clock = new FakeClock();
    const all = [
      backend("a", async function* () {
        await new Promise<void>((resolve) => clock.after(40, resolve));
        throw new LintelError("unavailable", "away");
      }),
      backend("b", async function* (call) {
        await new Promise<void>((resolve) => clock.after(25, resolve));
        yield* says("b")(call);
      }),
    ];
    const core = coreOf(all, {}, { clock, random: () => 0, log });
    const request = create(LLMRequestSchema, hello);
    const { signal } = new AbortController();
    const running = core.call("chat", request, { door: "test", credential: "me", signal });
    const answer = (async () => {
      for await (const _ of running.messages);
    })();
    await clock.advance(100);
    await answer;
    expect(running.metadata.get("x-lintel-attempts")).toBe("2");
    expect(lines[0]).toMatchObject({
      backend: "b",
      attempts: 2,
      retries: 1,
      tried: [
        { backend: "a", model: "m", outcome: "unavailable", durationMs: 40 },
        { backend: "b", model: "m", outcome: "ok", firstMs: 25, durationMs: 25 },
      ],
    });
    for (const { startedAt } of lines[0]?.tried ?? []) {
      expect(Math.abs(startedAt - Date.now())).toBeLessThan(60_000);
    }
    expect(stateOf(core, "b")).toMatchObject({
      firstMs: { p50: 25, p99: 25 },
      totalMs: { p50: 25 },
    });
  });
  it("further images of one request are no retries", async () => {
    const one = scripted({ streamTextToImage: paints() }, [imageModel("i", { supports: [] })]);
    const core = coreOf([one]);
    const request = create(TextToImageRequestSchema, { prompt: "a|b|c" });
    const { signal } = new AbortController();
    const running = core.call("textToImage", request, { door: "test", credential: "me", signal });
    for await (const _ of running.messages);
    expect(one.asked.length).toBe(3);
    expect(running.metadata.get("x-lintel-attempts")).toBe("1");
  });
});
