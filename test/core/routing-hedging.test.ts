/** A second target is asked where the first is slow. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { type Logger, silent } from "../../src/core/log.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { FakeClock, seeded, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import {
  backend,
  fails,
  failure,
  gate,
  hello,
  inTurn,
  routing,
  type Some,
  stateOf,
  textOf,
} from "../support/routing.js";
import { hangsAfter, piece, says } from "../support/scripted.js";

/** Two targets of which the first has long enough taken 100 ms to begin; then it does as it is told. */
async function warm(
  chat: Handle<"chat">,
  more: Some = {},
  log: Logger = silent,
  parts: Parameters<typeof coreOf>[2] = {},
) {
  const clock = new FakeClock();
  const usual: Handle<"chat"> = async function* (call) {
    await new Promise<void>((resolve) => clock.after(100, resolve));
    yield* says("usual")(call);
  };
  const second = gate("second");
  const all = [
    backend("a", inTurn(...Array<Handle<"chat">>(20).fill(usual), chat)),
    backend("b", second.handle),
  ];
  const settings = { routing: routing({ hedge: { percentile: 90, leastMs: 50 }, ...more }) };
  const core = coreOf(all, settings, { clock, random: seeded(1), log, ...parts });
  for (let i = 0; i < 20; i++) {
    const answer = run(core, "chat", hello);
    await clock.advance(100);
    await answer;
  }
  return { core, clock, all, second };
}

/** Expects that only the first target is asked, however slow it is. */
async function asksNoSecond(more: Some) {
  const first = gate("first");
  const { core, clock, second } = await warm(first.handle, more);
  const answer = textOf(run(core, "chat", hello));
  await clock.advance(10_000);
  expect(second.begun).toBe(0);
  first.open();
  expect(await answer).toBe("first");
}

describe("hedging", () => {
  it("costs what the one that answers was asked for, in its tier of service", async () => {
    const first = gate("first");
    const spends: (number | undefined)[] = [];
    const sink = { keep: async ({ spend }: UsageRecord) => void spends.push(spend) };
    const prices = [
      { model: "*", target: { backend: "a" }, output: 10, tiers: { flex: { output: 4 } } },
      { model: "*", output: 100 },
    ];
    const parts = { prices, usage: { sink, prices } };
    const { core, clock, second, all } = await warm(first.handle, {}, silent, parts);
    spends.length = 0;
    const answer = run(core, "chat", { ...hello, serviceTier: "flex" });
    await clock.advance(100);
    expect(second.begun).toBe(1);
    first.open();
    const messages = await answer;
    expect(messages.at(-1)?.usage?.completionTokens).toBe(1);
    expect(all.map(({ asked }) => asked.at(-1))).toMatchObject([
      { serviceTier: "flex" },
      { serviceTier: "" },
    ]);
    expect(spends).toEqual([4000]);
  });

  it("asks a second target after the usual time; the slower one is aborted and counts for nothing", async () => {
    const { handle, aborted } = hangsAfter();
    const { core, clock, all, second } = await warm(handle);
    const { signal } = new AbortController();
    const request = create(LLMRequestSchema, hello);
    const running = core.call("chat", request, { door: "test", credential: "me", signal });
    const answer = (async () => {
      const messages = [];
      for await (const batch of running.messages) messages.push(...batch);
      return messages;
    })();
    await clock.advance(99);
    expect(second.begun).toBe(0);
    await clock.advance(1);
    expect(second.begun).toBe(1);
    second.open();
    const messages = await answer;
    expect(messages.map((m) => m.choices[0]?.delta?.content).join("")).toBe("second");
    expect(messages.at(-1)?.usage?.completionTokens).toBe(1);
    await aborted;
    expect(running.metadata.get("x-lintel-attempts")).toBe("2");
    expect(stateOf(core, "a")).toMatchObject({ inFlight: 0, failures: 0, state: "in" });
    expect(stateOf(core, "b")).toMatchObject({ inFlight: 0 });
    expect(all.map((it) => it.asked.length)).toEqual([21, 1]);
    expect(clock.timers).toBe(0);
  });
  it("asks no second target before the least time, however fast the first one usually is", async () => {
    const first = gate("first");
    const { core, clock, second } = await warm(first.handle, { hedge: { leastMs: 300 } });
    const answer = textOf(run(core, "chat", hello));
    await clock.advance(299);
    expect(second.begun).toBe(0);
    await clock.advance(1);
    expect(second.begun).toBe(1);
    first.open();
    expect(await answer).toBe("first");
  });
  it("the first one may still win", async () => {
    const first = gate("first");
    const lines: object[] = [];
    const log = { ...silent, info: (fields: object) => void lines.push(fields) };
    const { core, clock, second } = await warm(first.handle, {}, log);
    const answer = textOf(run(core, "chat", hello));
    await clock.advance(100);
    first.open();
    expect(await answer).toBe("first");
    await settled();
    expect(lines.at(-1)).toMatchObject({ backend: "a", attempts: 2 });
    expect(second.signals[0]?.aborted).toBe(true);
    expect(stateOf(core, "b").inFlight).toBe(0);
  });
  it("the slower one lets go of what it holds, though it was answered as well", async () => {
    let [come, freed] = [() => {}, () => {}];
    const released = new Promise<void>((resolve) => {
      freed = resolve;
    });
    const deaf = async function* () {
      try {
        await new Promise<void>((resolve) => {
          come = resolve;
        });
        yield [piece("late")];
      } finally {
        freed();
        // Nobody hears of what goes wrong there.
        await Promise.reject(new Error("broken"));
      }
    };
    const { core, clock, second } = await warm(deaf);
    const answer = textOf(run(core, "chat", hello));
    await clock.advance(100);
    second.open();
    expect(await answer).toBe("second");
    come();
    await released;
    await settled();
  });
  it("one that fails leaves the call to the other", async () => {
    for (const code of ["unavailable", "upstream_failed"] as const) {
      for (const loser of ["first", "second"]) {
        const first = gate("first");
        const { core, clock, second } = await warm(first.handle);
        const answer = textOf(run(core, "chat", hello));
        await clock.advance(100);
        const [bad, good] = loser === "first" ? [first, second] : [second, first];
        bad.fail(new LintelError(code, "away"));
        await settled();
        good.open();
        expect(await answer).toBe(loser === "first" ? "second" : "first");
      }
    }
  });
  it("when both fail, and one of them as no other attempt may follow, none does", async () => {
    for (const codes of [
      ["upstream_failed", "unavailable"],
      ["unavailable", "upstream_failed"],
    ] as const) {
      const first = gate("first");
      const { core, clock, all, second } = await warm(first.handle);
      const answer = run(core, "chat", hello).catch((error: unknown) => error);
      await clock.advance(100);
      for (const [i, one] of [first, second].entries()) {
        one.fail(new LintelError(codes[i] ?? "internal", "broken"));
        await settled();
      }
      expect(await answer).toEqual(failure("upstream_failed"));
      expect(all.map((it) => it.asked.length)).toEqual([21, 1]);
    }
  });
  it("when both fail, another attempt follows", async () => {
    const first = gate("first");
    const { core, clock, second } = await warm(first.handle);
    const answer = textOf(run(core, "chat", hello));
    await clock.advance(100);
    for (const one of [first, second]) {
      one.fail(new LintelError("unavailable", "away"));
      await settled();
    }
    await clock.advance(100);
    first.open();
    second.open();
    expect(["first", "second"]).toContain(await answer);
  });
  it("what no target can do ends both", async () => {
    const first = gate("first");
    const { core, clock, second } = await warm(first.handle);
    const answer = run(core, "chat", hello).catch((error: unknown) => error);
    await clock.advance(100);
    second.fail(new LintelError("invalid_value", "too long"));
    expect(await answer).toEqual(failure("invalid_value"));
    expect(first.signals[0]?.aborted).toBe(true);
    expect(["a", "b"].map((name) => stateOf(core, name).inFlight)).toEqual([0, 0]);
  });
  it("a failure that ends both is the one's alone, and told once", async () => {
    const lines: unknown[] = [];
    const log = { ...silent, debug: (fields: object) => lines.push(fields) };
    const first = gate("first");
    const { core, clock } = await warm(first.handle, {}, log);
    const answer = run(core, "chat", hello).catch((error: unknown) => error);
    await clock.advance(100);
    const before = stateOf(core, "b");
    first.fail(new LintelError("too_large", "too long", { retry: "never" }));
    expect(await answer).toEqual(failure("too_large"));
    expect(stateOf(core, "a")).toMatchObject({ inFlight: 0, attempts: 21, failures: 0 });
    expect(before).toMatchObject({ inFlight: 1, failures: 0 });
    expect(stateOf(core, "b")).toMatchObject({ inFlight: 0, attempts: 1, failures: 0 });
    expect(lines).toEqual([expect.objectContaining({ backend: "a", code: "too_large" })]);
    expect(clock.timers).toBe(0);
  });
  it("a caller who leaves ends both", async () => {
    const { handle, aborted } = hangsAfter();
    const { core, clock, second } = await warm(handle);
    const controller = new AbortController();
    const answer = run(core, "chat", hello, { signal: controller.signal });
    await clock.advance(100);
    controller.abort();
    await expect(answer).rejects.toEqual(failure("cancelled"));
    await aborted;
    expect(second.signals[0]?.aborted).toBe(true);
    expect(["a", "b"].map((name) => stateOf(core, name).inFlight)).toEqual([0, 0]);
  });
  it("asks no second target that is out, though one call might try it", async () => {
    const chat = inTurn(fails("rate_limited"), hangsAfter().handle);
    const { core, clock, second } = await warm(chat, { health: { failures: 1 } });
    const failed = run(core, "chat", hello).catch((error: unknown) => error);
    await clock.advance(100);
    second.fail(new LintelError("upstream_failed", "broken"));
    expect(await failed).toEqual(failure("upstream_failed"));
    await clock.advance(1000);
    expect(stateOf(core, "b")).toMatchObject({ state: "due", outForMs: 0 });
    const answer = run(core, "chat", hello).catch(() => {});
    await clock.advance(10_000);
    expect(stateOf(core, "a").inFlight).toBe(1);
    expect(second.begun).toBe(1);
    core.abort();
    await answer;
  });
  it("is one of the attempts that a call may make", async () => {
    await asksNoSecond({ retry: { attempts: 1 } });
  });
  it("knows of one that was given up how slow it is where it was asked first", async () => {
    const first = gate("first");
    const { core, clock, second } = await warm(inTurn(first.handle, hangsAfter().handle));
    const won = textOf(run(core, "chat", hello));
    await clock.advance(130);
    first.open();
    expect(await won).toBe("first");
    // Asked 100 ms later, and given up after 30: that says nothing of its own time.
    expect(stateOf(core, "b").firstMs).toBeUndefined();
    const lost = textOf(run(core, "chat", hello));
    await clock.advance(200);
    second.open();
    await clock.advance(0);
    expect(await lost).toBe("second");
    expect(stateOf(core, "a").firstMs?.p99).toBe(200);
  });
  it("is bound by the budget of retries, and not done for whole answers", async () => {
    await asksNoSecond({ retry: { budget: 0, floor: 0 } });
    const whole = await warm(gate().handle);
    const complete = run(whole.core, "complete", hello).catch(() => {});
    await whole.clock.advance(10_000);
    expect(whole.second.begun).toBe(0);
    whole.core.abort();
    await complete;
  });
});
