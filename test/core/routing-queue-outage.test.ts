/** Calls that wait for room while some of their targets are out, or have full queues. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import type { CoreParts } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import { gate as closed } from "../support/calls.js";
import { FakeClock, settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import { backend, bench, failure, gate, hello, stateOf, textOf } from "../support/routing.js";
import { paints, scripted } from "../support/scripted.js";

const gone = () => new LintelError("upstream_unreachable", "the model server went away");

/** `x` at `a`, and at `b` where that fails; `y` at `b` alone. One call at a time at each, one that waits. */
function shared(size = 1, parts: Partial<CoreParts> = {}) {
  const doors = { a: gate("a"), b: gate("b") };
  const all = [backend("a", doors.a.handle), backend("b", doors.b.handle)];
  const { core, clock } = bench(
    all,
    {
      maxInFlight: 1,
      queue: { size, timeoutMs: 30_000 },
      health: { failures: 1, firstPauseMs: 60_000 },
    },
    [
      {
        name: "x",
        targets: [
          { backend: "a", model: "m" },
          { backend: "b", model: "m", priority: 1 },
        ],
      },
      { name: "y", targets: [{ backend: "b", model: "m" }] },
    ],
    parts,
  );
  /** What came of a call. */
  const ask = async (model: string, credential = model) => {
    const answer = textOf(run(core, "chat", { ...hello, model }, { credential })).catch(
      (error: unknown) => error,
    );
    await settled();
    return { answer };
  };
  const outOfA = async () => {
    doors.a.fail(gone());
    await settled();
    expect(stateOf(core, "a").state).toBe("out");
  };
  return { core, clock, ask, outOfA, ...doors };
}

const overloaded = failure("overloaded", { retryAfter: expect.any(Number) });

describe("while a target is out", () => {
  it("who finds the queues of all others full is told so at once, also after an attempt of his own", async () => {
    const { core, clock, ask, outOfA, b } = shared();
    const first = await ask("x");
    const others = [await ask("y"), await ask("y")];
    await outOfA();
    expect(await first.answer).toEqual(overloaded);
    const { answer } = await ask("x");
    expect(await answer).toEqual(overloaded);
    expect(stateOf(core, "a").waiting).toBe(0);
    for (const other of others) {
      b.open();
      expect(await other.answer).toBe("b");
      await settled();
    }
    expect(clock.timers).toBe(0);
  });
  it("who waited for it goes on to wait for another one for what remains of the time", async () => {
    const { core, clock, ask, outOfA, b } = shared(3);
    await ask("x");
    for (let i = 0; i < 4; i++) await ask("y");
    const waits = await ask("x", "y");
    expect([stateOf(core, "a").waiting, stateOf(core, "b").waiting]).toEqual([1, 3]);
    await clock.advance(20_000);
    for (let i = 0; i < 2; i++) {
      b.open();
      await settled();
    }
    await outOfA();
    await clock.advance(9_999);
    expect(stateOf(core, "b").waiting).toBe(3);
    await clock.advance(1);
    expect(await waits.answer).toEqual(failure("unavailable"));
  });
  it("who was answered with a failure has all the time to wait for another one", async () => {
    const { core, clock, ask, outOfA, a, b } = shared(3);
    await ask("x");
    await ask("y");
    const waits = await ask("x", "y");
    await clock.advance(20_000);
    a.open();
    await settled();
    await outOfA();
    await clock.advance(29_999);
    expect(stateOf(core, "b").waiting).toBe(1);
    for (let i = 0; i < 2; i++) {
      b.open();
      await settled();
    }
    expect(await waits.answer).toBe("b");
  });
  it("who loses his place at the only one that takes calls is told so at once", async () => {
    const { core, ask, outOfA } = shared(3);
    await ask("x", "first");
    await ask("y", "first");
    await outOfA();
    await ask("x", "greedy");
    const last = await ask("x", "greedy");
    expect(stateOf(core, "b").waiting).toBe(3);
    await ask("y", "modest");
    expect(await last.answer).toEqual(failure("rate_limited"));
  });
});

it("who waited for a target that can't do it waits for another one for what remains of the time", async () => {
  const [a, b] = [gate("a"), gate("b")];
  const small = scripted({ chat: a.handle }, [chatModel("m", { maxTokens: 10 })], "a");
  const queue = { timeoutMs: 30_000 };
  const { core, clock } = bench([small, backend("b", b.handle)], { maxInFlight: 1, queue });
  const busy = [run(core, "chat", hello), run(core, "chat", hello)];
  await settled();
  const waits = run(core, "chat", { ...hello, maxTokens: 20 }).catch((error: unknown) => error);
  await clock.advance(20_000);
  a.open();
  await clock.advance(9_999);
  expect([a.begun, stateOf(core, "b").waiting]).toEqual([1, 1]);
  await clock.advance(1);
  expect(await waits).toEqual(failure("unavailable"));
  b.open();
  await Promise.all(busy);
});

describe("while a call tries whether a target is back", () => {
  /** Images of a target that was out; one call tries it, and three wait. */
  async function tried() {
    const doors: ((error?: Error) => void)[] = [];
    const drawn = closed();
    const draw: Handle<"streamTextToImage"> = async function* (call) {
      await new Promise<void>((resolve, reject) => {
        doors.push((error) => (error ? reject(error) : resolve()));
        call.signal.addEventListener("abort", () => reject(call.signal.reason), { once: true });
      });
      yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2 })];
      await drawn.opened;
      yield* paints()(call);
    };
    const one = scripted({ streamTextToImage: draw }, [imageModel("m")], "one");
    const health = { failures: 1, firstPauseMs: 1000 };
    const { core, clock } = bench([one], { health, retry: { attempts: 1 } });
    const ask = async (more: object = {}) => {
      const answer = run(core, "textToImage", { prompt: "a" }, more).catch((error) => error);
      await settled();
      return answer;
    };
    const first = ask();
    await settled();
    doors.shift()?.(gone());
    expect(await first).toEqual(failure("upstream_unreachable"));
    expect(await ask()).toEqual(failure("unavailable"));
    await clock.advance(1000);
    const leaving = new AbortController();
    const trying = ask({ signal: leaving.signal });
    await settled();
    const waiting = [ask(), ask(), ask()];
    await settled();
    expect(stateOf(core, "one")).toMatchObject({ state: "probing", inFlight: 1, waiting: 3 });
    const leave = () => leaving.abort();
    return { core, clock, doors, draw: drawn.open, trying, waiting, leave };
  }

  it("images wait for what comes of it, and are made with the first step that it tells of", async () => {
    const { core, doors, draw, trying, waiting, clock } = await tried();
    doors.shift()?.();
    await settled();
    expect(stateOf(core, "one")).toMatchObject({ state: "in", inFlight: 4, waiting: 0 });
    draw();
    for (const door of doors) door();
    for (const answer of [trying, ...waiting]) {
      expect(await answer).toMatchObject([{ images: [expect.anything()] }]);
    }
    expect(clock.timers).toBe(0);
  });
  it("images are refused at once where it fails", async () => {
    const { core, doors, trying, waiting, clock } = await tried();
    doors.shift()?.(gone());
    expect(await trying).toEqual(failure("upstream_unreachable"));
    const refused = failure("unavailable", { retryAfter: expect.any(Number) });
    expect(await Promise.all(waiting)).toEqual([refused, refused, refused]);
    expect(stateOf(core, "one")).toMatchObject({ state: "out", inFlight: 0, waiting: 0 });
    expect(clock.timers).toBe(0);
  });
  it("the next one tries it where its caller leaves", async () => {
    const { core, doors, leave } = await tried();
    leave();
    await settled();
    expect(stateOf(core, "one")).toMatchObject({ state: "probing", inFlight: 1, waiting: 2 });
    expect(doors.length).toBe(2);
  });
  it("who chats is told at once", async () => {
    const { handle, fail, open } = gate("a");
    const health = { failures: 1, firstPauseMs: 1000 };
    const { core, clock } = bench([backend("a", handle)], { health, retry: { attempts: 1 } });
    const first = run(core, "chat", hello).catch(() => {});
    await settled();
    fail(gone());
    await first;
    await clock.advance(1000);
    const trying = textOf(run(core, "chat", hello));
    await settled();
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("unavailable"));
    open();
    expect(await trying).toBe("a");
  });
});

describe("while the queue of a target is full", () => {
  it("who waits at another one takes a place there once there is one, and is served", async () => {
    const { core, ask, b } = shared();
    await ask("x");
    const other = await ask("y");
    const full = await ask("y");
    const waits = await ask("x");
    expect([stateOf(core, "a").waiting, stateOf(core, "b").waiting]).toEqual([1, 1]);
    b.open();
    expect(await other.answer).toBe("b");
    expect([stateOf(core, "a").waiting, stateOf(core, "b").waiting]).toEqual([1, 1]);
    for (const next of [full, waits]) {
      b.open();
      expect(await next.answer).toBe("b");
      await settled();
    }
    expect([stateOf(core, "a").waiting, stateOf(core, "b").waiting]).toEqual([0, 0]);
  });
  it("who lost his place there gets one again", async () => {
    const { core, ask, b } = shared(2);
    for (const model of ["x", "y", "x", "x"]) await ask(model, "greedy");
    await ask("y", "modest");
    expect([stateOf(core, "a").waiting, stateOf(core, "b").waiting]).toEqual([2, 2]);
    b.open();
    await settled();
    expect([stateOf(core, "a").waiting, stateOf(core, "b").waiting]).toEqual([1, 2]);
    for (let i = 0; i < 3; i++) {
      b.open();
      await settled();
    }
    expect([stateOf(core, "a").waiting, stateOf(core, "b").waiting]).toEqual([0, 0]);
    expect(stateOf(core, "b").inFlight).toBe(0);
  });
});

describe("while a target wants to be left alone", () => {
  it("its queue goes on, though a timer ran out a moment early", async () => {
    /** Node's own count whole milliseconds. */
    class Early extends FakeClock {
      override after(ms: number, run: () => void) {
        return super.after(Math.max(ms / 2, ms - 0.5), run);
      }
    }
    const clock = new Early();
    const { ask, a } = shared(3, { clock });
    await ask("x", "me");
    await ask("y", "me");
    const waits = await ask("x", "me");
    a.fail(new LintelError("rate_limited", "slow down", { retryAfter: 1, retry: "anywhere" }));
    await clock.advance(990);
    expect(a.begun).toBe(1);
    await clock.advance(10);
    expect(a.begun).toBe(2);
    a.open();
    expect(await waits.answer).toBe("a");
  });
  it.each([
    ["a moment, its queue waits", 1, "a"],
    ["longer than they may wait, its queue is empty", 60, overloaded],
  ])("for %s", async (_, retryAfter, expected) => {
    const { clock, ask, a } = shared(3);
    // All of one caller: nobody gives a place in the other's queue up to another.
    await ask("x", "me");
    for (let i = 0; i < 4; i++) await ask("y", "me");
    const waiting = [await ask("x", "me"), await ask("x", "me")];
    a.fail(new LintelError("rate_limited", "slow down", { retryAfter, retry: "anywhere" }));
    await settled();
    await clock.advance(1100);
    for (let i = 0; i < 6; i++) {
      a.open();
      await settled();
    }
    expect(await Promise.all(waiting.map(({ answer }) => answer))).toEqual([expected, expected]);
  });
});
