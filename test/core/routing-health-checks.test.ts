/** Targets that are asked for their health: what a check says of them, and what calls do. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { FakeClock, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
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
import { says, scripted } from "../support/scripted.js";

/** A backend whose health check succeeds while `health.well`. */
function checked(name: string, chat: Handle<"chat">, well: boolean) {
  const health = { well };
  const check = async () => {
    if (!health.well) throw new LintelError("upstream_unreachable", "gone");
  };
  return { health, backend: scripted({ chat }, [chatModel("m")], name, { health: check }) };
}

describe("health checks", () => {
  it("is asked for where that is configured; a backend that is not well is taken out whole", async () => {
    let well = true;
    const asked: string[] = [];
    const health = async (name: string) => {
      asked.push(name);
      if (name === "a" && !well) throw new LintelError("upstream_unreachable", "gone");
    };
    const all = ["a", "b"].map((name) =>
      scripted({ chat: says(name) }, [chatModel("m")], name, { health: () => health(name) }),
    );
    const { core, clock } = bench(all, {
      health: { check: { intervalMs: 1000, timeoutMs: 500, backends: ["a"] } },
    });
    await clock.advance(5000);
    expect(asked).toEqual([]);
    core.routing.start();
    await clock.advance(1000);
    expect(asked.length).toBeGreaterThan(0);
    well = false;
    await clock.advance(1000);
    expect(stateOf(core, "a").state).toBe("in");
    await clock.advance(1000);
    expect(stateOf(core, "a").state).toBe("out");
    expect(await textOf(run(core, "chat", hello))).toBe("b");
    well = true;
    await clock.advance(1000);
    expect(await textOf(run(core, "chat", hello))).toBe("a");
    expect(stateOf(core, "a").state).toBe("in");
    expect(new Set(asked)).toEqual(new Set(["a"]));
    core.routing.close();
    const { length } = asked;
    await clock.advance(60_000);
    expect(asked.length).toBe(length);
    expect(clock.timers).toBe(0);
  });
  it("a check that never failed does not shorten the pause of a model that fails", async () => {
    const asked: number[] = [];
    const clock = new FakeClock();
    const broken: Handle<"chat"> = (call) => {
      asked.push(clock.now());
      return fails("upstream_failed")(call);
    };
    const a = scripted({ chat: broken }, [chatModel("m")], "a");
    const check = { intervalMs: 100, timeoutMs: 50 };
    const settings = {
      routing: routing({ health: { failures: 1, check }, retry: { attempts: 1 } }),
    };
    const core = coreOf([a], settings, { clock, random: () => 0 });
    core.routing.start();
    const began = clock.now();
    for (let i = 0; i < 80; i++) {
      await run(core, "chat", hello).catch(() => {});
      await clock.advance(100);
    }
    expect(asked.map((at) => at - began)).toEqual([0, 1000, 3000, 7000]);
    core.routing.close();
  });
  it("checks that fail don't lengthen the pause: it doubles where a call that tried it failed", async () => {
    const chat = inTurn(fails("upstream_unreachable"), says("a"));
    const { health, backend: a } = checked("a", chat, true);
    const { core, clock } = bench([a], {
      health: { firstPauseMs: 5000, check: { intervalMs: 1000, timeoutMs: 500 } },
      retry: { attempts: 1 },
    });
    core.routing.start();
    health.well = false;
    await clock.advance(30_000);
    expect(stateOf(core, "a").state).toBe("out");
    expect(stateOf(core, "a").outForMs).toBeLessThanOrEqual(5000);
    health.well = true;
    await clock.advance(1000);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("upstream_unreachable"));
    expect(stateOf(core, "a").outForMs).toBeGreaterThan(5000);
    expect(stateOf(core, "a").outForMs).toBeLessThanOrEqual(10_000);
    await clock.advance(10_000);
    expect(await textOf(run(core, "chat", hello))).toBe("a");
    core.routing.close();
  });
  it("is due, and not out, once the pause is over, for as long as no check fails", async () => {
    const { health, backend: standby } = checked("b", fails("unavailable"), true);
    const a = backend("a", inTurn(fails("unavailable"), says("a")));
    const { core, clock } = bench([a, standby], {
      health: { failures: 1, check: { intervalMs: 5000, timeoutMs: 500 } },
      retry: { attempts: 2 },
    });
    await run(core, "chat", hello).catch(() => {});
    expect(stateOf(core, "b").state).toBe("out");
    await clock.advance(1000);
    expect(await textOf(run(core, "chat", hello))).toBe("a");
    expect(stateOf(core, "b")).toMatchObject({ state: "due", outForMs: 0 });
    core.routing.start();
    health.well = false;
    await clock.advance(30_000);
    expect(stateOf(core, "b").state).toBe("out");
    await clock.advance(4000);
    expect(stateOf(core, "b").state).toBe("out");
    health.well = true;
    await clock.advance(5000);
    expect(stateOf(core, "b").state).toBe("due");
    core.routing.close();
  });
  it("gets no call while its check fails and another one can take it, be it once more", async () => {
    const hole = gate();
    const b = backend("b", inTurn(says("b"), says("b"), fails("unavailable"), says("again")));
    const all = [checked("a", hole.handle, false).backend, b];
    const check = { intervalMs: 5000, timeoutMs: 500, backends: ["a"] };
    const { core, clock } = bench(all, { health: { check } });
    core.routing.start();
    await clock.advance(13_000);
    for (let i = 0; i < 2; i++) expect(await textOf(run(core, "chat", hello))).toBe("b");
    const again = textOf(run(core, "chat", hello));
    await clock.advance(1000);
    expect(await again).toBe("again");
    expect(hole.begun).toBe(0);
    core.routing.close();
  });
  it("is asked rather than nobody while its check fails", async () => {
    const { backend: a } = checked("a", says("a"), false);
    const check = { intervalMs: 5000, timeoutMs: 500, backends: ["a"] };
    const { core, clock } = bench([a, backend("b", fails("unavailable"))], {
      health: { failures: 1, check },
      retry: { attempts: 1 },
    });
    core.routing.start();
    await clock.advance(13_000);
    expect(stateOf(core, "a").state).toBe("out");
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("unavailable"));
    expect(stateOf(core, "b").state).toBe("out");
    expect(await textOf(run(core, "chat", hello))).toBe("a");
    core.routing.close();
  });
  it("is tried by another call once its check succeeds, though the one before has no answer", async () => {
    const hole = gate();
    const chat = inTurn(hole.handle, says("a"));
    const { health, backend: a } = checked("a", chat, false);
    const { core, clock } = bench([a], {
      health: { failures: 1, check: { intervalMs: 5000, timeoutMs: 500 } },
      retry: { attempts: 1 },
    });
    core.routing.start();
    await clock.advance(13_000);
    const hanging = run(core, "chat", hello);
    await settled();
    expect(stateOf(core, "a").state).toBe("probing");
    health.well = true;
    await clock.advance(5000);
    expect(await textOf(run(core, "chat", hello))).toBe("a");
    expect(stateOf(core, "a").state).toBe("in");
    hole.fail(new LintelError("upstream_unreachable", "gone"));
    await expect(hanging).rejects.toEqual(failure("upstream_unreachable"));
    expect(stateOf(core, "a").state).toBe("in");
    core.routing.close();
  });
  it("a check that hangs counts as failed", async () => {
    const health = () => new Promise<never>(() => {});
    const a = scripted({ chat: says("a") }, [chatModel("m")], "a", { health });
    const { core, clock } = bench([a], {
      health: { check: { intervalMs: 1000, timeoutMs: 500 } },
    });
    core.routing.start();
    await clock.advance(4000);
    expect(stateOf(core, "a").state).toBe("out");
    core.routing.close();
  });
  it.each(["rate_limited", "overloaded", "internal"] as const)(
    "a check that ends with %s says nothing of the target, as a call that does",
    async (code) => {
      const health = async () => {
        throw new LintelError(code, "busy");
      };
      const a = scripted({ chat: says("a") }, [chatModel("m")], "a", { health });
      const check = { intervalMs: 1000, timeoutMs: 500 };
      const { core, clock } = bench([a], { health: { check } });
      core.routing.start();
      await clock.advance(10_000);
      expect(stateOf(core, "a").state).toBe("in");
      core.routing.close();
    },
  );

  it("a check that fails is said once per outage, and once when it succeeds again", async () => {
    let well = false;
    const health = async () => {
      const cause = new Error("connect ECONNREFUSED");
      if (!well) throw new LintelError("upstream_unreachable", "gone", { cause });
    };
    const lines: string[] = [];
    const fields: object[] = [];
    const say = (about: object, message: string) => {
      lines.push(message);
      if (message === "the health check fails") fields.push(about);
    };
    const log = { ...silent, info: say, warn: say };
    const clock = new FakeClock();
    const settings = {
      routing: routing({ health: { check: { intervalMs: 1000, timeoutMs: 500 } } }),
    };
    const a = scripted({ chat: says("a") }, [chatModel("m")], "a", { health });
    const core = coreOf([a], settings, { clock, random: () => 0, log });
    const said = () => lines.splice(0).filter((line) => line.startsWith("the health check"));
    core.routing.start();
    await clock.advance(10_000);
    expect(said()).toEqual(["the health check fails"]);
    const reason = "gone: connect ECONNREFUSED";
    expect(fields).toEqual([{ backend: "a", code: "upstream_unreachable", reason }]);
    well = true;
    await clock.advance(10_000);
    expect(said()).toEqual(["the health check succeeds again"]);
    well = false;
    await clock.advance(10_000);
    expect(said()).toEqual(["the health check fails"]);
    core.routing.close();
  });
});
