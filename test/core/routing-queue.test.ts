/** Calls that wait for a target with room. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import {
  type StreamTextToImageResponse,
  TextToImageRequestSchema,
} from "../../gen/lintel/v1/image_pb.js";
import type { Attributes } from "../../src/core/call-attributes.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { FakeClock, settled } from "../support/clock.js";
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
import { hangsAfter, paints, piece, says, scripted } from "../support/scripted.js";

describe("calls that wait for room", () => {
  it("serves callers in turn", async () => {
    const door = gate();
    const only = backend("only", door.handle);
    const { core } = bench([only], {}, [{ name: "m", maxInFlight: 1 }]);
    const order: string[] = [];
    const ask = (credential: string) =>
      run(core, "chat", hello, { credential }).then(() => order.push(credential));
    const all = ["first", "greedy", "greedy", "greedy", "modest", "third"].map(ask);
    for (let i = 0; i < 6; i++) {
      await settled();
      expect(stateOf(core, "only").inFlight).toBe(1);
      door.open();
    }
    await Promise.all(all);
    expect(order).toEqual(["first", "greedy", "modest", "third", "greedy", "greedy"]);
  });
  it("refuses at once what the queue has no room for, and after its time what waited", async () => {
    const door = gate();
    const queue = { size: 1, timeoutMs: 5000 };
    const { core, clock } = bench([backend("only", door.handle)], { maxInFlight: 1, queue });
    const first = run(core, "chat", hello);
    await settled();
    const waits = run(core, "chat", hello).catch((error: unknown) => error);
    await settled();
    const retryAfter = expect.any(Number);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("overloaded", { retryAfter }));
    await clock.advance(5000);
    expect(await waits).toEqual(failure("unavailable", { retryAfter }));
    expect(stateOf(core, "only").waiting).toBe(0);
    door.open();
    await first;
    expect(clock.timers).toBe(0);
  });
  it("a caller who leaves the queue frees the place at once", async () => {
    const door = gate();
    const queue = { size: 1 };
    const { core } = bench([backend("only", door.handle)], { maxInFlight: 1, queue });
    const first = run(core, "chat", hello);
    await settled();
    const controller = new AbortController();
    const left = run(core, "chat", hello, { signal: controller.signal });
    await settled();
    expect(stateOf(core, "only").waiting).toBe(1);
    controller.abort();
    await expect(left).rejects.toEqual(failure("cancelled"));
    expect(stateOf(core, "only").waiting).toBe(0);
    const next = run(core, "chat", hello);
    await settled();
    door.open();
    await first;
    await settled();
    door.open();
    await next;
  });
  it("a place that came just as the caller left goes to the next one", async () => {
    // The abort falls into each of the turns that the handing over takes.
    const begun: number[] = [];
    for (let turns = 0; turns < 50; turns++) {
      const door = gate();
      const late: boolean[] = [];
      const only = backend("only", (call) => {
        late.push(call.signal.aborted);
        return door.handle(call);
      });
      const { core } = bench([only], { maxInFlight: 1 });
      const first = run(core, "chat", hello);
      await settled();
      const controller = new AbortController();
      const leaves = run(core, "chat", hello, { signal: controller.signal }).catch(() => {});
      await settled();
      const next = run(core, "chat", hello);
      await settled();
      door.open();
      for (let i = 0; i < turns; i++) await Promise.resolve();
      controller.abort();
      await first;
      await leaves;
      await settled();
      door.open();
      await next;
      expect(late).not.toContain(true);
      begun.push(late.length);
      expect(stateOf(core, "only")).toMatchObject({ inFlight: 0, waiting: 0 });
    }
    expect([begun[0], begun.at(-1)]).toEqual([2, 3]);
  });
  it("frees the place however a call ends", async () => {
    const ends = [
      says("x"),
      fails("invalid_value"),
      fails("internal"),
      async function* () {
        yield [piece("half")];
        throw new LintelError("upstream_failed", "gone");
      },
      hangsAfter("half").handle,
      // Never notices that it was aborted.
      () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }),
    ];
    for (const end of ends) {
      const { core } = bench([backend("only", end)], { maxInFlight: 1, retry: { attempts: 1 } });
      const controller = new AbortController();
      const ended = run(core, "chat", hello, { signal: controller.signal }).catch(() => {});
      await settled();
      controller.abort();
      await ended;
      expect(stateOf(core, "only").inFlight).toBe(0);
    }
    // A door that stops asking.
    const { core } = bench([backend("only", hangsAfter("half").handle)], { maxInFlight: 1 });
    const { signal } = new AbortController();
    const request = create(LLMRequestSchema, hello);
    const running = core.call("chat", request, { door: "test", credential: "me", signal });
    for await (const _ of running.messages) break;
    expect(stateOf(core, "only").inFlight).toBe(0);
  });
  it("images of one request take one place after the other", async () => {
    const one = scripted({ streamTextToImage: paints() }, [imageModel("i", { supports: [] })]);
    const { core } = bench([one], { maxInFlight: 1 });
    const [answer] = await run(core, "textToImage", { prompt: "a|b|c" });
    expect(answer?.images.length).toBe(3);
    expect(core.routing.snapshot().endpoints[0]).toMatchObject({ inFlight: 0, attempts: 3 });
  });
  it("a stream of images tells the place in the queue, and when it changes", async () => {
    let release = () => {};
    const painting = async function* (...args: Parameters<ReturnType<typeof paints>>) {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      yield* paints(1)(...args);
    };
    const one = scripted({ streamTextToImage: painting as never }, [imageModel("i")], "one");
    const { core } = bench([one], { maxInFlight: 1 });
    const start = () => {
      const events: StreamTextToImageResponse["event"][] = [];
      const request = create(TextToImageRequestSchema, { prompt: "a" });
      const { signal } = new AbortController();
      const origin = { door: "test", credential: "me", signal };
      const done = (async () => {
        for await (const batch of core.call("streamTextToImage", request, origin).messages) {
          events.push(...batch.map(({ event }) => event));
        }
      })();
      return { events, done };
    };
    const calls = [start()];
    await settled();
    calls.push(start(), start());
    await settled();
    for (const { done } of calls) {
      release();
      await done;
      await settled();
    }
    const places = calls.map(({ events }) =>
      events.flatMap(({ case: type, value }) =>
        type === "progress" && value.queuePosition !== undefined ? [value.queuePosition] : [],
      ),
    );
    expect(places).toEqual([[], [0], [1, 0]]);
    expect(calls[2]?.events.map((event) => event.case).slice(-2)).toEqual(["image", "done"]);
    // However often it was told.
    expect(core.routing.snapshot().retries.requests).toBe(3);
  });
  it("who waits is told the steps that will run: the caller's, else the operator's, else the model's", async () => {
    const ask = async (setup: { own?: number; operator?: number; asked?: number }) => {
      const { own, operator, asked } = setup;
      const held = hangsAfter();
      const defaults: Record<string, number> =
        own === undefined ? {} : { num_inference_steps: own };
      const model = imageModel("i", { defaults });
      const one = scripted({ streamTextToImage: held.handle as never }, [model], "one");
      const named = operator === undefined ? {} : { defaults: { num_inference_steps: operator } };
      const { core } = bench([one], {}, [{ name: "i", maxInFlight: 1, ...named }]);
      const leaving = new AbortController();
      const origin = { signal: leaving.signal };
      const first = run(core, "streamTextToImage", { prompt: "a" }, origin).catch(() => {});
      await settled();
      const request = create(TextToImageRequestSchema, { prompt: "a", numInferenceSteps: asked });
      const about = { door: "test", credential: "me", signal: leaving.signal };
      const [told] =
        (
          await core
            .call("streamTextToImage", request, about)
            .messages[Symbol.asyncIterator]()
            .next()
        ).value ?? [];
      leaving.abort();
      await first;
      return told?.event.case === "progress" ? told.event.value.steps : undefined;
    };
    expect(await ask({ own: 4, operator: 6, asked: 7 })).toBe(7);
    expect(await ask({ own: 4, operator: 6 })).toBe(6);
    expect(await ask({ own: 4 })).toBe(4);
    expect(await ask({})).toBe(50);
  });
  it("calls that wait hear at once that nothing is left to wait for", async () => {
    const door = gate();
    const { core } = bench([backend("only", door.handle)], {
      maxInFlight: 1,
      health: { failures: 1 },
      retry: { attempts: 1 },
    });
    const first = run(core, "chat", hello).catch((error: unknown) => error);
    await settled();
    const waits = run(core, "chat", hello).catch((error: unknown) => error);
    await settled();
    door.fail(new LintelError("upstream_failed", "gone"));
    expect(await first).toEqual(failure("upstream_failed"));
    expect(await waits).toEqual(failure("unavailable", { retryAfter: 1 }));
  });
  it("calls that wait go to a target that has come back", async () => {
    const [a, b] = [gate("a"), gate("b")];
    const failing = inTurn(fails("upstream_failed"), b.handle);
    const all = [backend("a", a.handle), backend("b", failing)];
    const { core, clock } = bench(
      all,
      { maxInFlight: 1, health: { failures: 1 }, retry: { attempts: 1 } },
      equals(all),
    );
    while (stateOf(core, "b").state === "in") {
      const answer = run(core, "chat", hello).catch(() => {});
      await settled();
      a.open();
      await answer;
    }
    const first = run(core, "chat", hello);
    await settled();
    const waits = textOf(run(core, "chat", hello));
    await clock.advance(1000);
    const third = textOf(run(core, "chat", hello));
    await settled();
    b.open();
    expect(await waits).toBe("b");
    await settled();
    b.open();
    expect(await third).toBe("b");
    a.open();
    await first;
  });
  it("calls that wait are served once a target may be tried, though nothing else happens", async () => {
    for (const outFirst of [true, false]) {
      const [a, b] = [gate("a"), gate("b")];
      const all = [backend("a", a.handle), backend("b", b.handle)];
      const { core, clock } = bench(all, {
        maxInFlight: 1,
        health: { failures: 1 },
        retry: { attempts: 1 },
      });
      const first = run(core, "chat", hello);
      await settled();
      const second = run(core, "chat", hello).catch(() => {});
      await settled();
      const fail = async () => {
        b.fail(new LintelError("upstream_failed", "gone"));
        await second;
      };
      if (outFirst) await fail();
      const waits = textOf(run(core, "chat", hello));
      await settled();
      expect(stateOf(core, "a").waiting).toBe(1);
      if (!outFirst) await fail();
      expect(stateOf(core, "b").state).toBe("out");
      await clock.advance(1000);
      b.open();
      expect(await waits).toBe("b");
      a.open();
      await first;
      expect(clock.timers).toBe(0);
    }
  });
  it("nothing is kept for a target that is out once nobody waits any more", async () => {
    const a = gate("a");
    const all = [backend("a", a.handle), backend("b", fails("upstream_failed"))];
    const { core, clock } = bench(all, {
      maxInFlight: 1,
      health: { failures: 1, firstPauseMs: 60_000 },
      retry: { attempts: 1 },
    });
    const first = run(core, "chat", hello);
    await settled();
    await run(core, "chat", hello).catch(() => {});
    const controller = new AbortController();
    const left = run(core, "chat", hello, { signal: controller.signal }).catch(() => {});
    await settled();
    expect(clock.timers).toBe(2);
    controller.abort();
    await left;
    expect(clock.timers).toBe(0);
    a.open();
    await first;
  });
  it("a call that goes on with a request for images waits however many do, where a gateway says so", async () => {
    const door = gate();
    const parts = [{ maxInFlight: 1, queue: { size: 0 } }, [], {}] as const;
    const asked = (servesGateways: boolean) => {
      const only = backend("only", door.handle);
      const { core } = bench([only], ...parts, { servesGateways });
      const header = (name: string) => (name === "x-lintel-begun" ? "1" : undefined);
      return [run(core, "chat", hello), run(core, "chat", hello, { header })] as const;
    };
    const [first, goesOn] = asked(true);
    const [other, refused] = asked(false);
    await expect(refused).rejects.toEqual(failure("overloaded"));
    await settled();
    door.open();
    door.open();
    await Promise.all([first, other]);
    await settled();
    door.open();
    await goesOn;
  });
  it("notes how long a call waited", async () => {
    const lines: Attributes[] = [];
    const log = { ...silent, info: (fields: object) => lines.push(fields as Attributes) };
    const clock = new FakeClock();
    const door = gate();
    const settings = { routing: routing({ maxInFlight: 1 }) };
    const core = coreOf([backend("only", door.handle)], settings, { clock, log });
    const first = run(core, "chat", hello);
    await settled();
    const second = run(core, "chat", hello);
    await clock.advance(700);
    door.open();
    await first;
    await settled();
    door.open();
    await second;
    expect(lines.map((it) => it.queuedMs)).toEqual([undefined, 700]);
  });
  it("notes it also where the call waited in vain", async () => {
    const lines: (Attributes & { code: string })[] = [];
    const note = (fields: object) => void lines.push(fields as Attributes & { code: string });
    const log = { ...silent, info: note, warn: note };
    const clock = new FakeClock();
    const queue = { size: 2, timeoutMs: 5000 };
    const settings = { routing: routing({ maxInFlight: 1, queue }) };
    const core = coreOf([backend("only", gate().handle)], settings, { clock, log });
    const ask = (credential: string, signal = never) =>
      run(core, "chat", hello, { credential, signal }).catch(() => {});
    const calls = [ask("first")];
    await settled();
    calls.push(ask("greedy"));
    await clock.advance(100);
    calls.push(ask("greedy"));
    await clock.advance(300);
    // Takes the place of greedy's last one.
    const controller = new AbortController();
    calls.push(ask("modest", controller.signal));
    await clock.advance(700);
    controller.abort();
    await clock.advance(5000);
    core.abort();
    await Promise.all(calls);
    expect(lines.map(({ code, queuedMs }) => [code, queuedMs])).toEqual([
      ["rate_limited", 300],
      ["cancelled", 700],
      ["unavailable", 5000],
      ["shutting_down", undefined],
    ]);
  });
});
