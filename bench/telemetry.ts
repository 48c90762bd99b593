/**
 * What telemetry costs a call: a core around a backend that answers at once, with
 * nobody watching, with lintel top's counts, with metrics, and with traces that
 * are recorded or not. Run by `npx tsx bench/telemetry.ts`.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Call } from "../src/core/call.js";
import { silent } from "../src/core/log.js";
import type { Telemetry } from "../src/core/telemetry.js";
import { CallMetrics } from "../src/telemetry/call-metrics.js";
import { openTelemetry } from "../src/telemetry/open.js";
import type { TelemetrySettings } from "../src/telemetry/settings.js";
import { Tally } from "../src/telemetry/tally.js";
import type { Watcher } from "../src/telemetry/watchers.js";
import { coreOf, run } from "../test/support/core.js";
import { says, scripted } from "../test/support/scripted.js";
import { median } from "./targets.js";

const rounds = 9;
const calls = 3000;
const request = { messages: [{ role: "user", content: "Hello" }] };

// A collector that takes everything: what it costs to send is part of the cost.
const collector = createServer((asked, answer) => {
  asked.resume().on("end", () => answer.setHeader("content-type", "application/x-protobuf").end());
});
await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

const off = { prometheus: false, status: false, providers: new Map(), version: "0" };
const protocols = { traces: "http/protobuf", metrics: "http/protobuf" } as const;
const otlp = { endpoint, protocols, intervalMs: 1000, traces: true, metrics: true };
const ways: readonly (readonly [string, Partial<TelemetrySettings>])[] = [
  ["off", {}],
  ["top", { status: true }],
  ["top, metrics", { status: true, prometheus: true }],
  ["and 1% of traces", { status: true, prometheus: true, otlp: { ...otlp, sampleRatio: 0.01 } }],
  ["and all traces", { status: true, prometheus: true, otlp: { ...otlp, sampleRatio: 1 } }],
];

async function coreWith(settings: Partial<TelemetrySettings>) {
  const open = await openTelemetry({ ...off, ...settings }, silent);
  const telemetry: Telemetry | undefined = open?.telemetry;
  const core = coreOf([scripted({ chat: says("a", "b", "c", "d") })], {}, { telemetry });
  return { core, close: async () => open?.close() };
}

const all = await Promise.all(
  ways.map(async ([name, settings]) => ({ name, ...(await coreWith(settings)), times: [0] })),
);
for (let round = 0; round < rounds; round++) {
  for (const way of all) {
    const start = process.cpuUsage();
    for (let i = 0; i < calls; i++) await run(way.core, "chat", request);
    const { user, system } = process.cpuUsage(start);
    // The first round warms up.
    if (round === 0) way.times.length = 0;
    else way.times.push((user + system) / calls);
  }
}
const base = median(all[0]?.times ?? []);
console.log(
  `Node ${process.version}, medians of ${rounds - 1} interleaved rounds of ${calls} calls`,
);
console.log(`${"".padEnd(20)}${"CPU µs per call".padStart(16)}${"more".padStart(10)}`);
for (const { name, times } of all) {
  const cost = median(times);
  console.log(
    `${name.padEnd(20)}${cost.toFixed(1).padStart(16)}${(cost - base).toFixed(1).padStart(10)}`,
  );
}

/** A call that has ended, as watchers see it. */
const ended = {
  method: "chat",
  attributes: {
    door: "rest",
    model: "m",
    backend: "b",
    attempts: 1,
    promptTokens: 7,
    completionTokens: 20,
    tried: [{ backend: "b", model: "m", startedAt: 0, firstMs: 3, durationMs: 20, outcome: "ok" }],
  },
} as unknown as Call;
const watchers: readonly (readonly [string, Watcher])[] = [
  ["top alone", new Tally()],
  ["metrics alone", new CallMetrics(new Map())],
];
for (const [name, watcher] of watchers) {
  const costs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    for (let i = 0; i < 100_000; i++) {
      watcher.end(ended, { code: "ok", firstMs: 12, totalMs: 90, endedAt: 90 });
    }
    const { user, system } = process.cpuUsage(start);
    costs.push((user + system) / 100_000);
  }
  console.log(`${name.padEnd(20)}${median(costs).toFixed(2).padStart(16)}`);
}
await Promise.all(all.map(({ close }) => close()));
collector.close();
process.exit(0);
