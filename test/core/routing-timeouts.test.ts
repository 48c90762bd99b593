/** How long calls may take. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../src/core/call.js";
import type { LintelError } from "../../src/core/errors.js";
import { start } from "../support/calls.js";
import { FakeClock, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import {
  backend,
  bench,
  failure,
  gate,
  hello,
  routing,
  stateOf,
  textOf,
} from "../support/routing.js";
import { hangsAfter, piece, says, scripted } from "../support/scripted.js";

describe("time-outs", () => {
  it("a call that comes when its deadline has passed asks nobody", async () => {
    const one = backend("a");
    const { core } = bench([one]);
    for (const timeoutMs of [0, 1e-6]) {
      const answer = run(core, "chat", hello, { timeoutMs });
      await expect(answer).rejects.toEqual(failure("timeout"));
    }
    expect(one.asked.length).toBe(0);
    expect(core.readiness.running).toBe(0);
  });
  it("first token: the slow target is aborted and another one asked", async () => {
    const { handle, aborted } = hangsAfter();
    const all = [backend("slow", handle), backend("good")];
    const { core, clock } = bench(all, { timeouts: { firstToken: 2000 } });
    const answer = textOf(run(core, "chat", hello));
    await clock.advance(1999);
    expect(all[1]?.asked.length).toBe(0);
    await clock.advance(1);
    expect(await answer).toBe("good");
    await aborted;
    expect(stateOf(core, "slow")).toMatchObject({
      failures: 1,
      lastFailure: "timeout",
      inFlight: 0,
    });
    expect(clock.timers).toBe(0);
  });
  it("first token: a call with one target ends with timeout; a whole answer may take longer", async () => {
    const timeouts = { firstToken: 2000 };
    const stuck = bench([backend("a", hangsAfter().handle)], { timeouts, retry: { attempts: 1 } });
    const answer = run(stuck.core, "chat", hello).catch((error: unknown) => error);
    await stuck.clock.advance(2000);
    expect(await answer).toEqual(
      failure("timeout", {
        message: "the model server did not begin to answer in time",
        cause: new Error("no message for 2000 ms (timeouts.first_token)"),
      }),
    );
    const door = gate("whole");
    const hedge = { percentile: 90, leastMs: 50 };
    const all = [backend("a", door.handle), backend("b")];
    const whole = bench(all, { hedge }, [{ name: "m", backends: ["a", "b"], timeouts }]);
    const complete = run(whole.core, "complete", hello);
    await whole.clock.advance(60_000);
    door.open();
    expect((await complete)[0]?.choices[0]?.message?.content).toBe("whole");
  });
  it("first token: counts no more once it came", async () => {
    const clock = new FakeClock();
    const slow = async function* ({ signal }: Call<"chat">) {
      yield [piece("a")];
      await new Promise<void>((resolve) => clock.after(60_000, resolve));
      signal.throwIfAborted();
      yield [piece("b", "stop")];
    };
    const timeouts = { firstToken: 2000 };
    const core = coreOf([backend("a", slow)], { routing: routing({ timeouts }) }, { clock });
    const answer = textOf(run(core, "chat", hello));
    await clock.advance(60_000);
    expect(await answer).toBe("ab");
  });
  it("first token: a target that does not notice holds nobody up", async () => {
    const deaf = () => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
    });
    const { core, clock } = bench([backend("deaf", deaf), backend("good")], {
      timeouts: { firstToken: 2000 },
    });
    const answer = textOf(run(core, "chat", hello));
    await clock.advance(2000);
    expect(await answer).toBe("good");
    expect(stateOf(core, "deaf").inFlight).toBe(0);
  });
  it("a model at work is neither late nor silent, though it says nothing", async () => {
    const clock = new FakeClock();
    const working = async function* ({ alive }: Call<"chat">) {
      for (const text of ["a", "b"]) {
        for (let event = 0; event < 5; event++) {
          await new Promise<void>((resolve) => clock.after(900, resolve));
          alive?.();
        }
        yield [piece(text)];
      }
      yield [piece("", "stop")];
    };
    const timeouts = { firstToken: 1000, betweenTokens: 1000 };
    const core = coreOf([backend("a", working)], { routing: routing({ timeouts }) }, { clock });
    const answer = textOf(run(core, "chat", hello));
    for (let event = 0; event < 10; event++) await clock.advance(900);
    expect(await answer).toBe("ab");
    expect(clock.timers).toBe(0);
  });
  it("a target hears at once that its caller left, though nobody reads on", async () => {
    const door = gate();
    const { core } = bench([backend("a", door.handle)], { timeouts: { firstToken: 2000 } });
    const caller = new AbortController();
    const answer = start(core, "chat", hello, { signal: caller.signal });
    const messages = answer.messages[Symbol.asyncIterator]();
    const first = messages.next();
    await settled();
    door.open();
    await first;
    caller.abort();
    await settled();
    expect(door.signals[0]?.aborted).toBe(true);
    await expect(messages.next()).rejects.toEqual(failure("cancelled"));
  });
  it("between tokens: ends the call and aborts the target, which is not asked again", async () => {
    const { handle, aborted } = hangsAfter("half");
    const all = [backend("a", handle), backend("b")];
    const { core, clock } = bench(all, { timeouts: { betweenTokens: 1000 } });
    const answer = run(core, "chat", hello).catch((error: unknown) => error);
    await clock.advance(999);
    expect(core.readiness.running).toBe(1);
    await clock.advance(1);
    expect(await answer).toEqual(
      failure("timeout", {
        message: "the model server fell silent",
        cause: new Error("no message for 1000 ms (timeouts.between_tokens)"),
      }),
    );
    await aborted;
    expect(stateOf(core, "a")).toMatchObject({ failures: 1, lastFailure: "timeout", inFlight: 0 });
    expect(all[1]?.asked.length).toBe(0);
  });
  it("between tokens: nothing runs for a message that came just as the caller left", async () => {
    for (let turns = 0; turns < 20; turns++) {
      let come = () => {};
      const deaf = async function* () {
        await new Promise<void>((resolve) => {
          come = resolve;
        });
        yield [piece("late")];
        await new Promise(() => {});
      };
      const { core, clock } = bench([backend("a", deaf)], { timeouts: { betweenTokens: 1000 } });
      const controller = new AbortController();
      const left = run(core, "chat", hello, { signal: controller.signal });
      await settled();
      come();
      for (let i = 0; i < turns; i++) await Promise.resolve();
      controller.abort();
      await expect(left).rejects.toEqual(failure("cancelled"));
      await settled();
      expect(clock.timers).toBe(0);
    }
  });
  it("between tokens: begins anew with each, and a slow reader does not count", async () => {
    const clock = new FakeClock();
    const chat = async function* () {
      for (const text of ["a", "b", "c"]) {
        await new Promise<void>((resolve) => clock.after(900, resolve));
        yield [piece(text)];
      }
      yield [piece("", "stop")];
    };
    const core = coreOf(
      [backend("a", chat)],
      { routing: routing({ timeouts: { betweenTokens: 1000 } }) },
      { clock },
    );
    const { signal } = new AbortController();
    const request = create(LLMRequestSchema, hello);
    const { messages } = core.call("chat", request, { door: "test", credential: "me", signal });
    const iterator = messages[Symbol.asyncIterator]();
    const step = async () => {
      const next = iterator.next();
      await clock.advance(900);
      return (await next).value?.[0]?.choices[0]?.delta?.content;
    };
    expect(await step()).toBe("a");
    await clock.advance(60_000);
    expect([await step(), await step()]).toEqual(["b", "c"]);
    await clock.advance(60_000);
    await iterator.next();
    expect(await iterator.next()).toMatchObject({ done: true });
    expect(clock.timers).toBe(0);
  });
  it("between tokens: counts again for a reader who was slow", async () => {
    const { handle } = hangsAfter("a");
    const { core, clock } = bench([backend("a", handle)], { timeouts: { betweenTokens: 1000 } });
    const { messages } = start(core, "chat", hello);
    const iterator = messages[Symbol.asyncIterator]();
    await iterator.next();
    await clock.advance(60_000);
    const next = iterator.next().catch((error: unknown) => error);
    await clock.advance(999);
    expect(core.readiness.running).toBe(1);
    await clock.advance(1);
    expect(await next).toEqual(failure("timeout"));
  });
  it("a model has its own; what it does not set is everybody's, and for images only its own count", async () => {
    const slow = () => hangsAfter().handle;
    const names = ["m", "n"].map((id) => chatModel(id));
    const chat = scripted({ chat: slow() }, names, "chat");
    const image = scripted({ streamTextToImage: slow() as never }, [imageModel("i")], "image");
    const { core, clock } = bench(
      [chat, image],
      { timeouts: { firstToken: 1000 }, retry: { attempts: 1 } },
      [{ name: "m", timeouts: { firstToken: 5000 } }],
    );
    const codes: string[] = [];
    const watch = (name: string, answer: Promise<unknown>) => {
      answer.catch((error: LintelError) => codes.push(`${name} ${error.code}`));
    };
    watch("n", run(core, "chat", { ...hello, model: "n" }));
    watch("m", run(core, "chat", { ...hello, model: "m" }));
    watch("i", run(core, "streamTextToImage", { prompt: "a" }));
    await clock.advance(1000);
    expect(codes).toEqual(["n timeout"]);
    await clock.advance(4000);
    expect(codes).toEqual(["n timeout", "m timeout"]);
    await clock.advance(60_000);
    expect(codes.length).toBe(2);
    core.abort();
  });
  it("in all: the model's instead of everybody's, the caller's own where it is shorter", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const names = ["m", "n"].map((id) => chatModel(id));
    const hangs = scripted({ chat: hangsAfter().handle }, names);
    const models = [
      { name: "m", timeouts: { total: 30 } },
      { name: "n", timeouts: { total: 600_000 } },
    ];
    const core = coreOf([hangs], { models, totalTimeoutMs: 20 });
    const at = (model: string, timeoutMs?: number) =>
      run(core, "chat", { ...hello, model }, { timeoutMs }).catch((error: unknown) => error);
    const [own, shorter, longer] = [at("m"), at("n", 1), at("n")];
    await vi.advanceTimersByTimeAsync(1);
    expect(await shorter).toEqual(failure("timeout"));
    await vi.advanceTimersByTimeAsync(28);
    expect(core.readiness.running).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(await own).toEqual(failure("timeout"));
    await vi.advanceTimersByTimeAsync(600_000 - 31);
    expect(core.readiness.running).toBe(1);
    core.abort();
    expect(await longer).toEqual(failure("shutting_down"));
  });
  it("to connect is handed to the backend, with its name for the log", async () => {
    const seen: unknown[] = [];
    const a = backend("a", async function* (call) {
      seen.push(call.connectMs, call.backend);
      yield* says("x")(call);
    });
    const { core } = bench([a], { timeouts: { connect: 300 } });
    await run(core, "chat", hello);
    expect(seen).toEqual([300, "a"]);
  });
  it("without any, a call sets no timer", async () => {
    const { core, clock } = bench([backend("a", hangsAfter("a").handle)]);
    const answer = run(core, "chat", hello).catch(() => {});
    await settled();
    expect(clock.timers).toBe(0);
    core.abort();
    await answer;
  });
});
