/** A target that tells a place in its own queue has not begun to answer. */
import { describe, expect, it } from "vitest";
import type { Progress, StreamTextToImageResponse } from "../../gen/lintel/v1/image_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import { outcome, start } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { imageModel } from "../support/models.js";
import { bench, type Some, stateOf } from "../support/routing.js";
import { paints, scripted } from "../support/scripted.js";

type Paint = Handle<"streamTextToImage">;

const place = (queuePosition: number) =>
  progressEvent({ index: 0, images: 1, step: 0, steps: 4, queuePosition });

/** Tells places in the queue, then does as it is told. */
const queues = (then: Paint, ...places: number[]): Paint =>
  async function* (call) {
    for (const at of places) yield [place(at)];
    yield* then(call);
  };

// biome-ignore lint/correctness/useYield: it fails before it says anything
const lost: Paint = async function* () {
  throw new LintelError("upstream_unreachable", "the model server went away");
};

/** Until the call is aborted. */
const forever: Paint = async function* ({ signal }) {
  yield [place(0)];
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
  throw signal.reason;
};

const targets = (...paint: Paint[]) =>
  paint.map((streamTextToImage, i) =>
    scripted({ streamTextToImage }, [imageModel("i")], "abc".charAt(i)),
  );

const ask = { prompt: "a circle" };

const progressOf = (messages: readonly StreamTextToImageResponse[]): Progress[] =>
  messages.flatMap(({ event }) => (event.case === "progress" ? [event.value] : []));

const told = (messages: readonly StreamTextToImageResponse[]) =>
  progressOf(messages).map(({ queuePosition, step }) => queuePosition ?? `step ${step}`);

describe("a place in a target's queue", () => {
  it("is passed on, and the next target is asked when the first one fails after it", async () => {
    const all = targets(queues(lost, 2, 1), queues(paints(1), 0));
    const { core } = bench(all);
    const { code, messages, metadata } = await outcome(core, "streamTextToImage", ask);
    expect(code).toBe("ok");
    expect(told(messages)).toEqual([2, 1, 0, "step 1"]);
    expect(metadata.get("x-lintel-attempts")).toBe("2");
    expect(stateOf(core, "a", "i")).toMatchObject({ failures: 1, inFlight: 0 });
    expect(stateOf(core, "b", "i")).toMatchObject({ failures: 0, inFlight: 0 });
    const whole = await outcome(core, "textToImage", ask);
    expect(whole.code).toBe("ok");
  });
  it("is as little as that no step is done", async () => {
    const said = progressEvent({ index: 0, images: 1, step: 0, steps: 4 });
    const all = targets(async function* (call) {
      yield [said, said];
      yield* lost(call);
    }, paints(1));
    const { messages } = await outcome(bench(all).core, "streamTextToImage", ask);
    expect(told(messages)).toEqual(["step 0", "step 0", "step 1"]);
  });
  it("does not stand for an image that was begun: what fails then is not repeated", async () => {
    const begun = queues(async function* (call) {
      yield [progressEvent({ index: 0, images: 1, step: 1, steps: 4 })];
      yield* lost(call);
    }, 1);
    const all = targets(begun, paints(1));
    const { code, messages } = await outcome(bench(all).core, "streamTextToImage", ask);
    expect(code).toBe("upstream_unreachable");
    expect(told(messages)).toEqual([1, "step 1"]);
    expect(all[1]?.asked).toEqual([]);
  });
  it("has the target's warnings with it where nobody else can be asked, and else those of who answers", async () => {
    const warns: Paint = async function* (call) {
      call.warnings.add("a seed of its own");
      yield* queues(paints(1), 0)(call);
    };
    for (const [all, ahead] of [
      [targets(warns), ["a seed of its own"]],
      [targets(warns, paints(1)), []],
    ] as const) {
      const { messages, warnings } = start(bench(all).core, "streamTextToImage", ask);
      const steps = messages[Symbol.asyncIterator]();
      const own = () => [...warnings].filter((text) => text === "a seed of its own");
      expect(told((await steps.next()).value)).toEqual([0]);
      expect(own()).toEqual(ahead);
      while (!(await steps.next()).done);
      expect(own()).toHaveLength(1);
    }
  });
  it("holds up no time-out to the first message", async () => {
    const models = [
      { name: "i", backends: ["a", "b"], timeouts: { firstToken: 2000, betweenTokens: 500 } },
    ];
    const deaf: Paint = async function* () {
      yield [place(0)];
      await new Promise(() => {});
    };
    const all = targets(deaf, paints(1));
    const { core, clock } = bench(all, {}, models);
    const answer = outcome(core, "streamTextToImage", ask);
    await clock.advance(1999);
    expect(all[1]?.asked).toEqual([]);
    await clock.advance(1);
    expect(told((await answer).messages)).toEqual([0, "step 1"]);
    expect(stateOf(core, "a", "i")).toMatchObject({ lastFailure: "timeout", inFlight: 0 });
    expect(clock.timers).toBe(0);
  });
  it("nor one that runs out while the caller asks for nothing", async () => {
    const models = [{ name: "i", backends: ["a", "b"], timeouts: { firstToken: 2000 } }];
    const all = targets(forever, paints(1));
    const { core, clock } = bench(all, {}, models);
    const steps = start(core, "streamTextToImage", ask).messages[Symbol.asyncIterator]();
    await steps.next();
    await clock.advance(2000);
    const next = await steps.next();
    expect(next.done).toBe(false);
    expect(told(next.value)).toEqual(["step 1"]);
    while (!(await steps.next()).done);
    expect(stateOf(core, "a", "i")).toMatchObject({ lastFailure: "timeout", inFlight: 0 });
  });
  it("does not bring a target back that was out", async () => {
    const some: Some = { health: { failures: 1 }, retry: { attempts: 1 } };
    let turn: Paint = lost;
    const all = targets((call) => turn(call));
    const { core, clock } = bench(all, some);
    expect((await outcome(core, "textToImage", ask)).code).toBe("upstream_unreachable");
    turn = forever;
    await clock.advance(1000);
    const controller = new AbortController();
    const probe = outcome(core, "streamTextToImage", ask, { signal: controller.signal });
    await settled();
    expect(stateOf(core, "a", "i")).toMatchObject({ state: "probing", inFlight: 1 });
    controller.abort();
    expect((await probe).code).toBe("cancelled");
    expect(stateOf(core, "a", "i")).toMatchObject({ state: "due", inFlight: 0 });
  });
});
