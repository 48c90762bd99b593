import { afterEach, describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { createBackend } from "../../src/backends/index.js";
import type { BackendContext } from "../../src/backends/kind.js";
import { backendSchema } from "../../src/config/kinds.js";
import { Cancellation } from "../../src/core/cancellation.js";
import { tokenUsage } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { imageRequest } from "../backends/picture.js";
import { callOf } from "../backends/subject.js";
import { outcome } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { startLintel } from "../support/lintel.js";
import { backend, bench, equals, fails, gate, hello } from "../support/routing.js";
import { paints, piece, says, scripted, thinksCounted } from "../support/scripted.js";
import { Collector, type Span } from "./collector.js";
import { otlpTo, telemetryOf } from "./support.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function collector(): Promise<Collector> {
  const started = await Collector.start();
  closing.push(() => started.close());
  return started;
}

const caller = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;
const headers: Record<string, string> = { traceparent, tracestate: "vendor=1,other=2" };
const header = (name: string) => headers[name];

const named = (spans: readonly Span[], name: string) => {
  const found = spans.filter((span) => span.name === name);
  expect(found, name).toHaveLength(1);
  return found[0] as Span;
};

describe("a call", () => {
  test("is a span in the caller's trace, with a span below it for each attempt", async () => {
    const sink = await collector();
    const providers = new Map([["b", "openai"]]);
    const telemetry = await telemetryOf({ otlp: otlpTo(sink.url), providers });
    const backends = [backend("a", fails("unavailable")), backend("b", says("x", "y"))];
    const models = [{ name: "m", targets: [{ backend: "a" }, { backend: "b", priority: 1 }] }];
    const core = coreOf(backends, { models }, { telemetry: telemetry.telemetry });
    await run(core, "chat", { ...hello, model: "m", temperature: 0.5, seed: 3n }, { header });
    await telemetry.close();
    expect(sink.spans).toHaveLength(3);
    const call = sink.spans.find(({ kind }) => kind === 2) as Span;
    const [failed, won] = sink.spans
      .filter(({ kind }) => kind === 3)
      .sort(
        (a, b) => Number(a.attributes["lintel.attempt"]) - Number(b.attributes["lintel.attempt"]),
      );
    expect(call).toMatchObject({
      name: "chat m",
      traceId: caller.traceId,
      parentSpanId: caller.spanId,
      status: { code: 0 },
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "lintel",
        "gen_ai.request.model": "m",
        "gen_ai.output.type": "text",
        "gen_ai.request.stream": true,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.seed": 3,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.response.time_to_first_chunk": expect.any(Number),
        "lintel.attempts": 2,
        "lintel.backend": "b",
        "lintel.door": "test",
      },
      resource: { "service.name": "lintel", "service.version": "1.2.3" },
    });
    expect(failed).toMatchObject({
      name: "chat m",
      traceId: caller.traceId,
      parentSpanId: call.spanId,
      status: { code: 2 },
      attributes: { "lintel.backend": "a", "lintel.attempt": 1, "error.type": "unavailable" },
    });
    expect(won).toMatchObject({
      traceId: caller.traceId,
      parentSpanId: call.spanId,
      status: { code: 0 },
      attributes: {
        "lintel.backend": "b",
        "lintel.attempt": 2,
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
      },
    });
    expect(won?.attributes).not.toHaveProperty("error.type");
    // Who adds up the spans of a trace counts them once.
    expect(JSON.stringify([failed, won])).not.toContain("gen_ai.usage.");
    expect(JSON.stringify(sink.spans)).not.toMatch(/cache_|reasoning/);
  });

  test("tells what of its tokens was in a cache, written to one, and thoughts, where the model server does", async () => {
    const sink = await collector();
    const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) });
    const backends = [backend("a", thinksCounted("hm", "x"))];
    const core = coreOf(backends, {}, { telemetry: telemetry.telemetry });
    await run(core, "chat", hello);
    await telemetry.close();
    const usage = {
      "gen_ai.usage.input_tokens": 7,
      "gen_ai.usage.cache_read.input_tokens": 3,
      "gen_ai.usage.cache_creation.input_tokens": 2,
      "gen_ai.usage.output_tokens": 9,
      "gen_ai.usage.reasoning.output_tokens": 8,
    };
    const told = sink.spans.map(({ kind, attributes }) => [
      kind,
      Object.fromEntries(Object.entries(attributes).filter(([name]) => name.includes(".usage."))),
    ]);
    expect(told.sort()).toEqual([
      [2, usage],
      [3, {}],
    ]);
  });

  test.each(["upstream_failed", "internal"] as const)(
    "that the caller did wrong is no fault of this side, one that failed is (%s)",
    async (code) => {
      const sink = await collector();
      const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) });
      const broken = backend("a", fails(code));
      const core = coreOf(
        [broken],
        { models: equals([broken]) },
        { telemetry: telemetry.telemetry },
      );
      await expect(run(core, "chat", { ...hello, model: "nope" })).rejects.toThrow(LintelError);
      await expect(run(core, "chat", { ...hello, model: "m" })).rejects.toThrow(LintelError);
      await telemetry.close();
      const wrong = named(sink.spans, "chat");
      expect(wrong.parentSpanId ?? "").toBe("");
      expect(wrong).toMatchObject({
        status: { code: 0 },
        attributes: { "error.type": "model_not_found" },
      });
      const failed = sink.spans.find(({ kind, name }) => kind === 2 && name === "chat m");
      expect(failed).toMatchObject({
        status: { code: 2 },
        attributes: { "error.type": code },
      });
    },
  );

  test("has no parameters that nothing has checked, and of long ones the beginning", async () => {
    const sink = await collector();
    const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) });
    const core = coreOf([backend("a", says("x"))], {}, { telemetry: telemetry.telemetry });
    // No collector reads a batch with such a number, nor the other spans in it.
    const wrong = { ...hello, temperature: 1e300, seed: 2n ** 63n - 1n, stop: ["x"] };
    await expect(run(core, "complete", wrong)).rejects.toThrow("temperature: must be");
    await run(core, "complete", { ...hello, model: "m", stop: ["x".repeat(100_000)] });
    await telemetry.close();
    const parameters = Object.keys(named(sink.spans, "chat").attributes).filter((name) =>
      name.startsWith("gen_ai.request."),
    );
    expect(parameters).toEqual(["gen_ai.request.stream"]);
    const long = sink.spans.find(({ kind, name }) => kind === 2 && name === "chat m");
    expect(long?.attributes["gen_ai.request.stop_sequences"]).toEqual([`${"x".repeat(4000)}…`]);
  });

  /** A piece of an answer as model servers send it, with a name of theirs. */
  const said = (content: string, end = "", id = "cmpl-7"): LLMResponse => ({
    ...piece(content, end),
    ...{ id, model: "m-2026-01-01" },
  });
  const responses = (span: Span | undefined) =>
    Object.entries(span?.attributes ?? {}).filter(([name]) =>
      /^(?:gen_ai|openai)\.response\.(?!time)/.test(name),
    );

  test.each(["chat", "complete"] as const)(
    "has of each attempt, and of itself, what the model server says of the answer (%s)",
    async (method) => {
      const sink = await collector();
      const { telemetry, close } = await telemetryOf({ otlp: otlpTo(sink.url) });
      const answers = backend("a", async function* () {
        yield [said("x")];
        yield [said("y")];
        yield [
          { ...said("", "length"), serviceTier: "flex" },
          { ...said(""), choices: [], usage: tokenUsage(7, 2) },
        ];
      });
      await run(coreOf([answers], {}, { telemetry }), method, hello);
      await close();
      const [attempt, call] = sink.spans.toSorted((a, b) => b.kind - a.kind);
      expect(responses(attempt)).toEqual([
        ["gen_ai.response.id", "cmpl-7"],
        ["gen_ai.response.model", "m-2026-01-01"],
        ["gen_ai.response.finish_reasons", ["length"]],
        ["openai.response.service_tier", "flex"],
      ]);
      expect(responses(call)).toEqual(responses(attempt));
      // What is not streamed has no first piece.
      const timed = [attempt, call].map(
        (span) => "gen_ai.response.time_to_first_chunk" in (span?.attributes ?? {}),
      );
      expect(timed).toEqual([method === "chat", method === "chat"]);
    },
  );

  test("has of half an answer its name, and of words that can't be written down what can be", async () => {
    const sink = await collector();
    const { telemetry, close } = await telemetryOf({ otlp: otlpTo(sink.url) });
    const broken = backend("a", async function* () {
      yield [said("x", "", `\ud800${"i".repeat(5000)}`)];
      throw new LintelError("upstream_failed", "broke");
    });
    const core = coreOf([broken], {}, { telemetry });
    await expect(run(core, "chat", hello)).rejects.toThrow("broke");
    await close();
    for (const span of sink.spans) {
      expect(responses(span)).toEqual([
        ["gen_ai.response.id", `\ufffd${"i".repeat(3999)}…`],
        ["gen_ai.response.model", "m-2026-01-01"],
      ]);
    }
  });

  test("has the name of the answer that its caller got, also where another was broken off", async () => {
    const sink = await collector();
    const { telemetry, close } = await telemetryOf({ otlp: otlpTo(sink.url) });
    const broken = backend("a", async function* () {
      yield [said("", "", "broken")];
      throw new LintelError("unavailable", "broke");
    });
    const whole = backend("b", async function* () {
      yield [said("x", "", "whole")];
      yield [{ ...said("", "stop", "whole"), usage: tokenUsage(7, 2) }];
    });
    const models = [{ name: "m", targets: [{ backend: "a" }, { backend: "b", priority: 1 }] }];
    await run(coreOf([broken, whole], { models }, { telemetry }), "complete", {
      ...hello,
      model: "m",
    });
    await close();
    const call = sink.spans.find(({ kind }) => kind === 2);
    expect(call?.attributes).toMatchObject({
      "lintel.attempts": 2,
      "gen_ai.response.id": "whole",
      "gen_ai.usage.input_tokens": 7,
    });
  });

  test("that goes on without its caller ends in its trace when the caller left", async () => {
    const sink = await collector();
    const { telemetry, close } = await telemetryOf({ otlp: otlpTo(sink.url) });
    const answer = gate();
    const store = new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1000, maxBytes: 1000 });
    const idempotency = { store, lingerMs: 60_000 };
    const core = coreOf([backend("a", answer.handle)], {}, { telemetry, idempotency });
    const caller = new Cancellation();
    const call = outcome(core, "chat", hello, { signal: caller, idempotencyKey: "k" });
    await settled();
    caller.abort(undefined);
    expect((await call).code).toBe("cancelled");
    const left = Date.now();
    while (Date.now() < left + 20) await settled();
    answer.open();
    await core.idle();
    await close();
    const [attempt, whole] = sink.spans.toSorted((a, b) => b.kind - a.kind);
    const endOf = (span: Span | undefined) => Number(span?.endTimeUnixNano) / 1e6;
    expect(whole?.attributes["error.type"]).toBe("cancelled");
    expect(endOf(whole)).toBeLessThan(left + 10);
    expect(endOf(attempt)).toBeGreaterThan(left + 10);
  });

  test("has attempts that take as long as they took, in seconds until the first piece", async () => {
    const sink = await collector();
    const { telemetry, close } = await telemetryOf({ otlp: otlpTo(sink.url) });
    const slow = gate();
    const models = [{ name: "m", targets: [{ backend: "a" }] }];
    const { core, clock } = bench([backend("a", slow.handle)], {}, models, { telemetry });
    const call = run(core, "chat", { ...hello, model: "m" });
    await clock.advance(5000);
    slow.open();
    await call;
    await close();
    const attempt = sink.spans.find(({ kind }) => kind === 3) as Span;
    const [from, to] = [attempt.startTimeUnixNano, attempt.endTimeUnixNano].map(BigInt);
    expect((to ?? 0n) - (from ?? 0n)).toBe(5_000_000_000n);
    expect(attempt.attributes["gen_ai.response.time_to_first_chunk"]).toBe(5);
  });

  test("has in seconds how long it waited for room, and for documents", async () => {
    const sink = await collector();
    const { telemetry, close } = await telemetryOf({ otlp: otlpTo(sink.url) });
    const call = callOf("textToImage", imageRequest());
    Object.assign(call.attributes, { queuedMs: 2500, documentsMs: 40 });
    const start = { method: call.method, id: call.id, door: "test", trace: undefined };
    const outcome = { code: "ok", firstMs: 1, totalMs: 1, endedAt: performance.now() } as const;
    telemetry.begin(start).end(call, outcome);
    await close();
    expect(sink.spans).toMatchObject([
      { attributes: { "lintel.queue.duration": 2.5, "lintel.documents.duration": 0.04 } },
    ]);
  });

  test("for images says so", async () => {
    const sink = await collector();
    const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) });
    const painter = scripted({ streamTextToImage: paints(1) });
    const core = coreOf([painter], {}, { telemetry: telemetry.telemetry });
    await run(core, "streamTextToImage", {
      prompt: "a",
      numImagesPerPrompt: 2,
      modelId: "image-1",
      includeData: true,
    });
    await telemetry.close();
    expect(sink.spans.find(({ kind }) => kind === 2)).toMatchObject({
      name: "generate_content image-1",
      attributes: {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.output.type": "image",
        "gen_ai.request.choice.count": 2,
        "lintel.images": 2,
      },
    });
  });
});

test.each([
  ["over gRPC", (url: string) => ({ type: "node", name: "next", address: url, token: "t" })],
  [
    "over REST",
    (url: string) => ({
      type: "rest",
      name: "next",
      url,
      token: "t",
      models: [{ id: "chat-1", task: "chat" }],
    }),
  ],
] as const)("two Lintels in a row are one trace %s", async (_, entry) => {
  const sink = await collector();
  const open = () => telemetryOf({ otlp: otlpTo(sink.url, { metrics: false }) });
  const [first, second] = [await open(), await open()];
  const chats = scripted({ chat: says("x") });
  const behind = await startLintel([chats], { parts: { telemetry: second.telemetry } });
  const config = backendSchema.parse(entry(behind.url));
  const next = await createBackend(config, { log: silent } as BackendContext);
  next.start?.();
  const front = await startLintel([next], { parts: { telemetry: first.telemetry } });
  const response = await fetch(`${front.url}/llm`, {
    method: "POST",
    headers: { ...headers, authorization: "Bearer x", "content-type": "application/json" },
    body: JSON.stringify({ ...hello, model: "chat-1", stream: true }),
  });
  expect(response.status).toBe(200);
  await response.text();
  await front.close();
  await next.close();
  await behind.close();
  await first.close();
  await second.close();
  const byId = new Map(sink.spans.map((span) => [span.spanId, span]));
  const chain: Span[] = [];
  // From the last question up to the call of the caller.
  const parents = new Set(sink.spans.map(({ parentSpanId }) => parentSpanId));
  const spans = sink.spans.filter(({ name }) => name === "chat chat-1");
  let span = spans.find(({ spanId }) => !parents.has(spanId));
  for (; span; span = byId.get(span.parentSpanId ?? "")) chain.push(span);
  expect(chain.map(({ kind }) => kind)).toEqual([3, 2, 3, 2]);
  expect(chain.at(-1)?.parentSpanId).toBe(caller.spanId);
  expect(spans).toHaveLength(4);
  for (const { traceId, traceState } of spans) {
    expect(traceId).toBe(caller.traceId);
    expect(traceState).toBe("vendor=1,other=2");
  }
});

test("a trace that its beginner does not record is not recorded, nor further on", async () => {
  const sink = await collector();
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url, { sampleRatio: 1 }) });
  const seen: (string | undefined)[] = [];
  const asked = scripted({
    chat: (call) => {
      seen.push(call.trace?.traceparent);
      return says("x")(call);
    },
  });
  const core = coreOf([asked], {}, { telemetry: telemetry.telemetry });
  const unsampled = { ...headers, traceparent: traceparent.replace(/01$/, "00") };
  await run(core, "chat", hello, { header: (name: string) => unsampled[name as "traceparent"] });
  await telemetry.close();
  expect(sink.spans).toEqual([]);
  expect(seen[0]).toMatch(new RegExp(`^00-${caller.traceId}-[0-9a-f]{16}-00$`));
});

test("a place is told without flags that no Recommendation has", async () => {
  const sink = await collector();
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) });
  const seen: (string | undefined)[] = [];
  const asked = scripted({
    chat: (call) => {
      seen.push(call.trace?.traceparent);
      return says("x")(call);
    },
  });
  const core = coreOf([asked], {}, { telemetry: telemetry.telemetry });
  for (const flags of ["03", "02"]) {
    const random = traceparent.replace(/01$/, flags);
    await run(core, "chat", hello, {
      header: (name) => (name === "traceparent" ? random : undefined),
    });
  }
  await telemetry.close();
  expect(seen.map((place) => place?.slice(-2))).toEqual(["01", "00"]);
});

test("the log has the trace that a call is in, whoever began it", async () => {
  const sink = await collector();
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) });
  const logged: unknown[] = [];
  const log = { ...silent, info: (fields: object) => void logged.push({ ...fields }) };
  const core = coreOf([backend("a")], {}, { telemetry: telemetry.telemetry, log });
  await run(core, "chat", hello);
  await run(core, "chat", hello, { header });
  await telemetry.close();
  const [own, callers] = sink.spans.filter(({ kind }) => kind === 2);
  expect(callers?.traceId).toBe(caller.traceId);
  expect(own?.traceId).not.toBe(caller.traceId);
  expect(logged).toMatchObject([{ traceId: own?.traceId }, { traceId: caller.traceId }]);
});

test("none of the traces that begin here is recorded where the share is 0", async () => {
  const sink = await collector();
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url, { sampleRatio: 0 }) });
  const core = coreOf([scripted({ chat: says("x") })], {}, { telemetry: telemetry.telemetry });
  await run(core, "chat", hello);
  await run(core, "chat", hello, { header });
  await telemetry.close();
  expect(sink.spans.map(({ traceId }) => traceId)).toEqual([caller.traceId, caller.traceId]);
});
