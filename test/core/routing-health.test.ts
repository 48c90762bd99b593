/** How targets are taken out, and come back. */
import { describe, expect, it } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { FakeClock, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
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
import { breaksAfter, hangsAfter, says, scripted } from "../support/scripted.js";

/** A backend whose health check succeeds while `health.well`. */
function checked(name: string, chat: Handle<"chat">, well: boolean) {
  const health = { well };
  const check = async () => {
    if (!health.well) throw new LintelError("upstream_unreachable", "gone");
  };
  return { health, backend: scripted({ chat }, [chatModel("m")], name, { health: check }) };
}

describe("health", () => {
  it("takes a target out that fails, tries it with one call at a time, and takes it back in", async () => {
    const door = gate("a");
    const a = backend("a", inTurn(...Array(5).fill(fails("upstream_failed")), door.handle));
    const b = backend("b");
    const { core, clock } = bench([a, b]);
    const lines: string[] = [];
    for (let i = 0; i < 5; i++) await run(core, "chat", hello).catch((e) => lines.push(e.code));
    expect(lines).toEqual(Array(5).fill("upstream_failed"));
    expect(stateOf(core, "a")).toMatchObject({
      state: "out",
      failures: 5,
      attempts: 5,
      lastFailure: "upstream_failed",
      inFlight: 0,
    });
    expect(await textOf(run(core, "chat", hello))).toBe("b");
    await clock.advance(1000);
    const probe = textOf(run(core, "chat", hello));
    await settled();
    expect(stateOf(core, "a").state).toBe("probing");
    expect(await textOf(run(core, "chat", hello))).toBe("b");
    expect(a.asked.length).toBe(6);
    door.open();
    expect(await probe).toBe("a");
    expect(stateOf(core, "a")).toMatchObject({ state: "in", outForMs: 0 });
  });
  it("goes on when calls fail then that began before it was taken out", async () => {
    const silent = Array.from({ length: 5 }, () => gate("a"));
    const fail = Array(5).fill(fails("upstream_failed"));
    const handles = [...silent.map(({ handle }) => handle), ...fail, says("a")];
    const { core, clock } = bench([backend("a", inTurn(...handles))]);
    const codes: string[] = [];
    const ask = () => run(core, "chat", hello).catch((e) => codes.push(e.code));
    const before = silent.map(ask);
    await clock.advance(1);
    for (let i = 0; i < 5; i++) await ask();
    expect(stateOf(core, "a").state).toBe("out");
    await clock.advance(1000);
    expect(await textOf(run(core, "chat", hello))).toBe("a");
    for (const { fail } of silent) fail(new LintelError("upstream_failed", "broke off"));
    await Promise.all(before);
    expect(codes).toEqual(Array(10).fill("upstream_failed"));
    expect(stateOf(core, "a")).toMatchObject({ state: "in", failures: 10 });
  });
  it("learns nothing of the next try from the end of a call that brought it back before", async () => {
    const [back, tries] = [hangsAfter("back"), gate()];
    const broken = fails("upstream_failed");
    const a = backend("a", inTurn(broken, back.handle, broken, tries.handle));
    const { core, clock } = bench([a], { health: { failures: 1 }, retry: { attempts: 1 } });
    const ask = (signal = never) => run(core, "chat", hello, { signal }).catch(() => {});
    await ask();
    await clock.advance(1000);
    const caller = new AbortController();
    const brought = ask(caller.signal);
    await settled();
    expect(stateOf(core, "a").state).toBe("in");
    await ask();
    expect(stateOf(core, "a").state).toBe("out");
    await clock.advance(2000);
    const trying = ask();
    await settled();
    caller.abort();
    await brought;
    expect(stateOf(core, "a").state).toBe("probing");
    tries.open();
    await trying;
    expect(stateOf(core, "a").state).toBe("in");
  });
  it("is back also where the call that tries it is told what is wrong about the request", async () => {
    const a = backend("a", inTurn(fails("upstream_failed"), fails("invalid_value"), says("a")));
    const said: string[] = [];
    const log = { ...silent, info: (_: object, message: string) => void said.push(message) };
    const { core, clock } = bench([a], { health: { failures: 1 } }, [], { log });
    await run(core, "chat", hello).catch(() => {});
    await clock.advance(1000);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("invalid_value"));
    expect(said).toContain("a target is back");
    expect(stateOf(core, "a")).toMatchObject({ state: "in", outForMs: 0 });
    expect(await textOf(run(core, "chat", hello))).toBe("a");
  });
  it("says nothing of a target that is overloaded, and asks it again with the next call", async () => {
    const busy = fails("overloaded", { retryAfter: 600 });
    const a = backend("a", inTurn(...Array(8).fill(busy), says("a")));
    const { core } = bench([a]);
    for (let i = 0; i < 8; i++) {
      await expect(run(core, "chat", hello)).rejects.toEqual(
        failure("overloaded", { retryAfter: 600 }),
      );
    }
    expect(stateOf(core, "a")).toMatchObject({ state: "in", failures: 0, attempts: 8 });
    expect(await textOf(run(core, "chat", hello))).toBe("a");
  });
  it("all out: unavailable at once, with the time of the soonest try", async () => {
    const all = [backend("a", fails("upstream_failed")), backend("b", fails("upstream_failed"))];
    const { core, clock } = bench(all, { health: { failures: 1, firstPauseMs: 20_000 } });
    await run(core, "chat", hello).catch(() => {});
    await clock.advance(3000);
    await run(core, "chat", hello).catch(() => {});
    const error = await run(core, "chat", hello).catch((thrown: unknown) => thrown);
    expect(error).toEqual(failure("unavailable"));
    const { retryAfter = 0 } = error as LintelError;
    const soonest = Math.min(...["a", "b"].map((name) => stateOf(core, name).outForMs));
    expect(retryAfter).toBe(Math.ceil(soonest / 1000));
    expect(retryAfter).toBeLessThanOrEqual(17);
    expect(all.map((it) => it.asked.length)).toEqual([1, 1]);
  });
  it.each(["chat", "complete"] as const)("counts failures in a row: %s", async (method) => {
    const broken = fails("upstream_failed");
    const { core } = bench([backend("a", inTurn(broken, says("a"), broken, broken))], {
      health: { failures: 2 },
      retry: { attempts: 1 },
    });
    const states: string[] = [];
    for (let i = 0; i < 4; i++) {
      await run(core, method, hello).catch(() => {});
      states.push(stateOf(core, "a").state);
    }
    expect(states).toEqual(["in", "in", "in", "out"]);
    // The time to the first token is that of streams.
    expect(stateOf(core, "a").firstMs === undefined).toBe(method === "complete");
  });
  it("counts failures after the first message too", async () => {
    const a = backend("a", breaksAfter(new LintelError("upstream_failed", "gone"), "half"));
    const { core } = bench([a, backend("b")]);
    for (let i = 0; i < 5; i++) await run(core, "chat", hello).catch(() => {});
    expect(stateOf(core, "a").state).toBe("out");
    expect(stateOf(core, "a").totalMs).toBeUndefined();
  });
  it("counts time-outs of a model server, also in mid-stream, and none of the caller's own", async () => {
    const late = new LintelError("timeout", "the model server took too long");
    const at = (...pieces: string[]) => {
      const once = { retry: { attempts: 1 } };
      const { core } = bench([backend("a", breaksAfter(late, ...pieces))], once);
      return {
        ask: (timeoutMs: number) => run(core, "chat", hello, { timeoutMs }).catch(() => {}),
        failures: () => stateOf(core, "a").failures,
      };
    };
    for (const { ask, failures } of [at(), at("half")]) {
      await ask(60_000);
      expect(failures()).toBe(1);
      // A backend that counts to the same deadline notices it first.
      await ask(20);
      expect(failures()).toBe(1);
    }
  });
  it("holds nothing against a target that the caller is to blame for", async () => {
    const { handle } = hangsAfter();
    const wrong = backend("a", inTurn(...Array(9).fill(fails("invalid_value")), handle));
    const { core } = bench([wrong]);
    for (let i = 0; i < 9; i++) await run(core, "chat", hello).catch(() => {});
    for (let i = 0; i < 9; i++) await run(core, "chat", hello, { timeoutMs: 1 }).catch(() => {});
    for (let i = 0; i < 9; i++) {
      const controller = new AbortController();
      const answer = run(core, "chat", hello, { signal: controller.signal });
      await settled();
      controller.abort();
      await expect(answer).rejects.toEqual(failure("cancelled"));
    }
    expect(stateOf(core, "a")).toMatchObject({ state: "in", failures: 0, inFlight: 0 });
  });
  it.each(["rate_limited", "internal"] as const)(
    "is neither better nor worse for %s",
    async (code) => {
      const a = backend(
        "a",
        inTurn(fails("upstream_failed"), fails(code), fails("upstream_failed")),
      );
      const { core } = bench([a], { health: { failures: 2 }, retry: { attempts: 1 } });
      const states: string[] = [];
      for (let i = 0; i < 3; i++) {
        await expect(run(core, "chat", hello)).rejects.toEqual(
          failure(i === 1 ? code : "upstream_failed"),
        );
        states.push(stateOf(core, "a").state);
      }
      expect(states).toEqual(["in", "in", "out"]);
    },
  );
  it("is lost again by one failure while the answer that brought it back is not complete", async () => {
    const down = fails("upstream_failed");
    const a = backend("a", inTurn(down, down, down, hangsAfter("begun").handle, down));
    const { core, clock } = bench([a], { health: { failures: 3 }, retry: { attempts: 1 } });
    for (let i = 0; i < 3; i++) await run(core, "chat", hello).catch(() => {});
    expect(stateOf(core, "a").state).toBe("out");
    await clock.advance(1000);
    const answer = run(core, "chat", hello).catch(() => {});
    await settled();
    expect(stateOf(core, "a").state).toBe("in");
    await run(core, "chat", hello).catch(() => {});
    expect(stateOf(core, "a").state).toBe("out");
    core.abort();
    await answer;
  });
  it("a call that tried it and whose caller left leaves that to the next one", async () => {
    const door = gate("a");
    const a = backend("a", inTurn(fails("upstream_failed"), door.handle));
    const { core, clock } = bench([a], { health: { failures: 1 } });
    await run(core, "chat", hello).catch(() => {});
    await clock.advance(1000);
    const controller = new AbortController();
    const left = run(core, "chat", hello, { signal: controller.signal }).catch(() => {});
    await settled();
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("unavailable"));
    controller.abort();
    await left;
    const next = textOf(run(core, "chat", hello));
    await settled();
    door.open();
    expect(await next).toBe("a");
  });
  it("a call that was to try it, and that it can't serve, leaves that to the next one", async () => {
    const chat = inTurn(fails("upstream_failed"), says("a"));
    const plain = scripted({ chat }, [chatModel("m", { supports: [] })], "a");
    const { core, clock } = bench([plain], { health: { failures: 1 } });
    await run(core, "chat", hello).catch(() => {});
    await clock.advance(1000);
    await expect(run(core, "chat", { ...hello, stop: ["x"] })).rejects.toEqual(
      failure("unsupported_parameter"),
    );
    expect(stateOf(core, "a")).toMatchObject({ state: "due", outForMs: 0, inFlight: 0 });
    expect(await textOf(run(core, "chat", hello))).toBe("a");
  });
  it("holds nothing against a target whose model can't be loaded: its calls are told why", async () => {
    const broken = new LintelError("model_not_loaded", "it is broken");
    const health = async () => {
      throw broken;
    };
    const a = scripted({ chat: breaksAfter(broken) }, [chatModel("m")], "a", { health });
    const check = { intervalMs: 1000, timeoutMs: 500 };
    const { core, clock } = bench([a], { health: { check } });
    core.routing.start();
    for (let i = 0; i < 8; i++) {
      await clock.advance(1000);
      await expect(run(core, "chat", hello)).rejects.toBe(broken);
    }
    expect(stateOf(core, "a")).toMatchObject({ state: "in", failures: 0, attempts: 8 });
    core.routing.close();
  });
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
  it("why a target was taken out is said, also where another one answered every call", async () => {
    const cause = new Error("connect ECONNREFUSED");
    const told: object[] = [];
    const warn = (about: object, message: string) => {
      if (message === "a target was taken out") told.push(about);
    };
    const all = [backend("a", fails("upstream_unreachable", { cause })), backend("b")];
    const settings = { routing: routing({ health: { failures: 2 }, retry: { attempts: 2 } }) };
    const clock = new FakeClock();
    const core = coreOf(all, settings, { clock, random: () => 0, log: { ...silent, warn } });
    for (let i = 0; i < 3; i++) expect(await textOf(run(core, "chat", hello))).toBe("b");
    const reason = "said upstream_unreachable: connect ECONNREFUSED";
    const line = { backend: "a", model: "m", forMs: 1000, reason };
    expect(told).toEqual([line]);
    // Once for each time that it is out, however often it is tried meanwhile.
    for (let i = 0; i < 3; i++) {
      await clock.advance(60_000);
      await textOf(run(core, "chat", hello));
    }
    expect(told).toEqual([line]);
    expect(all[0]?.asked).toHaveLength(5);
  });
  it("the log of a call that finds nobody says why, long after the failure", async () => {
    const told: unknown[] = [];
    const warn = (about: object, message: string) => {
      if (message === "call") told.push((about as { cause?: string }).cause);
    };
    const cause = new Error("CUDA out of memory");
    const a = backend("a", fails("upstream_failed", { cause }));
    const settings = { routing: routing({ health: { failures: 1 } }) };
    const clock = new FakeClock();
    const core = coreOf([a], settings, { clock, random: () => 0, log: { ...silent, warn } });
    for (let i = 0; i < 2; i++) await run(core, "chat", hello).catch(() => {});
    expect(a.asked).toHaveLength(1);
    expect(told).toEqual([
      "CUDA out of memory",
      "a is out: said upstream_failed: CUDA out of memory",
    ]);
    core.routing.close();
  });
  it.each<[string, Handle<"chat">, string]>([
    [
      "that broke off",
      breaksAfter(new LintelError("upstream_failed", "it broke off"), "some"),
      "it broke off",
    ],
    [
      "without a message",
      async function* () {},
      "the model server did not answer the call to its end",
    ],
  ])("why a target was taken out is said, also of answers %s", async (_, answer, reason) => {
    const told: object[] = [];
    const warn = (about: object) => told.push(about);
    const clock = new FakeClock();
    const settings = { routing: routing({ health: { failures: 1 } }) };
    const a = backend("a", answer);
    const core = coreOf([a], settings, { clock, random: () => 0, log: { ...silent, warn } });
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("upstream_failed"));
    expect(told).toContainEqual(expect.objectContaining({ backend: "a", reason }));
    expect(stateOf(core, "a")).toMatchObject({ lastFailure: "upstream_failed" });
  });
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

describe("a target whose model", () => {
  it.each(["LOADING", "FAILED"] as const)("is %s comes after all others", async (state) => {
    const models = [chatModel("m", { state: State[state] })];
    const all = [scripted({ chat: says("a") }, models, "a"), backend("b")];
    const { core } = bench(all);
    expect(await textOf(run(core, "chat", hello))).toBe("b");
    const { core: equal } = bench(all, {}, equals(all));
    for (let i = 0; i < 5; i++) expect(await textOf(run(equal, "chat", hello))).toBe("b");
  });
});
