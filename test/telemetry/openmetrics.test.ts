/** Metrics as OpenMetrics, and the traces that stand at values of histograms. */
import { describe, expect, onTestFinished, test } from "vitest";
import { metricsFormOf } from "../../src/doors/metrics-form.js";
import { coreOf, run } from "../support/core.js";
import { gateway } from "../support/gateway.js";
import { backend, fails, hello, inTurn } from "../support/routing.js";
import { says } from "../support/scripted.js";
import { Collector } from "./collector.js";
import { openSamples } from "./openmetrics.js";
import { otlpTo, samples, telemetryOf } from "./support.js";

describe("values of histograms", () => {
  /** What a call leaves in metrics, and the spans of it. */
  async function measured(more: object, traceparent?: string) {
    const collector = await Collector.start();
    onTestFinished(() => collector.close());
    const otlp = otlpTo(collector.url, { metrics: false, ...more });
    const open = await telemetryOf({ prometheus: true, otlp });
    const first = inTurn(fails("unavailable"), says("x", "y", "z"));
    const backends = [backend("a", first), backend("b", says("x", "y", "z"))];
    const models = [{ name: "m", targets: [{ backend: "a" }, { backend: "b", priority: 1 }] }];
    const core = coreOf(backends, { models }, { telemetry: open.telemetry });
    const header = (name: string) => (name === "traceparent" ? traceparent : undefined);
    const before = Date.now();
    await run(core, "chat", { ...hello, model: "m" }, { header });
    const after = Date.now();
    const all = openSamples(open.prometheus?.("openmetrics") ?? "");
    const plain = samples(open.prometheus?.() ?? "");
    await open.close();
    const traced = all.filter(({ exemplar }) => exemplar);
    return { all, plain, traced, spans: collector.spans, before, after };
  }

  test("have the trace of the latest call, in its bucket alone", async () => {
    const { all, traced, spans, before, after } = await measured({});
    const [{ traceId } = { traceId: "none" }] = spans;
    expect(spans).toHaveLength(3);
    expect(new Set(traced.map(({ name }) => name))).toEqual(
      new Set([
        "gen_ai_server_request_duration_seconds_bucket",
        "gen_ai_server_time_to_first_token_seconds_bucket",
        "gen_ai_server_time_per_output_token_seconds_bucket",
        "gen_ai_client_operation_duration_seconds_bucket",
        "gen_ai_client_operation_time_to_first_chunk_seconds_bucket",
        "gen_ai_client_token_usage_bucket",
      ]),
    );
    const tokens = traced.filter(({ name }) => name === "gen_ai_client_token_usage_bucket");
    const told = tokens.map(({ labels, exemplar }) => [
      labels.gen_ai_token_type,
      labels.le,
      exemplar?.value,
    ]);
    expect(told).toEqual([
      ["input", "16.0", 7],
      ["output", "4.0", 3],
    ]);
    for (const { exemplar, labels } of traced) {
      expect(exemplar?.traceId).toBe(traceId);
      expect(exemplar?.value).toBeLessThanOrEqual(
        labels.le === "+Inf" ? Infinity : Number(labels.le),
      );
      expect(exemplar?.at).toBeGreaterThanOrEqual(before / 1000);
      expect(exemplar?.at).toBeLessThanOrEqual(after / 1000);
    }
    // Buckets above have its count, and not its trace.
    const duration = "gen_ai_server_request_duration_seconds_bucket";
    expect(traced.filter(({ name }) => name === duration)).toHaveLength(1);
    expect(all.filter(({ name }) => name === duration).at(-1)?.value).toBe(1);
  });

  test.each<[string, object, string?]>([
    ["no traces", { traces: false }],
    ["of a trace that is not recorded", { sampleRatio: 0 }],
    ["of a caller's that is not", {}, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"],
  ])("have none where there are %s", async (_what, more, traceparent) => {
    const { all, traced } = await measured(more, traceparent);
    expect([all.length > 0, traced]).toEqual([true, []]);
  });

  test("are the same in both forms", async () => {
    const { all, plain } = await measured({});
    // Boundaries are written in another way.
    const name = (key: string) =>
      key.replace(/le="(?!\+Inf)([^"]+)"/, (_, le) => `le="${Number(le)}"`);
    const open = all.map(({ name: of, labels, value }) => {
      const pairs = Object.entries(labels).map(([key, said]) => `${key}="${said}"`);
      return [name(pairs.length > 0 ? `${of}{${pairs.join(",")}}` : of), value] as const;
    });
    const still = ([key]: readonly [string, number]) => !/^(?:process|nodejs|v8js)_/.test(key);
    expect(new Map(open.filter(still))).toEqual(new Map([...plain].filter(still)));
  });
});

describe("who asks for metrics", () => {
  const prometheus2 =
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
  const prometheus3 =
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
  test.each<[string | undefined, string]>([
    [undefined, "prometheus"],
    ["*/*", "prometheus"],
    ["text/html,application/xhtml+xml,*/*;q=0.8", "prometheus"],
    ["text/plain;version=0.0.4", "prometheus"],
    ["application/openmetrics-text", "openmetrics"],
    ["Application/OpenMetrics-Text; Version=1.0.0; charset=utf-8", "openmetrics"],
    ["application/openmetrics-text; version=0.0.1,text/plain;q=0.5", "prometheus"],
    ["application/openmetrics-text;q=0", "prometheus"],
    ["application/openmetrics-text;q=0.2,text/plain;q=0.5", "prometheus"],
    ["text/plain;q=0.5,application/openmetrics-text;q=0.5", "openmetrics"],
    ["application/openmetrics-text;q=x", "prometheus"],
    [",;,", "prometheus"],
    [prometheus2, "openmetrics"],
    [prometheus3, "openmetrics"],
  ])("by %s gets %s", (accept, form) => {
    expect(metricsFormOf(accept)).toBe(form);
  });

  test("is told which form it is, and all that a gateway tells is allowed in it", async () => {
    const it = await gateway("telemetry: { prometheus: true }\nbackends: []\n");
    const read = async (accept: string) => {
      const answer = await fetch(`${it.url}/metrics`, { headers: { accept } });
      return [answer.headers.get("content-type"), await answer.text()] as const;
    };
    const [type, text] = await read(prometheus2);
    expect(type).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect(openSamples(text).map(({ name }) => name)).toContain("target_info");
    const [plainType, plain] = await read("text/plain");
    expect(plainType).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(samples(plain).size).toBe(openSamples(text).length);
  });
});
