import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as api from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { hearLibrary, watched } from "../../src/telemetry/delivery.js";
import { gate } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { hello } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";
import { Collector } from "./collector.js";
import { root } from "./observability-page.js";
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

/** A log, and what is said in it. */
function logging() {
  const lines: object[] = [];
  const note = (fields: object, text: string) => void lines.push({ ...fields, text });
  return { lines, log: { debug: note, info: note, warn: note, error: note } };
}

test("a collector that is away is said once, and again when it is back", async () => {
  const sink = await collector();
  const lines: string[] = [];
  const note = (fields: object, text: string) => {
    lines.push(text);
    expect(JSON.stringify(fields)).not.toContain("secret");
  };
  const log = { debug: note, info: note, warn: note, error: note };
  const headers = { authorization: "secret" };
  const send = async (status: number) => {
    sink.status = status;
    const telemetry = await telemetryOf(
      { otlp: otlpTo(sink.url, { headers, traces: false }) },
      log,
    );
    await telemetry.close();
  };
  await send(400);
  expect(lines).toEqual(["telemetry can't be delivered"]);
  await send(200);
  expect(lines).toHaveLength(1);
  expect(sink.headers.at(-1)).toMatchObject({ authorization: "secret" });
});

test("each reason why a collector takes nothing is said once, until it does again", async () => {
  const sink = await collector();
  const { lines, log } = logging();
  const exporter = watched(new OTLPMetricExporter({ url: sink.url }), "metrics", log);
  const nothing = { resource: resourceFromAttributes({}), scopeMetrics: [] };
  for (const status of [400, 401, 400, 503, 503, 200, 200, 400]) {
    sink.status = status;
    await new Promise((done) => exporter.export(nothing, done));
  }
  await exporter.shutdown();
  const failed = { what: "metrics", text: "telemetry can't be delivered" };
  expect(lines).toEqual([
    { ...failed, code: 400 },
    { ...failed, code: 401 },
    { ...failed, reason: "Export failed with retryable status" },
    { what: "metrics", text: "telemetry is delivered again" },
    { ...failed, code: 400 },
  ]);
});

test("a collector that takes only a part is said once, with its words", async () => {
  const sink = await collector();
  const { lines, log } = logging();
  const partialSuccess = { rejectedSpans: "2", errorMessage: "timestamp is too old" };
  sink.body = JSON.stringify({ partialSuccess });
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url, { metrics: false }) }, log);
  const core = coreOf([scripted({ chat: says("x") })], {}, { telemetry: telemetry.telemetry });
  // Two exports: one has at most 512 spans.
  for (let i = 0; i < 300; i++) await run(core, "chat", hello);
  await telemetry.close();
  expect(sink.headers.length).toBeGreaterThan(1);
  expect(lines).toEqual([
    {
      what: "traces",
      rejected: 2,
      said: "timestamp is too old",
      text: "the collector refuses a part of the telemetry",
    },
  ]);
});

test.each([
  [
    { rejectedDataPoints: "3", errorMessage: "" },
    { rejected: 3, said: "" },
  ],
  [
    { rejectedDataPoints: "0", errorMessage: "an old form" },
    { rejected: 0, said: "an old form" },
  ],
])(
  "what a collector says of metrics (%j) is said of no other export",
  async (partialSuccess, part) => {
    const sink = await collector();
    const { lines, log } = logging();
    hearLibrary(api, log)();
    const nothing = { resource: resourceFromAttributes({}), scopeMetrics: [] };
    for (const [what, body] of [
      ["metrics", { partialSuccess }],
      ["others", {}],
    ] as const) {
      sink.body = JSON.stringify(body);
      const exporter = watched(new OTLPMetricExporter({ url: sink.url }), what, log);
      await new Promise((done) => exporter.export(nothing, done));
      await exporter.shutdown();
    }
    const text = "the collector refuses a part of the telemetry";
    expect(lines).toEqual([{ what: "metrics", ...part, text }]);
  },
);

test("a collector that refuses nothing in so many words is not said", async () => {
  const sink = await collector();
  const lines: string[] = [];
  const note = (_fields: object, text: string) => void lines.push(text);
  const log = { debug: note, info: note, warn: note, error: note };
  sink.body = JSON.stringify({ partialSuccess: { rejectedDataPoints: 0, errorMessage: "" } });
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url, { traces: false }) }, log);
  await telemetry.close();
  expect(sink.headers).toHaveLength(1);
  expect(lines).toEqual([]);
});

test("spans for which a slow collector leaves no room are told of", async () => {
  const sink = await collector();
  const held = gate();
  sink.answersAfter = held.opened;
  const { lines, log } = logging();
  const otlp = otlpTo(sink.url, { metrics: false, content: true });
  const telemetry = await telemetryOf({ otlp }, log);
  const core = coreOf([scripted({ chat: says("x") })], {}, { telemetry: telemetry.telemetry });
  // Two spans each: 32 are on their way, and 512 wait.
  for (let i = 0; i < 300; i++) await run(core, "chat", hello);
  held.open();
  await sink.until(() => sink.spans.length > 32);
  await run(core, "chat", hello);
  await telemetry.close();
  expect(lines).toEqual([
    { lost: 600 - 32 - 512, text: "spans are lost: more end than the collector takes" },
  ]);
});

test("spans that are lost later are told of after a while, those since the last word", () => {
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => now.mockRestore());
  const { lines, log } = logging();
  hearLibrary(api, log)();
  // As OpenTelemetry says it.
  const drop = (spans: number) =>
    api.diag.warn(`Dropped ${spans} spans because maxQueueSize reached`);
  drop(3);
  drop(4);
  now.mockReturnValue(600_001);
  drop(5);
  expect(lines).toMatchObject([{ lost: 3 }, { lost: 9 }]);
});

test("what a collector has not taken when the process ends is told", async () => {
  const sink = await collector();
  const held = gate();
  sink.answersAfter = held.opened;
  const { lines, log } = logging();
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) }, log);
  const core = coreOf([scripted({ chat: says("x") })], {}, { telemetry: telemetry.telemetry });
  await run(core, "chat", hello);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const closed = telemetry.close();
  await sink.until(() => sink.headers.length === 2);
  await vi.advanceTimersByTimeAsync(3000);
  vi.useRealTimers();
  await closed;
  const reason = "not within 3 seconds, and the process ends";
  const text = "telemetry can't be delivered";
  expect(lines).toEqual([
    { what: "metrics", reason, text },
    { what: "traces", reason, text },
  ]);
  held.open();
});

test("what to do where a collector's certificate is not trusted is said", async () => {
  const pem = (name: string) => readFileSync(join(root, `test/fixtures/tls/${name}.pem`));
  const server = createServer({ cert: pem("cert"), key: pem("key") });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closing.push(() => server.close());
  const { lines, log } = logging();
  const { port } = server.address() as AddressInfo;
  const url = `https://127.0.0.1:${port}`;
  const telemetry = await telemetryOf({ otlp: otlpTo(url, { traces: false }) }, log);
  await telemetry.close();
  const code = "DEPTH_ZERO_SELF_SIGNED_CERT";
  // Node 24 has more words.
  const reason = expect.stringMatching(
    /^self-signed certificate.* \(DEPTH_ZERO_SELF_SIGNED_CERT\); NODE_EXTRA_CA_CERTS=FILE trusts the authority in a file$/,
  );
  expect(lines).toEqual([{ what: "metrics", code, reason, text: "telemetry can't be delivered" }]);
});

test("of one that never took anything and ends connections over http:// is said what may be", async () => {
  const { lines, log } = logging();
  const failure = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
  const results = [{ code: 1, error: failure }, { code: 0 }, { code: 1, error: failure }];
  const ending = {
    export(_: object, done: (result: { code: number; error?: Error }) => void) {
      done(results.shift() ?? { code: 0 });
    },
  };
  const exporter = watched(ending, "metrics", log, true);
  for (let i = 0; i < 3; i++) exporter.export({}, () => {});
  const failed = { what: "metrics", code: "ECONNRESET", text: "telemetry can't be delivered" };
  const reason = "if TLS is spoken there, its address begins with https://";
  expect(lines).toEqual([
    { ...failed, reason },
    { what: "metrics", text: "telemetry is delivered again" },
    failed,
  ]);
});
