/** What a node tells of itself. */
import { expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { startNode } from "../../src/node.js";
import { tiny } from "../backends/llama-subject.js";
import { connectTo } from "../backends/node-peer.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { freePort } from "../support/port.js";
import { Collector } from "./collector.js";
import { samples } from "./support.js";

const asked = { model: "tiny", messages: [{ role: "user", content: "Hello" }], maxTokens: 2 };

async function nodeAsked(prometheus?: { host: string; port: number }) {
  const node = await startNode({
    models: [tiny],
    listen: { host: "127.0.0.1", port: 0 },
    prometheus,
    log: silent,
  });
  onTestFinished(() => node.close(0));
  const core = coreOf([connectTo(node.url, { token: "any" })]);
  expect((await outcome(core, "chat", asked)).code).toBe("ok");
  return node;
}

test("Prometheus reads calls, targets and the process where it is told to, and nothing once the node is gone", async () => {
  const port = await freePort();
  const node = await nodeAsked({ host: "127.0.0.1", port });
  const read = () => fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await (await read()).text();
  const all = samples(text);
  const of = (start: string) => [...all].filter(([name]) => name.startsWith(start));
  expect(of("target_info{")[0]?.[0]).toContain('service_name="lintel-node"');
  expect(
    of("lintel_requests_total{").find(([name]) => name.includes('lintel_method="chat"')),
  ).toEqual([expect.stringContaining('gen_ai_request_model="tiny",lintel_outcome="ok"'), 1]);
  const target = '{lintel_backend="llama:tiny",gen_ai_request_model="tiny"}';
  expect(all.get(`lintel_target_available${target}`)).toBe(1);
  expect(all.get(`lintel_target_waiting${target}`)).toBe(0);
  expect(all.get("process_memory_usage_bytes")).toBeGreaterThan(1e6);
  expect((await fetch(`${node.url}/metrics`)).status).toBe(404);
  await node.close(0);
  await expect(read()).rejects.toThrow();
});

test("by OpenTelemetry's variables the same goes to a collector", async () => {
  const sink = await Collector.start();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url);
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
  onTestFinished(() => void vi.unstubAllEnvs());
  const node = await nodeAsked();
  await node.close(0);
  await sink.close();
  const attributes = { "lintel.backend": "llama:tiny", "gen_ai.request.model": "tiny" };
  expect(sink.points("lintel.target.available")).toMatchObject([{ asDouble: 1, attributes }]);
  expect(sink.points("process.memory.usage")).toHaveLength(1);
});

test("an address for metrics that can't be had is told, and nothing is left", async () => {
  const port = await freePort();
  await nodeAsked({ host: "127.0.0.1", port });
  const listen = { host: "127.0.0.1", port: await freePort() };
  const second = startNode({
    models: [],
    listen,
    prometheus: { host: "127.0.0.1", port },
    log: silent,
  });
  await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
  await expect(fetch(`http://127.0.0.1:${listen.port}`)).rejects.toThrow();
});
