/** A call from its begin to its end, and what the log says of it. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { messageChoice } from "../../src/core/chat-messages.js";
import { silent } from "../../src/core/log.js";
import { coreOf, run } from "../support/core.js";
import { hello } from "../support/routing.js";
import { breaksAfter, hangsAfter, piece, says, scripted } from "../support/scripted.js";
import { failure, models } from "./chatting.js";

/** A core before a backend that holds something while it answers, with the lines of its log. */
function holding(...batches: ReturnType<typeof piece>[][]) {
  let freed: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    freed = resolve;
  });
  const chat = async function* () {
    try {
      yield* batches;
    } finally {
      freed();
    }
  };
  const lines: object[] = [];
  const log = { ...silent, info: (fields: object) => lines.push(fields) };
  return { core: coreOf([scripted({ chat }, models)], {}, { log }), released, lines };
}

/** A call that its test reads by itself. */
function started(core: ReturnType<typeof coreOf>, method: "chat" | "complete") {
  const request = create(LLMRequestSchema, { messages: [{ role: "user", content: "Hello" }] });
  const { signal } = new AbortController();
  return core.call(method, request, { door: "test", credential: "me", signal });
}

describe("the life of a call", () => {
  it("a caller who leaves aborts the work behind, before and after the first message", async () => {
    for (const pieces of [[], ["a"]]) {
      const { handle, aborted } = hangsAfter(...pieces);
      const core = coreOf([scripted({ chat: handle }, models)]);
      const controller = new AbortController();
      const running = run(core, "chat", hello, { signal: controller.signal });
      setImmediate(() => controller.abort());
      await expect(running).rejects.toEqual(failure("cancelled"));
      await aborted;
      expect(core.readiness.running).toBe(0);
    }
  });
  it("what a backend holds is freed also if nobody asks for the next message", async () => {
    const { core, released, lines } = holding([piece("a")], [piece("b")]);
    for await (const _ of started(core, "chat").messages) break;
    await released;
    // Usage counts what was delivered.
    expect(lines).toMatchObject([{ code: "cancelled", completionTokens: 1, promptTokens: 6 }]);
  });
  it("a whole completion ends with its message, and what made it is let go", async () => {
    const { core, released, lines } = holding([piece("a", "stop")]);
    const iterator = started(core, "complete").messages[Symbol.asyncIterator]();
    expect(await iterator.next()).toMatchObject({ done: false, value: [{ usage: {} }] });
    // Nobody asked whether more comes.
    expect([core.readiness.running, lines.length]).toEqual([0, 1]);
    expect(lines).toMatchObject([{ code: "ok", completionTokens: 1 }]);
    await released;
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
  it("a backend that answers whole lets go of what it holds once it has", async () => {
    let freed = () => {};
    const released = new Promise<void>((resolve) => {
      freed = resolve;
    });
    const complete = async function* () {
      try {
        yield [{ ...piece(""), choices: [messageChoice("a", "stop")] }];
      } finally {
        freed();
      }
    };
    const core = coreOf([scripted({ complete }, models)]);
    expect(await run(core, "complete", hello)).toHaveLength(1);
    await released;
  });
  it("a backend that does not notice holds nobody up", async () => {
    const core = coreOf([
      scripted(
        {
          chat: () => ({
            [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
          }),
        },
        models,
      ),
    ]);
    const controller = new AbortController();
    const running = run(core, "chat", hello, { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(running).rejects.toEqual(failure("cancelled"));
  });
  it("the caller's deadline ends it with timeout", async () => {
    const { handle, aborted } = hangsAfter("a");
    const core = coreOf([scripted({ chat: handle }, models)]);
    await expect(run(core, "chat", hello, { timeoutMs: 5 })).rejects.toEqual(failure("timeout"));
    await aborted;
  });
  it("no call leaves a timer behind that keeps it in memory", async () => {
    const good = coreOf([scripted({ chat: says("a") }, models)]);
    const bad = coreOf([scripted({ chat: breaksAfter(new Error("broken"), "a") }, models)]);
    const timers = () => process.getActiveResourcesInfo().filter((it) => it === "Timeout").length;
    const before = timers();
    for (let i = 0; i < 20; i++) {
      await run(good, "chat", hello);
      await expect(run(bad, "chat", hello)).rejects.toEqual(failure("internal"));
    }
    // This process has others, that come and go.
    expect(timers()).toBeLessThan(before + 20);
  });
  it("drain refuses new work and waits for what runs; abort ends it", async () => {
    const { handle } = hangsAfter("a");
    const core = coreOf([scripted({ chat: handle }, models)]);
    const running = run(core, "chat", hello);
    while (core.readiness.running === 0) await new Promise(setImmediate);
    const drained = core.drain();
    expect(core.readiness.accepting).toBe(false);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("shutting_down"));
    core.abort();
    await expect(running).rejects.toEqual(failure("shutting_down"));
    await drained;
  });
  it("ends at once also between two steps, which a slow caller may never ask for", async () => {
    const { handle } = hangsAfter("a");
    const lines: object[] = [];
    const log = { ...silent, warn: (fields: object) => lines.push(fields) };
    const core = coreOf([scripted({ chat: handle }, models)], {}, { log });
    const request = create(LLMRequestSchema, hello);
    const { signal } = new AbortController();
    const running = core.call("chat", request, { door: "test", credential: "me", signal });
    const steps = running.messages[Symbol.asyncIterator]();
    await steps.next();
    core.abort();
    expect(core.readiness.running).toBe(0);
    expect(core.routing.snapshot().endpoints).toMatchObject([{ inFlight: 0, failures: 0 }]);
    expect(lines).toMatchObject([{ code: "shutting_down", completionTokens: 1 }]);
    // Who asks later hears of it, once.
    await expect(steps.next()).rejects.toEqual(failure("shutting_down"));
    expect(await steps.next()).toEqual({ done: true, value: undefined });
  });
  it("an unforeseen fault becomes internal, without its words", async () => {
    const core = coreOf([scripted({ chat: breaksAfter(new Error("secret at 10.0.0.1")) }, models)]);
    await expect(run(core, "chat", hello)).rejects.toMatchObject({
      code: "internal",
      message: "internal error",
    });
  });
});
