import { expect, test } from "vitest";
import { CurrentCore } from "../../src/core/current.js";
import { LintelError } from "../../src/core/errors.js";
import { outcome, start } from "../support/calls.js";
import { FakeClock, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { gate, routing, textOf } from "../support/routing.js";
import { breaksAfter, hangsAfter, says, scripted } from "../support/scripted.js";

const hello = { model: "chat-1", messages: [{ role: "user", content: "Hi" }] };

test("numbers of a target go on over a reload, with calls that began before it", async () => {
  const fails = breaksAfter(new LintelError("upstream_failed", "broken"));
  const core = new CurrentCore(coreOf([scripted({ chat: fails })]));
  const target = () => {
    const [first] = core.routing.snapshot().endpoints;
    return [first?.attempts, first?.failures, first?.inFlight];
  };
  await outcome(core, "chat", hello);
  expect(target()).toEqual([1, 1, 0]);

  const { handle } = hangsAfter("Hel");
  await core.replace(coreOf([scripted({ chat: handle })]));
  expect(target()).toEqual([1, 1, 0]);
  const caller = new AbortController();
  const before = outcome(core, "chat", hello, { signal: caller.signal });
  await settled();
  const replaced = core.replace(coreOf([scripted({ chat: says("Hello") })]));
  await settled();
  expect(target()).toEqual([1, 1, 1]);

  expect((await outcome(core, "chat", hello)).code).toBe("ok");
  caller.abort();
  expect((await before).code).toBe("cancelled");
  await replaced;
  expect(target()).toEqual([3, 1, 0]);
});

test("a call that was handed over just before a reload, and begins just after it, is waited for", async () => {
  const { handle } = hangsAfter("Hel");
  const core = new CurrentCore(coreOf([scripted({ chat: handle })]));
  const caller = new AbortController();
  const { messages } = start(core, "chat", hello, { signal: caller.signal });
  let ended = false;
  const replaced = core.replace(coreOf([scripted({ chat: says("Hello") })])).then(() => {
    ended = true;
  });
  const steps = messages[Symbol.asyncIterator]();
  await steps.next();
  await settled();
  expect([ended, core.readiness.running]).toEqual([false, 1]);
  caller.abort();
  await expect(steps.next()).rejects.toMatchObject({ code: "cancelled" });
  await replaced;
});

test("calls that wait over a reload go to a target that is well again, and are asked for alone", async () => {
  const clock = new FakeClock();
  let well = false;
  const questions = { a: 0, b: 0 };
  const busy = gate("a");
  const all = [
    scripted({ chat: busy.handle }, [chatModel("m")], "a", {
      health: async () => void questions.a++,
    }),
    scripted({ chat: says("b") }, [chatModel("m")], "b", {
      health: async () => {
        questions.b++;
        if (!well) throw new LintelError("upstream_unreachable", "gone");
      },
    }),
  ];
  const check = { intervalMs: 1000, timeoutMs: 500 };
  const checked = { maxInFlight: 1, health: { firstPauseMs: 60_000, check } };
  const core = new CurrentCore(coreOf(all, { routing: routing(checked) }, { clock }));
  core.routing.start();
  await clock.advance(3000);
  const request = { messages: [{ role: "user", content: "Hi" }] };
  const first = run(core, "chat", request);
  await settled();
  const waits = textOf(run(core, "chat", request));
  await settled();
  const replaced = core.replace(coreOf(all, { routing: routing({ maxInFlight: 1 }) }, { clock }));
  well = true;
  await clock.advance(1000);
  expect(await waits).toBe("b");
  const asked = { ...questions };
  await clock.advance(2000);
  expect(questions).toEqual(asked);
  busy.open();
  await first;
  await replaced;
  expect(clock.timers).toBe(0);
});

test("calls that come to wait after a reload go to a target that is well again, too", async () => {
  const clock = new FakeClock();
  let well = false;
  const busy = gate("a");
  const fails = gate("c");
  const health = async () => {
    if (!well) throw new LintelError("upstream_unreachable", "gone");
  };
  const all = [
    scripted({ chat: busy.handle }, [chatModel("m")], "a"),
    scripted({ chat: says("b") }, [chatModel("m")], "b", { health }),
    scripted({ chat: fails.handle }, [chatModel("m")], "c"),
  ];
  const check = { intervalMs: 1000, timeoutMs: 500 };
  const checked = { maxInFlight: 1, health: { firstPauseMs: 60_000, check } };
  const core = new CurrentCore(coreOf(all, { routing: routing(checked) }, { clock }));
  core.routing.start();
  await clock.advance(3000);
  const request = { messages: [{ role: "user", content: "Hi" }] };
  const told: string[] = [];
  const both = [1, 2].map(async () => told.push(await textOf(run(core, "chat", request))));
  await settled();
  const replaced = core.replace(coreOf(all, { routing: routing({ maxInFlight: 1 }) }, { clock }));
  await clock.advance(2000);
  fails.fail(new LintelError("upstream_failed", "no such model", { retry: "elsewhere" }));
  await settled();
  well = true;
  await clock.advance(1000);
  expect(told).toEqual(["b"]);
  busy.open();
  await Promise.all(both);
  await replaced;
  expect(clock.timers).toBe(0);
});
