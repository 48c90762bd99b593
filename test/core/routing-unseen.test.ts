/** An image of which the caller sees nothing before it is there may be begun anew at another target. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import type { ErrorCode } from "../../src/core/errors.js";
import { LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { outcome } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { imageModel } from "../support/models.js";
import { bench, stateOf } from "../support/routing.js";
import { paints, type Scripted, scripted } from "../support/scripted.js";

type Paint = Handle<"streamTextToImage">;

const ask = { prompt: "a circle" };

const step = (at: number) => progressEvent({ index: 0, images: 1, step: at, steps: 4 });

/** Does two steps of an image, then fails. */
const breaks = (code: ErrorCode = "upstream_unreachable"): Paint =>
  async function* () {
    yield [step(1)];
    yield [step(2)];
    throw new LintelError(code, `said ${code}`);
  };

/** Does a step, then nothing until the call is aborted. */
const hangs: Paint = async function* ({ signal }) {
  yield [step(1)];
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  throw signal.reason;
};

const targets = (...paint: Paint[]): Scripted[] =>
  paint.map((streamTextToImage, i) =>
    scripted({ streamTextToImage }, [imageModel("i")], "abc".charAt(i)),
  );

const silentAfter = (betweenTokens: number): ModelSettings[] => [
  { name: "i", backends: ["a", "b"], timeouts: { betweenTokens } },
];

describe("an image that was begun when its target fails", () => {
  it("is made by another one, if the caller has not seen it", async () => {
    const all = targets(breaks(), paints(3));
    const { core, clock } = bench(all);
    const { code, messages, metadata } = await outcome(core, "textToImage", ask);
    expect(code).toBe("ok");
    expect(messages[0]?.images).toHaveLength(1);
    expect(metadata.get("x-lintel-attempts")).toBe("2");
    expect(stateOf(core, "a", "i")).toMatchObject({ failures: 1, inFlight: 0 });
    expect(stateOf(core, "b", "i")).toMatchObject({ failures: 0, inFlight: 0 });
    expect(clock.timers).toBe(0);
  });
  it("is the caller's failure, if the caller was shown how far it is", async () => {
    const all = targets(breaks(), paints());
    expect((await outcome(bench(all).core, "streamTextToImage", ask)).code).toBe(
      "upstream_unreachable",
    );
    expect(all[1]?.asked).toEqual([]);
  });
  it("is nobody else's, where the failure is about the request", async () => {
    const all = targets(breaks("content_blocked"), paints());
    const { core } = bench(all);
    expect((await outcome(core, "textToImage", ask)).code).toBe("content_blocked");
    expect(all[1]?.asked).toEqual([]);
    expect(stateOf(core, "a", "i")).toMatchObject({ inFlight: 0 });
  });
  it("is not repeated once a first image is there", async () => {
    const one: Paint = async function* (call) {
      const events = paints(1)({ ...call, request: { ...call.request, numImagesPerPrompt: 1 } });
      for await (const batch of events) {
        if (batch[0]?.event.case !== "done") yield batch;
      }
      throw new LintelError("upstream_unreachable", "the model server went away");
    };
    const all = targets(one, paints());
    const { core } = bench(all);
    const two = { ...ask, numImagesPerPrompt: 2 };
    expect((await outcome(core, "textToImage", two)).code).toBe("upstream_unreachable");
    expect(all[1]?.asked).toEqual([]);
    expect(stateOf(core, "a", "i")).toMatchObject({ failures: 1, inFlight: 0 });
  });
  it("has as many attempts as any call, and the last failure", async () => {
    const all = targets(breaks(), breaks("unavailable"), paints());
    const { core } = bench(all, { retry: { attempts: 2 } });
    const { code, metadata } = await outcome(core, "textToImage", ask);
    expect(code).toBe("unavailable");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
    expect(all[2]?.asked).toEqual([]);
  });
  it("has the warnings of the one that made it", async () => {
    const warns = (text: string, then: Paint): Paint =>
      async function* (call) {
        call.warnings.add(text);
        yield* then(call);
      };
    const all = targets(warns("of a", breaks()), warns("of b", paints()));
    const { messages } = await outcome(bench(all).core, "textToImage", ask);
    expect(messages[0]?.warnings).toContain("of b");
    expect(messages[0]?.warnings).not.toContain("of a");
  });
});

describe("an image that was begun when its target falls silent", () => {
  it("is made by another one, if the caller has not seen it", async () => {
    const { core, clock } = bench(targets(hangs, paints(1)), {}, silentAfter(500));
    const answer = outcome(core, "textToImage", ask);
    await clock.advance(499);
    expect(stateOf(core, "a", "i")).toMatchObject({ inFlight: 1 });
    await clock.advance(1);
    expect((await answer).code).toBe("ok");
    expect(stateOf(core, "a", "i")).toMatchObject({ lastFailure: "timeout", inFlight: 0 });
    expect(clock.timers).toBe(0);
  });
  it("is the caller's failure, if the caller was shown how far it is", async () => {
    const all = targets(hangs, paints(1));
    const { core, clock } = bench(all, {}, silentAfter(500));
    const answer = outcome(core, "streamTextToImage", ask);
    await clock.advance(500);
    expect((await answer).code).toBe("timeout");
    expect(all[1]?.asked).toEqual([]);
    expect(stateOf(core, "a", "i")).toMatchObject({ lastFailure: "timeout", inFlight: 0 });
  });
});

it("an image that nobody has seen ends with its caller, who leaves while it is drawn", async () => {
  const all = targets(hangs, paints(1));
  const { core, clock } = bench(all);
  const controller = new AbortController();
  const answer = outcome(core, "textToImage", ask, { signal: controller.signal });
  await settled();
  expect(stateOf(core, "a", "i")).toMatchObject({ inFlight: 1 });
  controller.abort();
  expect((await answer).code).toBe("cancelled");
  await settled();
  expect(all[1]?.asked).toEqual([]);
  expect(stateOf(core, "a", "i")).toMatchObject({ failures: 0, inFlight: 0 });
  expect(clock.timers).toBe(0);
});
