/** What `lintel top`, and gauges, tell of mirrors. */
import { expect, test } from "vitest";
import { topView } from "../../src/cli/top-view.js";
import { type AttemptRecord, newAttributes } from "../../src/core/call-attributes.js";
import type { Core } from "../../src/core/core.js";
import { PastRouting } from "../../src/core/routing/past.js";
import type { RoutingSnapshot } from "../../src/core/routing/snapshot.js";
import { mergedStatus } from "../../src/telemetry/merged-status.js";
import { MirrorTallies } from "../../src/telemetry/mirror-tally.js";
import type { OpenTelemetry } from "../../src/telemetry/open.js";
import type { Status } from "../../src/telemetry/status.js";
import { mirroring } from "../core/mirroring.js";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import { fails, gate, hello, inTurn } from "../support/routing.js";
import { paints, says, scripted, thinksCounted } from "../support/scripted.js";
import { samples, telemetryOf } from "./support.js";

const ask = { ...hello, model: "m" };

function observed(open: OpenTelemetry, core: Core) {
  open.observe({ running: () => core.readiness.running, routing: () => core.routing.snapshot() });
  return {
    status: () => open.status?.() as Status,
    samples: () => samples(open.prometheus?.() ?? ""),
  };
}

test("lintel top has a mirror beside the model that it mirrors", async () => {
  const open = await telemetryOf({ status: true });
  const slow = gate("a");
  const shadow = inTurn(says("a", "b", "c"), says("d"), fails("unavailable"), slow.handle);
  const parts = { telemetry: open.telemetry };
  const mirror = { maxInFlight: 1 };
  const it = mirroring(shadow, { mirror, parts, routing: { health: { failures: 2 } } });
  const { status } = observed(open, it.core);
  expect(status().mirrors).toEqual([]);
  for (let i = 0; i < 6; i++) {
    await run(it.core, "chat", ask);
    await settled();
  }
  const none = { p50: 0, p95: 0, p99: 0 };
  const told = {
    ...{ mirrored: "m", backend: "shadow", model: "s", running: 1, calls: 3, failed: 1 },
    ...{ passedOver: { full: 2 }, answers: 2, answerTokens: 4, images: 0 },
    ...{ state: "in", outForMs: 0, lastFailure: "unavailable", firstMs: none, totalMs: none },
  };
  expect(status().mirrors).toEqual([told]);
  // It is no target, and its tokens are none of the model's.
  expect(status().models).toMatchObject([
    { model: "m", requests: 6, answers: 6, answerTokens: 6, completionTokens: 6 },
  ]);
  expect(status().targets.map(({ attempts }) => attempts)).toEqual([6, 0]);
  slow.open();
  await it.core.idle();
  expect(status().mirrors).toMatchObject([
    { running: 0, calls: 4, failed: 1, answers: 3, answerTokens: 5 },
  ]);
});

test("a mirror that was not asked since the last reload has no state; one of images has these", async () => {
  const open = await telemetryOf({ status: true });
  const draws = (name: string, id: string) =>
    scripted({ streamTextToImage: paints(1) }, [imageModel(id)], name);
  const parts = { telemetry: open.telemetry };
  const it = mirroring(draws("shadow", "s"), { real: draws("real", "m"), parts });
  const { status } = observed(open, it.core);
  await run(it.core, "streamTextToImage", { modelId: "m", prompt: "a", numImagesPerPrompt: 2 });
  await it.core.idle();
  expect(status().mirrors).toMatchObject([{ state: "in", images: 2, calls: 1 }]);
  expect(status().mirrors?.[0]).not.toHaveProperty("firstMs");
  open.observe({
    running: () => 0,
    routing: () => ({ ...it.core.routing.snapshot(), mirrors: [] }),
  });
  expect(status().mirrors).toMatchObject([{ mirrored: "m", backend: "shadow", images: 2 }]);
  expect(status().mirrors?.[0]).not.toHaveProperty("state");
});

test("gauges tell whether a mirror gets calls, and how many run", async () => {
  const open = await telemetryOf({ prometheus: true });
  const slow = gate();
  const parts = { telemetry: open.telemetry };
  const it = mirroring(inTurn(slow.handle, fails("unavailable")), {
    parts,
    routing: { health: { failures: 1 } },
  });
  const { samples } = observed(open, it.core);
  const labels = '{lintel_backend="shadow",gen_ai_request_model="s"}';
  const both = () =>
    ["available", "active"].map((name) => samples().get(`lintel_mirror_${name}${labels}`));
  expect(both()).toEqual([undefined, undefined]);
  await run(it.core, "chat", ask);
  await settled();
  expect(both()).toEqual([1, 1]);
  await run(it.core, "chat", ask);
  await settled();
  expect(both()).toEqual([0, 1]);
  // As a target it takes calls.
  expect(samples().get(`lintel_target_available${labels}`)).toBe(1);
  it.core.abort();
  await it.core.idle();
  expect(both()).toEqual([0, 0]);
});

test("tokens in a cache, written to one, thoughts and images of mirrors are counted as far as they are told", async () => {
  const open = await telemetryOf({ prometheus: true });
  const parts = { telemetry: open.telemetry };
  const draws = (name: string, id: string) =>
    scripted({ streamTextToImage: paints(1) }, [imageModel(id)], name);
  const drawing = mirroring(draws("shadow", "s"), { real: draws("real", "m"), parts });
  const ask3 = { modelId: "m", prompt: "a", numImagesPerPrompt: 3 };
  await run(drawing.core, "streamTextToImage", ask3);
  await drawing.core.idle();
  const labels = '{lintel_mirrored_model="m",lintel_backend="shadow",gen_ai_request_model="s"}';
  const of = (name: string) =>
    samples(open.prometheus?.() ?? "").get(`lintel_mirror_${name}_total${labels}`);
  const told = () => ["images", "cached_tokens", "cache_write_tokens", "reasoning_tokens"].map(of);
  expect(told()).toEqual([3, undefined, undefined, undefined]);
  const thinking = mirroring(thinksCounted("Hm.", "x"), { parts });
  await run(thinking.core, "chat", ask);
  await thinking.core.idle();
  expect(told()).toEqual([3, 3, 2, 8]);
});

test("of any number of mirrors a thousand are told", () => {
  const tallies = new MirrorTallies();
  for (let i = 0; i < 1001; i++) {
    const [of, place] = [newAttributes("rest"), { backend: "b", model: `s-${i}` }];
    const record: AttemptRecord = { ...place, startedAt: 0, durationMs: 1, outcome: "ok" };
    tallies.passedOver({ of, ...place, why: "no_model" });
    tallies.asked(record, of);
    tallies.answered({ method: "chat", of, record, attributes: of, spend: undefined });
  }
  const told = tallies.snapshot();
  expect(told).toHaveLength(1000);
  expect(new Set(told.map(({ running, calls }) => `${running} ${calls}`))).toEqual(
    new Set(["0 1"]),
  );
});

const place = {
  ...{ backend: "b", model: "s", state: "in" as const, outForMs: 0 },
  ...{ inFlight: 1, waiting: 0, attempts: 4, failures: 2 },
};

test("what still runs at a mirror since before a reload is told with the rest, and no more", () => {
  const past = new PastRouting();
  const retries = { requests: 0, retries: 0, denied: 0 };
  const routing: RoutingSnapshot = { endpoints: [], mirrors: [place], retries };
  past.add(routing);
  expect(past.under(routing, []).mirrors).toEqual([place]);
  expect(past.under(routing, [routing]).mirrors).toMatchObject([{ inFlight: 2, state: "in" }]);
  const gone = { ...routing, mirrors: [{ ...place, model: "other" }] };
  expect(past.under(routing, [gone]).mirrors).toEqual([place]);
});

const mirror = {
  ...{ mirrored: "m", backend: "b", model: "s", running: 1, calls: 10, failed: 2 },
  ...{ passedOver: { full: 1, out: 3 }, answers: 8, answerTokens: 100, images: 1 },
  ...{ state: "in" as const, outForMs: 0, totalMs: { p50: 12, p95: 20, p99: 30 } },
};
const status = {
  ...{ version: "1", pid: 7, gateway: 7, uptime: 1, running: 0, models: [], targets: [] },
  ...{ retries: { requests: 0, retries: 0, denied: 0 }, away: [] },
};

test("of several workers counts are added up, and the worst state is told", () => {
  const { state: _, outForMs: __, ...unasked } = mirror;
  const away = { state: "out", outForMs: 900, lastFailure: "timeout" } as const;
  const merged = mergedStatus([
    { ...status, mirrors: [mirror, { ...mirror, mirrored: "n" }] },
    { ...status, mirrors: [{ ...unasked, passedOver: { full: 2 } }] },
    { ...status, mirrors: [{ ...mirror, ...away, totalMs: { p50: 14, p95: 15, p99: 16 } }] },
    status,
  ]);
  expect(merged.mirrors).toEqual([
    {
      ...mirror,
      ...away,
      ...{ running: 3, calls: 30, failed: 6, answers: 24, answerTokens: 300, images: 3 },
      ...{ passedOver: { full: 4, out: 6 }, totalMs: { p50: 14, p95: 20, p99: 30 } },
    },
    { ...mirror, mirrored: "n" },
  ]);
  const none = mergedStatus([
    { ...status, mirrors: [unasked] },
    { ...status, mirrors: [unasked] },
  ]);
  expect(none.mirrors?.[0]).not.toHaveProperty("state");
  const asked = { ...status, models: [{ ...model, answers: 2, answerTokens: 9 }] };
  expect(mergedStatus([asked, asked]).models).toMatchObject([{ answers: 4, answerTokens: 18 }]);
});

const model = {
  ...{ model: "m", requests: 40, failed: 1, cancelled: 2, promptTokens: 30, completionTokens: 400 },
  ...{ cacheHits: 3, answers: 30, answerTokens: 391, images: 5, requestRate: 0, tokenRate: 0 },
  ...{ firstMs: { p50: 9.94, p95: 10.4, p99: 0 }, totalMs: { p50: 12.5, p95: 1234.5, p99: 0 } },
};

test("its lines stand below that of the model, in the same columns", () => {
  const { state: _, outForMs: __, totalMs: ___, ...unasked } = mirror;
  const out = { state: "out", outForMs: 900, lastFailure: "timeout" } as const;
  const mirrors = [
    mirror,
    { ...mirror, backend: "c", ...out, passedOver: {} },
    { ...unasked, mirrored: "n", answerTokens: 0 },
  ];
  const text = topView({ ...status, models: [model], mirrors });
  const table = text.split("\n\n").at(-1)?.split("\n") ?? [];
  const cells = (line: string) => line.trim().split(/ {2,}/);
  expect(table.slice(1).map(cells)).toEqual([
    ["m", "(callers)", "40", "1", "13", "5", "9.9", "10", "13", "1235"],
    ["m", "b", "s", "in", "1", "10", "2", "4 (out, full)", "13", "1", "12", "20"],
    ["m", "c", "s", "out 1s", "1", "10", "2", "0", "13", "1", "12", "20", "timeout"],
    ["n", "b", "s", "1", "10", "2", "4 (out, full)", "1"],
  ]);
  const at = (name: string) => table[0]?.indexOf(name) ?? -1;
  expect(table[1]?.slice(at("CALLS")).trim()).toMatch(/^40 /);
  expect(table[1]?.slice(at("TOKENS/ANSWER")).trim()).toMatch(/^13 /);
  expect(table[1]?.slice(at("FIRST P50")).trim()).toMatch(/^9\.9 /);
  // A gateway of an earlier version tells none.
  expect(topView(status)).not.toContain("MIRRORED");
});
