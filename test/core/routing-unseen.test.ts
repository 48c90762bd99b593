/** An image of which the caller sees nothing before it is there may be begun anew at another target. */
import { describe, expect, it, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import type { CallSignal } from "../../src/core/cancellation.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../src/core/image-events.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { gate, outcome } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { memoryStore } from "../support/media.js";
import { imageModel } from "../support/models.js";
import { bench, stateOf } from "../support/routing.js";
import { paints, png, type Scripted, scripted } from "../support/scripted.js";

type Paint = Handle<"streamTextToImage">;

const ask = { prompt: "a circle" };
const two = { ...ask, numImagesPerPrompt: 2 };

const step = (at: number) => progressEvent({ index: 0, images: 1, step: at, steps: 4 });

/** Does two steps of an image, then fails. */
const breaks = (code: ErrorCode = "upstream_unreachable"): Paint =>
  async function* () {
    yield [step(1)];
    yield [step(2)];
    throw new LintelError(code, `said ${code}`);
  };

/** Fails before its first step. */
const breaksAt0 = (code: ErrorCode): Paint =>
  // biome-ignore lint/correctness/useYield: it has nothing to say
  async function* () {
    throw new LintelError(code, `said ${code}`);
  };

const warns = (text: string, then: Paint): Paint =>
  async function* (call) {
    call.warnings.add(text);
    yield* then(call);
  };

/** Does a step, then nothing until the call is aborted. */
const hangs: Paint = async function* ({ signal }) {
  yield [step(1)];
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  throw signal.reason;
};

/** Is lost when it has made so many images of a request. */
const loses = (images: number): Paint =>
  async function* (call) {
    const some = { ...call, request: { ...call.request, numImagesPerPrompt: images } };
    for await (const batch of paints(1)(some)) {
      if (batch[0]?.event.case !== "done") yield batch;
    }
    throw new LintelError("upstream_unreachable", "the model server went away");
  };

const targets = (...paint: Paint[]): Scripted[] =>
  paint.map((streamTextToImage, i) =>
    scripted({ streamTextToImage }, [imageModel("i")], "abc".charAt(i)),
  );

const silentAfter = (betweenTokens: number): ModelSettings[] => [
  { name: "i", backends: ["a", "b"], timeouts: { betweenTokens } },
];

it.each(["textToImage", "streamTextToImage"] as const)(
  "%s: a target whose image is refused hears of it, though it goes on",
  async (method) => {
    const signals: CallSignal[] = [];
    const other: Paint = async function* ({ signal }) {
      signals.push(signal);
      yield [imageEvent(0, inlineImage(png(6), 6)), doneEvent([])];
      await new Promise(() => {});
    };
    const { core } = bench(targets(other));
    const { code } = await outcome(core, method, { ...ask, seed: 5n });
    expect(code).toBe("unsupported_parameter");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(stateOf(core, "a", "i").inFlight).toBe(0);
  },
);

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
  it("is made by another one that has to wait for its turn first", async () => {
    const later: Paint = async function* (call) {
      yield [step(0)];
      yield* paints()(call);
    };
    const { code, messages } = await outcome(
      bench(targets(breaks(), later)).core,
      "textToImage",
      ask,
    );
    expect(code).toBe("ok");
    expect(messages[0]?.images).toHaveLength(1);
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
  it("is made anew with those of its request that were there, of which nothing is left", async () => {
    const all = targets(loses(1), paints(1));
    const media = memoryStore(() => "http://here");
    const put = vi.spyOn(media, "put");
    const { core } = bench(all, {}, [], { media });
    const { code, messages, metadata } = await outcome(core, "textToImage", two);
    expect(code).toBe("ok");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
    const answered = messages[0]?.images.map(({ url }) => url);
    expect(answered).toHaveLength(2);
    expect(await Promise.all(put.mock.results.map(({ value }) => value))).toEqual(answered);
    expect(stateOf(core, "a", "i")).toMatchObject({ failures: 1, inFlight: 0 });
    expect(stateOf(core, "b", "i")).toMatchObject({ failures: 0, inFlight: 0 });
  });
  it("is made anew alone, where it has a prompt of its own", async () => {
    let calls = 0;
    const first: Paint = (call) => (calls++ === 0 ? paints(1) : breaks())(call);
    const all = targets(first, paints(1));
    const { core } = bench(all);
    const { code, messages } = await outcome(core, "textToImage", { prompt: "a circle | a star" });
    expect(code).toBe("ok");
    expect(messages[0]?.images).toHaveLength(2);
    expect(all.map(({ asked }) => asked.length)).toEqual([2, 1]);
    expect(all[1]?.asked).toMatchObject([{ prompt: "a star" }]);
  });
  it("is not made anew once the caller has an image of its request", async () => {
    const all = targets(loses(1), paints());
    const { code, messages } = await outcome(bench(all).core, "streamTextToImage", two);
    expect(code).toBe("upstream_unreachable");
    expect(messages.filter(({ event }) => event.case === "image")).toHaveLength(1);
    expect(all[1]?.asked).toEqual([]);
  });
  it("is not made anew once what it came with is more than is kept", async () => {
    const mib = 1024 * 1024;
    const large = (bytes: number): Paint =>
      async function* (call) {
        for await (const batch of loses(2)(call)) {
          for (const { event } of batch) {
            if (event.case !== "image" || !event.value.media) continue;
            event.value.media.data = Buffer.concat([event.value.media.data], bytes);
          }
          yield batch;
        }
      };
    const three = { ...ask, numImagesPerPrompt: 3 };
    const kept = targets(large(8 * mib), paints());
    expect((await outcome(bench(kept).core, "textToImage", three)).code).toBe("ok");
    const all = targets(large(8 * mib + 1), paints());
    const { code } = await outcome(bench(all).core, "textToImage", three);
    expect(code).toBe("upstream_unreachable");
    expect(all[1]?.asked).toEqual([]);
  });
  it("is made anew by a third one: what the one before came with counts no more", async () => {
    const large: Paint = async function* (call) {
      for await (const batch of loses(1)(call)) {
        for (const { event } of batch) {
          if (event.case !== "image" || !event.value.media) continue;
          event.value.media.data = Buffer.concat([event.value.media.data], 10 * 1024 * 1024);
        }
        yield batch;
      }
    };
    const all = targets(large, large, paints());
    const { code, messages } = await outcome(bench(all).core, "textToImage", two);
    expect(code).toBe("ok");
    expect(messages[0]?.images).toHaveLength(2);
    expect(all.map(({ asked }) => asked.length)).toEqual([1, 1, 1]);
  });
  it("leaves no image behind where no other target follows", async () => {
    const media = memoryStore(() => "http://here");
    const put = vi.spyOn(media, "put");
    const { core } = bench(targets(loses(1)), { retry: { attempts: 1 } }, [], { media });
    expect((await outcome(core, "textToImage", two)).code).toBe("upstream_unreachable");
    expect(put).not.toHaveBeenCalled();
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
    const all = targets(warns("of a", breaks()), warns("of b", paints()));
    const { messages } = await outcome(bench(all).core, "textToImage", ask);
    expect(messages[0]?.warnings).toContain("of b");
    expect(messages[0]?.warnings).not.toContain("of a");
  });
  it.each(["textToImage", "streamTextToImage"] as const)(
    "has the warnings of the last one that was asked, where none makes it: %s",
    async (method) => {
      const dies = breaksAt0("unavailable");
      const all = targets(warns("of a", dies), warns("of b", dies));
      const { code, warnings } = await outcome(
        bench(all, { retry: { attempts: 2 } }).core,
        method,
        ask,
      );
      expect(code).toBe("unavailable");
      expect(warnings).toContain("of b");
      expect(warnings).not.toContain("of a");
    },
  );
});

describe("an image that was begun when its target falls silent", () => {
  it("is made by another one, if the caller has not seen it", async () => {
    const signals: CallSignal[] = [];
    const deaf: Paint = async function* ({ signal }) {
      signals.push(signal);
      yield [step(1)];
      await new Promise(() => {});
    };
    const drawn = gate();
    const later: Paint = async function* (call) {
      await drawn.opened;
      yield* paints(1)(call);
    };
    const { core, clock } = bench(targets(deaf, later), {}, silentAfter(500));
    const answer = outcome(core, "textToImage", ask);
    await clock.advance(499);
    expect(stateOf(core, "a", "i")).toMatchObject({ inFlight: 1 });
    await clock.advance(1);
    // It is to stop there while another one draws.
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    drawn.open();
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
