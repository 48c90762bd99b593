/** What mirrored calls may take: how many at once, for how long, of whose room, and until when. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { backend, fails, gate, hello, inTurn, stateOf, textOf } from "../support/routing.js";
import { hangsAfter, piece, says, scripted } from "../support/scripted.js";
import { mirroring, outcomes, reasons } from "./mirroring.js";

const ask = { ...hello, model: "m" };

/** Makes calls one after the other; what each brings has happened then, but for what waits. */
async function calls(core: Parameters<typeof run>[0], count: number) {
  for (let i = 0; i < count; i++) {
    await run(core, "chat", ask);
    await settled();
  }
}

describe("the bound of a mirror", () => {
  it("is for what runs at once: further calls are not mirrored, and counted", async () => {
    const slow = gate();
    const it = mirroring(slow.handle, { mirror: { maxInFlight: 2 } });
    await calls(it.core, 4);
    expect(slow.begun).toBe(2);
    expect(reasons(it.passedOver)).toEqual(["full", "full"]);
    slow.open();
    await settled();
    await calls(it.core, 1);
    expect(slow.begun).toBe(3);
    slow.open();
    slow.open();
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["ok", "ok", "ok"]);
  });
  it("is 16 where nothing is said", async () => {
    const slow = gate();
    const it = mirroring(slow.handle);
    await calls(it.core, 17);
    expect([slow.begun, ...reasons(it.passedOver)]).toEqual([16, "full"]);
    it.core.abort();
  });
});

describe("a mirror where real calls go, too", () => {
  it("gets none while these take all places, and takes none itself", async () => {
    const slow = gate("s");
    const it = mirroring(slow.handle, { routing: { maxInFlight: 1 } });
    const real = textOf(run(it.core, "chat", { ...hello, model: "s" }));
    await settled();
    expect(stateOf(it.core, "shadow", "s").inFlight).toBe(1);
    await calls(it.core, 1);
    expect(reasons(it.passedOver)).toEqual(["full"]);
    slow.open();
    expect(await real).toBe("s");
    await calls(it.core, 1);
    expect(slow.begun).toBe(2);
    // It runs there, and a real one need not wait for that.
    expect(stateOf(it.core, "shadow", "s")).toMatchObject({ inFlight: 0, attempts: 1 });
    const second = textOf(run(it.core, "chat", { ...hello, model: "s" }));
    await settled();
    expect(slow.begun).toBe(3);
    slow.open();
    slow.open();
    expect(await second).toBe("s");
    await it.core.idle();
  });
  it("takes no target out by its failures, and gets none while the target is out", async () => {
    const it = mirroring(fails("unavailable"), { routing: { health: { failures: 2 } } });
    await calls(it.core, 2);
    expect(outcomes(it.answered)).toEqual(["unavailable", "unavailable"]);
    expect(stateOf(it.core, "shadow", "s")).toMatchObject({ state: "in", attempts: 0 });
    const other = mirroring(fails("unavailable"), { routing: { health: { failures: 1 } } });
    await expect(run(other.core, "chat", { ...hello, model: "s" })).rejects.toThrow();
    expect(stateOf(other.core, "shadow", "s").state).toBe("out");
    await calls(other.core, 1);
    expect(reasons(other.passedOver)).toEqual(["out"]);
  });
});

describe("a mirror whose model is not there yet", () => {
  it.each([State.LOADING, State.FAILED])(
    "state %i: gets none, and loads for none",
    async (state) => {
      const model = { ...chatModel("s"), state };
      const it = mirroring(scripted({ chat: says("x") }, [model], "shadow"));
      await calls(it.core, 1);
      expect(reasons(it.passedOver)).toEqual(["out"]);
      expect(it.shadow.asked).toEqual([]);
    },
  );
});

describe("a mirror that fails", () => {
  it("is left alone after some failures in a row, and tried again after a while", async () => {
    const health = { failures: 2, firstPauseMs: 1000 };
    const down = fails("upstream_unreachable");
    const it = mirroring(inTurn(down, down, says("x")), { routing: { health } });
    await calls(it.core, 4);
    expect(it.shadow.asked).toHaveLength(2);
    expect(reasons(it.passedOver)).toEqual(["out", "out"]);
    expect(it.said("a mirror was taken out")).toMatchObject([{ backend: "shadow", model: "s" }]);
    expect(it.said("a target was taken out")).toEqual([]);
    await it.clock.advance(1000);
    await calls(it.core, 2);
    expect(outcomes(it.answered)).toEqual([
      "upstream_unreachable",
      "upstream_unreachable",
      "ok",
      "ok",
    ]);
    expect(it.said("a mirror is back")).toHaveLength(1);
  });
  it("is left alone for as long as it asks for", async () => {
    const busy = fails("rate_limited", { retryAfter: 5 });
    const it = mirroring(inTurn(busy, says("x")));
    await calls(it.core, 2);
    expect(reasons(it.passedOver)).toEqual(["out"]);
    await it.clock.advance(5000);
    await calls(it.core, 1);
    expect(outcomes(it.answered)).toEqual(["rate_limited", "ok"]);
  });
  it("by a fault of the request's is asked on", async () => {
    const it = mirroring(fails("invalid_value"), { routing: { health: { failures: 1 } } });
    await calls(it.core, 3);
    expect(it.shadow.asked).toHaveLength(3);
  });
});

describe("a mirror that hangs", () => {
  it("ends with the time that a call may take, also where its server does not notice", async () => {
    const deaf = async function* () {
      yield [piece("a")];
      await new Promise(() => {});
    };
    for (const shadow of [hangsAfter().handle, hangsAfter("a").handle, deaf]) {
      const it = mirroring(shadow, {
        model: { timeouts: { total: 60_000 } },
        routing: { health: { failures: 1 } },
      });
      await calls(it.core, 1);
      await it.clock.advance(59_999);
      expect(it.answered).toEqual([]);
      await it.clock.advance(1);
      await it.core.idle();
      expect(outcomes(it.answered)).toEqual(["timeout"]);
      // That is not its fault.
      expect(it.said("a mirror was taken out")).toEqual([]);
    }
  });
  it.each([
    ["where a call's time is over is not to blame", 960, []],
    ["before that is", 900, [{ backend: "shadow", reason: "said timeout" }]],
  ])("whose server gives up by itself %s", async (_, ms, out) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const gives: Handle<"chat"> = (call) => {
      vi.advanceTimersByTime(ms);
      return fails("timeout")(call);
    };
    const it = mirroring(gives, {
      model: { timeouts: { total: 1000 } },
      routing: { health: { failures: 1 } },
    });
    await calls(it.core, 1);
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["timeout"]);
    expect(it.said("a mirror was taken out")).toMatchObject(out);
  });
  it("ends with the times of its stream", async () => {
    const timeouts = { firstToken: 1000, betweenTokens: 100 };
    for (const [pieces, ms] of [
      [[], 1000],
      [["a"], 100],
    ] as const) {
      const hung = hangsAfter(...pieces);
      const it = mirroring(hung.handle, { routing: { timeouts } });
      await calls(it.core, 1);
      await it.clock.advance(ms - 1);
      expect(it.answered).toEqual([]);
      await it.clock.advance(1);
      await hung.aborted;
      await it.core.idle();
      expect(outcomes(it.answered)).toEqual(["timeout"]);
      expect(it.clock.timers).toBe(0);
    }
  });
});

describe("the end of a core", () => {
  it("does not wait for mirrors: they are aborted with its drain, and no more begin", async () => {
    const hung = hangsAfter("a");
    const slow = gate("real");
    const real = backend("real", inTurn(says("real"), slow.handle));
    const it = mirroring(hung.handle, { real, routing: { health: { failures: 1 } } });
    await calls(it.core, 1);
    const running = textOf(run(it.core, "chat", ask));
    await settled();
    expect(it.shadow.asked).toHaveLength(2);
    const drained = it.core.drain();
    await hung.aborted;
    slow.open();
    expect(await running).toBe("real");
    await drained;
    expect(outcomes(it.answered)).toEqual(["shutting_down", "shutting_down"]);
    expect(it.said("a mirror was taken out")).toEqual([]);
  });
  it("begins none for a call that comes to its target after that", async () => {
    const first = gate("first");
    const real = backend("real", first.handle);
    const it = mirroring(says("x"), { real, routing: { maxInFlight: 1 } });
    const both = [1, 2].map(() => textOf(run(it.core, "chat", ask)));
    await settled();
    await settled();
    const drained = it.core.drain();
    first.open();
    await settled();
    first.open();
    expect(await Promise.all(both)).toEqual(["first", "first"]);
    await drained;
    await settled();
    expect(it.shadow.asked).toHaveLength(1);
  });
  it("asks none for a call that came to its target a moment before", async () => {
    const drained: Promise<void>[] = [];
    const real: Handle<"chat"> = (call) => {
      // The mirror's turn comes behind this one.
      setImmediate(() => drained.push(it.core.drain()));
      return says("real")(call);
    };
    const it = mirroring(says("x"), { real: backend("real", real) });
    await calls(it.core, 1);
    await Promise.all(drained);
    expect([drained.length, it.shadow.asked]).toEqual([1, []]);
    expect([it.answered, it.passedOver]).toEqual([[], []]);
  });
  it("that another takes the place of lets them end", async () => {
    const slow = gate("x");
    const it = mirroring(slow.handle);
    await calls(it.core, 1);
    let idle = false;
    const over = it.core.idle().then(() => {
      idle = true;
    });
    await settled();
    expect(idle).toBe(false);
    slow.open();
    await over;
    expect(outcomes(it.answered)).toEqual(["ok"]);
  });
  it("aborts them with its calls", async () => {
    const hung = hangsAfter();
    const it = mirroring(hung.handle);
    await calls(it.core, 1);
    it.core.abort();
    await hung.aborted;
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["shutting_down"]);
  });
});

describe("health checks", () => {
  it("take mirrors of their backend out, too, and have them tried at once when it is back", async () => {
    const well = { now: true };
    const chat = inTurn(says("x"), fails("upstream_unreachable"), says("x"));
    const shadow = scripted({ chat }, [chatModel("s")], "shadow", {
      health: async () => {
        if (!well.now) throw new LintelError("upstream_unreachable", "gone");
      },
    });
    const check = { intervalMs: 1000, timeoutMs: 100, backends: ["shadow"] };
    const health = { check, failures: 1, firstPauseMs: 3_600_000 };
    const it = mirroring(shadow, { routing: { health } });
    it.core.routing.start();
    await calls(it.core, 2);
    well.now = false;
    await it.clock.advance(3000);
    await calls(it.core, 1);
    expect(reasons(it.passedOver)).toEqual(["out"]);
    well.now = true;
    await it.clock.advance(1000);
    await calls(it.core, 1);
    expect(outcomes(it.answered)).toEqual(["ok", "upstream_unreachable", "ok"]);
    it.core.routing.close();
  });
});
