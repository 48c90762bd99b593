/** What is told of calls that are mirrored. */
import { expect, onTestFinished, test } from "vitest";
import { mirroring } from "../core/mirroring.js";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { fails, gate, hello, inTurn } from "../support/routing.js";
import { says } from "../support/scripted.js";
import { Collector, type Span } from "./collector.js";
import { otlpTo, samples, telemetryOf } from "./support.js";

const ask = { ...hello, model: "m" };

/** Samples of mirrors, without their buckets, and of what must not count them. */
const told = (text: string) =>
  Object.fromEntries(
    [...samples(text)].filter(([key]) => /mirror.*/.test(key) && !/_bucket/.test(key)),
  );

test("metrics have each mirror, apart from the calls and attempts", async () => {
  const open = await telemetryOf({ prometheus: true });
  const shadow = inTurn(says("a", "b"), fails("unavailable"), says("c"));
  const prices = [{ model: "s", input: 1e6, output: 2e6 }];
  const mirror = { maxInFlight: 1 };
  const parts = { telemetry: open.telemetry, prices };
  const it = mirroring(shadow, { mirror, parts });
  for (let i = 0; i < 3; i++) {
    await run(it.core, "chat", ask);
    await it.core.idle();
  }
  const text = open.prometheus?.() ?? "";
  const labels = 'lintel_mirrored_model="m",lintel_backend="shadow",gen_ai_request_model="s"';
  expect(told(text)).toEqual({
    [`lintel_mirror_calls_total{${labels},lintel_outcome="ok"}`]: 2,
    [`lintel_mirror_calls_total{${labels},lintel_outcome="unavailable"}`]: 1,
    [`lintel_mirror_duration_seconds_count{${labels}}`]: 2,
    [`lintel_mirror_duration_seconds_sum{${labels}}`]: 0,
    [`lintel_mirror_duration_seconds_count{${labels},error_type="unavailable"}`]: 1,
    [`lintel_mirror_duration_seconds_sum{${labels},error_type="unavailable"}`]: 0,
    [`lintel_mirror_time_to_first_chunk_seconds_count{${labels}}`]: 2,
    [`lintel_mirror_time_to_first_chunk_seconds_sum{${labels}}`]: 0,
    [`lintel_mirror_tokens_total{${labels},gen_ai_token_type="input"}`]: 14,
    [`lintel_mirror_tokens_total{${labels},gen_ai_token_type="output"}`]: 3,
    [`lintel_mirror_spend_total{${labels}}`]: 14 + 6,
  });
  const others = [...samples(text).keys()].filter((key) => !key.includes("mirror"));
  expect(others.filter((key) => key.includes("shadow"))).toEqual([]);
  expect(others.filter((key) => /attempts_total|token_usage_count/.test(key))).toHaveLength(3);
});

test("what was not mirrored is counted by its reason", async () => {
  const open = await telemetryOf({ prometheus: true });
  const slow = gate();
  const it = mirroring(slow.handle, {
    mirror: { maxInFlight: 1 },
    parts: { telemetry: open.telemetry },
  });
  for (let i = 0; i < 3; i++) {
    await run(it.core, "chat", ask);
    await settled();
  }
  const key =
    'lintel_mirror_passed_over_total{lintel_mirrored_model="m",lintel_backend="shadow",gen_ai_request_model="s",lintel_mirror_reason="full"}';
  expect(told(open.prometheus?.() ?? "")).toEqual({ [key]: 2 });
  it.core.abort();
});

test("a mirror has a span below its call's, also where that has ended before", async () => {
  const sink = await Collector.start();
  onTestFinished(() => sink.close());
  const providers = new Map([["shadow", "anthropic"]]);
  const open = await telemetryOf({ otlp: otlpTo(sink.url, { metrics: false }), providers });
  const slow = gate("x");
  const traces: unknown[] = [];
  const it = mirroring(
    async function* (call) {
      traces.push(call.trace?.traceparent);
      for await (const batch of slow.handle(call)) {
        yield batch.map((message) => ({ ...message, id: "theirs", model: "s-1" }));
      }
    },
    { parts: { telemetry: open.telemetry } },
  );
  await run(it.core, "chat", ask);
  await settled();
  slow.open();
  await it.core.idle();
  await open.close();
  const call = sink.spans.find(({ kind }) => kind === 2) as Span;
  const mirror = sink.spans.find(({ attributes }) => attributes["lintel.mirror"]) as Span;
  expect(sink.spans).toHaveLength(3);
  expect(call.attributes).toMatchObject({ "lintel.attempts": 1, "lintel.backend": "real" });
  expect(mirror).toMatchObject({
    name: "chat s",
    kind: 3,
    traceId: call.traceId,
    parentSpanId: call.spanId,
    attributes: {
      "lintel.backend": "shadow",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "s",
      "gen_ai.usage.input_tokens": 7,
      "gen_ai.usage.output_tokens": 1,
      "gen_ai.response.id": "theirs",
      "gen_ai.response.model": "s-1",
      "gen_ai.response.finish_reasons": ["stop"],
    },
  });
  expect(mirror.attributes).not.toHaveProperty("lintel.attempt");
  expect(traces).toEqual([`00-${call.traceId}-${mirror.spanId}-01`]);
});

test("the span of a mirror that failed says so, and the call's does not", async () => {
  const sink = await Collector.start();
  onTestFinished(() => sink.close());
  const open = await telemetryOf({ otlp: otlpTo(sink.url, { metrics: false }) });
  const it = mirroring(fails("unavailable"), { parts: { telemetry: open.telemetry } });
  await run(it.core, "chat", ask);
  await it.core.idle();
  await open.close();
  const [mirror] = sink.spans.filter(({ attributes }) => attributes["lintel.mirror"]);
  expect(mirror).toMatchObject({
    status: { code: 2 },
    attributes: { "error.type": "unavailable" },
  });
  expect(sink.spans.find(({ kind }) => kind === 2)).toMatchObject({ status: { code: 0 } });
});
