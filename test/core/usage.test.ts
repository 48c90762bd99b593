import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { detailsOf, tokenUsage } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { imageEvent, inlineImage } from "../../src/core/image-events.js";
import type { Price } from "../../src/core/limits/settings.js";
import { silent } from "../../src/core/log.js";
import type { Input, MethodName } from "../../src/core/methods.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import type { UsageRecord, UsageSink } from "../../src/core/usage/record.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { never, start } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import {
  breaksAfter,
  hangsAfter,
  paints,
  piece,
  png,
  says,
  scripted,
  thinksCounted,
} from "../support/scripted.js";

const messages = [{ role: "user", content: "Hello" }];
const secret = createToken();
const tokens = [{ name: "alice", hash: hashToken(secret) }];
const known = { auth: { mode: "token", tokens } } as const;

/** Remembers records; those that wait are kept once it is opened. */
class Sink implements UsageSink {
  readonly records: UsageRecord[] = [];
  #open: () => void = () => {};
  #gate = Promise.resolve();

  close(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }

  keep(record: UsageRecord): Promise<void> {
    this.records.push(record);
    return this.#gate;
  }
}

const prices = [
  { model: "chat-*", input: 2, output: 10 },
  { model: "image-1", image: 0.5 },
];

function metered(backends: Parameters<typeof coreOf>[0], settings = {}) {
  const sink = new Sink();
  return { sink, core: coreOf(backends, settings, { usage: { sink, prices } }) };
}

describe("one record for each call", () => {
  test("streamed, whole, images; a list of models has none", async () => {
    const backend = scripted({ chat: says("a", "b"), streamTextToImage: paints() });
    const { sink, core } = metered([backend], known);
    const origin = { credential: secret, requestId: "req-7" };
    const before = Date.now();
    await run(core, "chat", { messages }, origin);
    await run(core, "complete", { messages }, origin);
    await run(core, "textToImage", { modelId: "image-1", prompt: "x|y" }, origin);
    await run(core, "streamTextToImage", { modelId: "image-1", prompt: "x" }, origin);
    await run(core, "listModels", {}, origin);
    const chat = {
      requestId: "req-7",
      caller: "alice",
      token: hashToken(secret).slice(7, 19),
      door: "test",
      method: "chat",
      model: "chat-1",
      backend: "scripted",
      attempts: 1,
      promptTokens: 7,
      completionTokens: 2,
      images: 0,
      estimated: false,
      outcome: "ok",
      spend: 34_000,
    };
    const image = { model: "image-1", promptTokens: 0, spend: 500_000_000, images: 1 };
    expect(sink.records).toMatchObject([
      chat,
      { ...chat, method: "complete" },
      { ...image, method: "textToImage", images: 2, spend: 1_000_000_000 },
      { ...image, method: "streamTextToImage", outcome: "ok" },
    ]);
    for (const { at, durationMs, firstMs } of sink.records) {
      expect(at).toBeGreaterThanOrEqual(before);
      expect(durationMs).toBeGreaterThanOrEqual(firstMs ?? Number.POSITIVE_INFINITY);
    }
    expect(new Set(sink.records.map(({ id }) => id)).size).toBe(4);
  });

  test("with the milliseconds until the first message, and until the last, to the hundredth", async () => {
    let now = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const { sink, core } = metered([
      scripted({
        chat: async function* () {
          now += 12.3456;
          yield [piece("a")];
          now += 20;
          yield [piece("", "stop", [7, 1])];
        },
      }),
    ]);
    await run(core, "chat", { messages });
    expect(sink.records).toMatchObject([{ firstMs: 12.35, durationMs: 32.35 }]);
  });

  test("with what was in a cache, written to one, and thought, where the model server tells, by its own price", async () => {
    const sink = new Sink();
    const price = { model: "*", input: 2, cachedInput: 0.5, cacheWriteInput: 4, output: 10 };
    const backend = scripted({ chat: thinksCounted("hm", "x") });
    const core = coreOf([backend], {}, { usage: { sink, prices: [price] } });
    await run(core, "chat", { messages, includeReasoning: false });
    await run(core, "complete", { messages });
    // 2 of 7 at 2, 3 at 0.5, 2 at 4, and 9 at 10 per million.
    const details = { cachedTokens: 3, cacheWriteTokens: 2, reasoningTokens: 8 };
    const record = { promptTokens: 7, completionTokens: 9, ...details, spend: 103_500 };
    expect(sink.records).toMatchObject([record, record]);
  });

  test.each([
    // 7 at 0.5, and 9 at 10 per million; 5 at 0.5 and 2 at 4; 7 at 4.
    ["all of it in a cache", detailsOf(50, 50, 80), [7, 0], 93_500],
    ["all the others written", detailsOf(5, 50, 80), [5, 2], 100_500],
    ["all of it written", detailsOf(undefined, 50, 80), [undefined, 7], 118_000],
    // 1 at 4, and 6 at 8; 7 at 8.
    ["some of it for an hour", detailsOf(undefined, 50, 80, 6), [undefined, 7], 142_000],
    ["all of it for an hour", detailsOf(undefined, 50, 80, 50), [undefined, 7], 146_000],
    ["none written, and all for an hour", detailsOf(50, undefined, 80, 50), [7, undefined], 93_500],
  ])(
    "with no more in a cache, written to one, or thought, than all of them, whatever a node tells: %s",
    async (_, details, [cachedTokens, cacheWriteTokens], spend) => {
      const sink = new Sink();
      const price = {
        ...{ model: "*", input: 2, cachedInput: 0.5, cacheWriteInput: 4, output: 10 },
        cacheWrite1hInput: 8,
      };
      const chat: Handle<"chat"> = async function* () {
        yield [piece("a")];
        yield [{ ...piece("", "stop"), usage: tokenUsage(7, 9, details) }];
      };
      const core = coreOf([scripted({ chat })], {}, { usage: { sink, prices: [price] } });
      const [, last] = await run(core, "chat", { messages });
      const counts = { promptTokens: 7, completionTokens: 9, reasoningTokens: 9 };
      const told = { ...counts, cachedTokens, cacheWriteTokens };
      expect(last?.usage).toMatchObject(told);
      expect(sink.records).toMatchObject([{ ...told, spend }]);
    },
  );

  test("with nothing in a cache, or written to one, of a prompt that was not counted", async () => {
    const chat: Handle<"chat"> = async function* () {
      yield [piece("a")];
      yield [{ ...piece("", "stop"), usage: tokenUsage(0, 9, detailsOf(4, 2, 1)) }];
    };
    const { sink, core } = metered([scripted({ chat })]);
    await run(core, "chat", { messages });
    const none = { cachedTokens: undefined, cacheWriteTokens: undefined };
    expect(sink.records).toMatchObject([{ ...none, reasoningTokens: 1 }]);
  });

  test("however many backends were asked", async () => {
    const away = new LintelError("upstream_unreachable", "away");
    const broken = scripted({ chat: breaksAfter(away) }, undefined, "broken");
    const { sink, core } = metered([broken, scripted({ chat: says("a") })], {
      models: [{ name: "chat-1", backends: ["broken", "scripted"] }],
    });
    for (let i = 0; i < 20; i++) await run(core, "complete", { model: "chat-1", messages });
    expect(sink.records).toHaveLength(20);
    expect(sink.records.every((it) => it.outcome === "ok" && it.backend === "scripted")).toBe(true);
    expect(sink.records.some(({ attempts }) => attempts === 2)).toBe(true);
  });

  test("by the price of the target that answered, and of a prompt of its length", async () => {
    const sink = new Sink();
    const served = [chatModel("big"), chatModel("small")];
    const chat: Handle<"chat"> = async function* ({ request: { model } }) {
      if (model === "big") throw new LintelError("upstream_unreachable", "away");
      yield [piece("a")];
      yield [piece("", "stop", [7, 3])];
    };
    const own = scripted(
      { chat: breaksAfter(new LintelError("unavailable", "no")) },
      served,
      "own",
    );
    const targets = [
      { backend: "own", model: "big" },
      { backend: "cloud", model: "big", priority: 1 },
      { backend: "cloud", model: "small", priority: 2 },
    ];
    const spends = async (...prices: Price[]) => {
      const core = coreOf(
        [own, scripted({ chat }, served, "cloud")],
        { models: [{ name: "chat", targets }] },
        { usage: { sink, prices } },
      );
      await run(core, "complete", { model: "chat", messages });
      expect(sink.records.at(-1)).toMatchObject({ backend: "cloud", attempts: 3, outcome: "ok" });
      return sink.records.at(-1)?.spend;
    };
    const all = { model: "chat", input: 1, output: 1 };
    const cloud = { model: "chat", input: 2, output: 10 };
    expect(await spends({ ...cloud, target: { backend: "own" } }, all)).toBe(10_000);
    expect(await spends({ ...cloud, target: { backend: "cloud" } }, all)).toBe(44_000);
    expect(await spends({ ...cloud, target: { model: "big" } }, all)).toBe(10_000);
    expect(await spends({ ...cloud, target: { backend: "cloud", model: "sm*" } }, all)).toBe(
      44_000,
    );
    expect(await spends({ ...cloud, promptAbove: 6 }, all)).toBe(44_000);
    expect(await spends({ ...cloud, promptAbove: 7 }, all)).toBe(10_000);
    expect(await spends({ ...cloud, target: { backend: "own" } })).toBeUndefined();
  });

  test("a model without a price has no spend", async () => {
    const backend = scripted({ chat: says("a") }, [chatModel("free")]);
    const { sink, core } = metered([backend]);
    await run(core, "complete", { messages });
    expect(sink.records).toMatchObject([{ model: "free", spend: undefined }]);
  });

  test("estimated counts say so", async () => {
    const { sink, core } = metered([
      scripted({
        chat: async function* () {
          yield [piece("12345678")];
          yield [piece("", "stop")];
        },
      }),
    ]);
    await run(core, "chat", { messages });
    expect(sink.records).toMatchObject([{ completionTokens: 2, estimated: true }]);
  });

  test("counts that the server itself estimated say so, too", async () => {
    const chat: Handle<"chat"> = async function* () {
      yield [piece("a")];
      yield [{ ...piece("", "stop", [7, 1]), usageEstimated: true }];
    };
    const { sink, core } = metered([scripted({ chat })]);
    const streamed = await run(core, "chat", { messages });
    const answers = [...streamed.slice(-1), ...(await run(core, "complete", { messages }))];
    expect(answers.map(({ usageEstimated }) => usageEstimated)).toEqual([true, true]);
    const record = { promptTokens: 7, completionTokens: 1, estimated: true };
    expect(sink.records).toMatchObject([record, record]);
  });
});

/** Starts a call and takes its steps one by one. */
function steps<M extends MethodName>(
  core: ReturnType<typeof coreOf>,
  method: M,
  request: Partial<Input<M>>,
  signal = never,
) {
  const running = core.call(method, request as Input<M>, {
    door: "test",
    credential: "me",
    signal,
  });
  return running.messages[Symbol.asyncIterator]();
}

const chatRequest = {
  $typeName: "lintel.v1.LLMRequest",
  model: "",
  messages: [say("user", "Hello")],
  stop: [],
  tools: [],
  modalities: [],
} as unknown as Input<"chat">;

test("no answer is complete before its record is safe", async () => {
  const { sink, core } = metered([scripted({ chat: says("a", "b") })]);
  sink.close();
  for (const method of ["chat", "complete"] as const) {
    sink.records.length = 0;
    sink.close();
    const call = steps(core, method, chatRequest);
    if (method === "chat") for (const _ of ["a", "b"]) expect((await call.next()).done).toBe(false);
    let last: unknown;
    const end = call.next().then((result) => {
      last = result;
    });
    while (sink.records.length === 0) await new Promise(setImmediate);
    for (let i = 0; i < 10; i++) await new Promise(setImmediate);
    expect(last).toBeUndefined();
    sink.open();
    await end;
    expect(last).toMatchObject({ done: false });
    expect((await call.next()).done).toBe(true);
    expect(sink.records).toMatchObject([{ method, outcome: "ok" }]);
  }
});

test("no images are complete before their record is safe", async () => {
  const { sink, core } = metered([scripted({ streamTextToImage: paints(1) })]);
  sink.close();
  const seen: (string | undefined)[] = [];
  const read = async () => {
    const asked = start(core, "streamTextToImage", { modelId: "image-1", prompt: "x" });
    for await (const batch of asked.messages) seen.push(...batch.map(({ event }) => event.case));
  };
  const all = read();
  while (sink.records.length === 0) await new Promise(setImmediate);
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  expect(seen.at(-1)).toBe("image");
  sink.open();
  await all;
  expect(seen.at(-1)).toBe("done");
  expect(sink.records).toMatchObject([{ outcome: "ok", images: 1 }]);
});

describe("the log and the caller hear of the end that is in the record", () => {
  const leaves = ["while the record is written", "behind the last message"] as const;
  const cases = (["chat", "complete"] as const).flatMap((method) =>
    leaves.map((when) => [method, when] as const),
  );
  test.each(cases)("%s, the caller leaves %s", async (method, when) => {
    const codes: unknown[] = [];
    const info = (fields: object, message: string) => {
      if (message === "call") codes.push((fields as { code: string }).code);
    };
    const sink = new Sink();
    const parts = { usage: { sink, prices }, log: { ...silent, info } };
    const core = coreOf([scripted({ chat: says("a") })], {}, parts);
    const leaving = new AbortController();
    const call = steps(core, method, chatRequest, leaving.signal);
    if (method === "chat") await call.next();
    sink.close();
    const last = call.next();
    while (sink.records.length === 0) await new Promise(setImmediate);
    if (when === "while the record is written") leaving.abort();
    sink.open();
    expect(await last).toMatchObject({ done: false });
    leaving.abort();
    // Also where nobody asks for the end.
    expect(codes).toEqual(["ok"]);
    expect(await call.next()).toMatchObject({ done: true });
    await call.return?.();
    expect(sink.records).toMatchObject([{ outcome: "ok" }]);
    expect(codes).toEqual(["ok"]);
  });

  test("a failure stays what it was", async () => {
    const sink = new Sink();
    const failing = breaksAfter(new LintelError("upstream_failed", "broken"), "1234");
    const core = coreOf([scripted({ chat: failing })], {}, { usage: { sink, prices } });
    const leaving = new AbortController();
    const call = steps(core, "chat", chatRequest, leaving.signal);
    await call.next();
    sink.close();
    const end = expect(call.next()).rejects.toMatchObject({ code: "upstream_failed" });
    while (sink.records.length === 0) await new Promise(setImmediate);
    leaving.abort();
    sink.open();
    await end;
    expect(sink.records).toMatchObject([{ outcome: "upstream_failed" }]);
  });
});

describe("calls that don't end well", () => {
  test("the caller leaves: what was delivered counts", async () => {
    const hanging = hangsAfter("12345678", "1234");
    const { sink, core } = metered([scripted({ chat: hanging.handle })]);
    const leaving = new AbortController();
    const call = steps(core, "chat", chatRequest, leaving.signal);
    await call.next();
    await call.next();
    const next = call.next();
    leaving.abort();
    await expect(next).rejects.toMatchObject({ code: "cancelled" });
    await hanging.aborted;
    expect(sink.records).toMatchObject([
      { outcome: "cancelled", completionTokens: 3, estimated: true, attempts: 1 },
    ]);
  });

  test("the gateway ends", async () => {
    const { handle } = hangsAfter("a");
    const { sink, core } = metered([scripted({ chat: handle })]);
    const steps = start(core, "chat", { messages }).messages[Symbol.asyncIterator]();
    await steps.next();
    core.abort();
    await expect(steps.next()).rejects.toMatchObject({ code: "shutting_down" });
    expect(sink.records).toMatchObject([{ outcome: "shutting_down", completionTokens: 1 }]);
  });

  test("the caller stops reading", async () => {
    const hanging = hangsAfter("1234");
    const { sink, core } = metered([scripted({ chat: hanging.handle })]);
    const call = steps(core, "chat", chatRequest);
    await call.next();
    await call.return?.();
    expect(sink.records).toMatchObject([{ outcome: "cancelled", completionTokens: 1 }]);
  });

  test("the model server breaks off", async () => {
    const failure = new LintelError("upstream_failed", "broken");
    const { sink, core } = metered([scripted({ chat: breaksAfter(failure, "1234") })]);
    await expect(run(core, "chat", { messages })).rejects.toThrow("broken");
    expect(sink.records).toMatchObject([{ outcome: "upstream_failed", completionTokens: 1 }]);
  });

  test("images that nobody got don't count", async () => {
    const broken = new LintelError("upstream_failed", "broken");
    const streamTextToImage: Handle<"streamTextToImage"> = async function* ({ request }) {
      yield [imageEvent(0, inlineImage(png(1), Number(request.seed ?? 0n)))];
      throw broken;
    };
    const limits = {
      settings: { caller: { imagesPerDay: 3 }, models: [] },
      prices: [],
      store: memoryLimits(),
    };
    const sink = new Sink();
    const backends = [scripted({ streamTextToImage })];
    const core = coreOf(backends, {}, { usage: { sink, prices }, limits });
    const request = { modelId: "image-1", prompt: "x", numImagesPerPrompt: 2 };
    // Each of them would fill the rest of the day's three images.
    for (let i = 0; i < 3; i++) {
      await expect(run(core, "textToImage", request)).rejects.toBe(broken);
    }
    // What was delivered before counts.
    await expect(run(core, "streamTextToImage", request)).rejects.toBe(broken);
    const nothing = { outcome: "upstream_failed", images: 0, spend: 0 };
    expect(sink.records).toMatchObject([
      nothing,
      nothing,
      nothing,
      { outcome: "upstream_failed", images: 1, spend: 500_000_000 },
    ]);
  });

  test("an image that was ready is not counted where a later one of its batch is blocked", async () => {
    const streamTextToImage: Handle<"streamTextToImage"> = async function* () {
      yield [0, 1].map((index) => imageEvent(index, inlineImage(png(index), index)));
    };
    const sink = new Sink();
    let checked = 0;
    const core = coreOf(
      [scripted({ streamTextToImage })],
      { safetyAction: "block" },
      {
        usage: { sink, prices },
        checker: { isHarmful: async () => checked++ > 0 },
      },
    );
    const request = { modelId: "image-1", prompt: "x", numImagesPerPrompt: 2 };
    await expect(run(core, "streamTextToImage", request)).rejects.toMatchObject({
      code: "content_blocked",
    });
    expect(checked).toBe(2);
    expect(sink.records).toMatchObject([{ outcome: "content_blocked", images: 0 }]);
  });

  test("refused: of callers that are known", async () => {
    const { sink, core } = metered([scripted({ chat: says("a") })], known);
    const origin = { credential: secret };
    await expect(run(core, "chat", { messages: [] }, origin)).rejects.toThrow();
    await expect(run(core, "chat", { messages, model: "no" }, origin)).rejects.toThrow();
    expect(sink.records).toMatchObject([
      { caller: "alice", outcome: "invalid_fields", model: undefined, attempts: 0 },
      { caller: "alice", outcome: "model_not_found", attempts: 0, promptTokens: 0 },
    ]);
    await expect(run(core, "chat", { messages }, { credential: createToken() })).rejects.toThrow();
    expect(sink.records).toHaveLength(2);
  });

  test("refused: strangers don't fill the disk, but what reached a model counts", async () => {
    const failing = scripted({ chat: breaksAfter(new LintelError("invalid_value", "no")) });
    const { sink, core } = metered([failing]);
    await expect(run(core, "chat", { messages: [] })).rejects.toThrow();
    await expect(run(core, "chat", { messages, model: "no" })).rejects.toThrow();
    expect(sink.records).toEqual([]);
    await expect(run(core, "chat", { messages })).rejects.toThrow("no");
    expect(sink.records).toMatchObject([{ outcome: "invalid_value", token: undefined }]);
  });
});
