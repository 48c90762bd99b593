/** OpenTelemetry's variables, which stand for what the file does not say. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { otlpSettings } from "../../src/config/telemetry.js";
import { longestTimerMs } from "../../src/core/timers.js";
import { runHere } from "../cli/here.js";

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

/** What is said of the variables, as mistakes or as warnings. */
async function said(env: Record<string, string>, file = "{}") {
  const cwd = mkdtempSync(join(tmpdir(), "lintel-otlp-"));
  writeFileSync(join(cwd, "lintel.yaml"), `${file}\n`);
  return loadConfig({ cwd, env }).then(
    ({ warnings }) => warnings,
    (error: Error) => error.message,
  );
}

test.each([
  [endpoint, "collector:4318", "must be an http:// or https:// address"],
  [endpoint, "localhost", "must be an http:// or https:// address"],
  [endpoint, "http://collector:4318?key=a", "must have no query and no fragment"],
  ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://a:4317", "must be an http:// or https:// address"],
  ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://a/#b", "must have no fragment"],
])("%s: %s is a mistake", async (name, value, message) => {
  expect(await said({ [name]: value })).toBe(`environment: ${name}: ${message}`);
});

test("addresses, none, and those of what is switched off are no mistakes", async () => {
  expect(await said({ [endpoint]: " http://collector:4318/ " })).toEqual([]);
  expect(await said({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://a/v1/traces?key=b" })).toEqual(
    [],
  );
  expect(await said({ [endpoint]: " " })).toEqual([]);
  expect(await said({ [endpoint]: "collector:4318", OTEL_SDK_DISABLED: "true" })).toEqual([]);
});

test("time between two exports is one that a timer can count", () => {
  const interval = (text: string) =>
    otlpSettings({}, { OTEL_METRIC_EXPORT_INTERVAL: text })?.intervalMs;
  expect(interval("5000")).toBe(5000);
  expect(interval("soon")).toBe(60_000);
  expect(interval("9999999999")).toBeGreaterThan(2e9);
  expect(interval("9999999999")).toBeLessThanOrEqual(longestTimerMs);
});

test("a node, which has no file, does not start with one either", async () => {
  vi.stubEnv(endpoint, "collector:4318");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await runHere(["node", "-m", "none"])).toEqual({
    code: 1,
    stdout: "",
    stderr: `environment: ${endpoint}: must be an http:// or https:// address\n`,
  });
});

test("what goes out is protobuf, or what the variables or the file say", () => {
  const of = (env: Record<string, string>, file = {}) => otlpSettings(file, env)?.protocols;
  const protobuf = "http/protobuf";
  const json = "http/json";
  const one = "OTEL_EXPORTER_OTLP_PROTOCOL";
  const traces = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
  expect(of({})).toEqual({ traces: protobuf, metrics: protobuf });
  expect(of({ [one]: "grpc" })).toEqual({ traces: protobuf, metrics: protobuf });
  expect(of({ [one]: json })).toEqual({ traces: json, metrics: json });
  expect(of({ [one]: json, [traces]: protobuf })).toEqual({ traces: protobuf, metrics: json });
  const file = { protocol: protobuf } as const;
  expect(of({ [one]: json, [traces]: json }, file)).toEqual({
    traces: protobuf,
    metrics: protobuf,
  });
});

test("a protocol and a temporality that are not spoken are warned of", async () => {
  const asked = {
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: "delta",
  };
  const protocol =
    "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which is not spoken: what goes out is http/protobuf";
  const temporality =
    "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is delta, but metrics are always cumulative";
  expect(await said({ ...asked, [endpoint]: "http://a" })).toEqual([protocol, temporality]);
  expect(await said(asked, "telemetry: { otlp: { metrics: false } }")).toEqual([protocol]);
  // Nothing goes out.
  expect(await said(asked)).toEqual([]);
  // The file says another one.
  const named = "telemetry: { otlp: { protocol: http/json, metrics: false } }";
  expect(await said(asked, named)).toEqual([]);
  const fine = {
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/protobuf",
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: "Cumulative",
  };
  expect(await said({ ...fine, [endpoint]: "http://a" })).toEqual([]);
});

test("the port of OTLP over gRPC is warned of, wherever it is named", async () => {
  const words =
    "names port 4317, where collectors speak gRPC: what goes out is HTTP, for which theirs is 4318";
  const grpc = "http://collector:4317";
  expect(await said({ [endpoint]: grpc })).toEqual([`${endpoint} ${words}`]);
  expect(await said({}, `telemetry: { otlp: { endpoint: "${grpc}" } }`)).toEqual([
    `telemetry.otlp.endpoint ${words}`,
  ]);
  const traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  expect(await said({ [endpoint]: "http://a:4318", [traces]: `${grpc}/v1/traces` })).toEqual([
    `${traces} ${words}`,
  ]);
  // Not asked.
  expect(await said({ [endpoint]: grpc }, 'telemetry: { otlp: { endpoint: "http://a" } }')).toEqual(
    [],
  );
  expect(await said({ [traces]: grpc }, "telemetry: { otlp: { traces: false } }")).toEqual([]);
});
