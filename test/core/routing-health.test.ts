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

describe("health", () => {
  it("counts a fault for which the request may be to blame against the first that has it, not against all that were asked", async () => {
    const broken = () => fails("upstream_failed", { retry: "doubtful" });
    const all = ["a", "b", "c"].map((name) => backend(name, broken()));
    const { core } = bench(all, { retry: { budget: 1, floor: 100 } });
    for (let i = 0; i < 4; i++) {
      await expect(run(core, "chat", hello)).rejects.toEqual(failure("upstream_failed"));
    }
    expect(all.map(({ asked }) => asked.length)).toEqual([4, 4, 4]);
    expect(["a", "b", "c"].map((name) => stateOf(core, name)?.failures)).toEqual([4, 0, 0]);
    // One that others answer is its own: a goes out, and those that come then are counted where they begin.
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("upstream_failed"));
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("upstream_failed"));
    expect(["a", "b", "c"].map((name) => stateOf(core, name)?.state)).toEqual(["out", "in", "in"]);
    expect(stateOf(core, "b")).toMatchObject({ failures: 1 });
  });
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
