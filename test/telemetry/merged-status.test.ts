/** What `lintel top` shows of a gateway that is several workers. */
import { expect, test } from "vitest";
import { mergedStatus } from "../../src/telemetry/merged-status.js";
import type { Status } from "../../src/telemetry/status.js";

const times = (p50: number, p95: number, p99: number) => ({ p50, p95, p99 });

const model = {
  ...{ model: "m", requests: 1, failed: 2, cancelled: 3, cacheHits: 4, answers: 5 },
  ...{ answerTokens: 6, promptTokens: 7, completionTokens: 8, images: 9 },
  ...{ requestRate: 0.5, tokenRate: 1.5 },
};
const target = {
  ...{ backend: "b", model: "m", state: "in" as const, outForMs: 0, inFlight: 1, maxInFlight: 4 },
  ...{ waiting: 2, attempts: 3, failures: 4 },
};
const one: Status = {
  ...{ version: "1", pid: 11, gateway: 10, uptime: 60, running: 1, away: ["limits", "cache"] },
  models: [{ ...model, firstMs: times(1, 9, 9), totalMs: times(5, 6, 7) }],
  targets: [target],
  retries: { requests: 1, retries: 2, denied: 3 },
  lastReload: { successful: true, restart: 1 },
};
const other: Status = {
  ...{ version: "1", pid: 12, gateway: 10, uptime: 70, running: 2, away: ["limits"] },
  models: [
    { ...model, model: "a" },
    { ...model, firstMs: times(2, 3, 10) },
  ],
  targets: [
    { ...target, state: "resting", outForMs: 500, lastFailure: "timeout" },
    { ...target, backend: "a", state: "out", outForMs: 900, lastFailure: "internal" },
    { ...target, model: "a", maxInFlight: undefined },
  ],
  retries: { requests: 10, retries: 20, denied: 30 },
  lastReload: { successful: true, restart: 1 },
};

test("workers count together, and are as well as the worst of them", () => {
  expect(mergedStatus([one])).toBe(one);
  expect(mergedStatus([one, other])).toEqual({
    ...{ version: "1", pid: 10, gateway: 10, workers: 2, uptime: 70, running: 3 },
    away: ["limits", "cache"],
    models: [
      { ...model, model: "a" },
      {
        ...{ model: "m", requests: 2, failed: 4, cancelled: 6, cacheHits: 8, answers: 10 },
        ...{ answerTokens: 12, promptTokens: 14, completionTokens: 16, images: 18 },
        ...{ requestRate: 1, tokenRate: 3 },
        // Times can't be added up.
        ...{ firstMs: times(2, 9, 10), totalMs: times(5, 6, 7) },
      },
    ],
    targets: [
      { ...target, backend: "a", state: "out", outForMs: 900, lastFailure: "internal" },
      { ...target, model: "a", maxInFlight: undefined },
      {
        ...{ backend: "b", model: "m", state: "resting", outForMs: 500, lastFailure: "timeout" },
        ...{ inFlight: 2, maxInFlight: 8, waiting: 4, attempts: 6, failures: 8 },
      },
    ],
    mirrors: [],
    budgets: [],
    retries: { requests: 11, retries: 22, denied: 33 },
    lastReload: { successful: true, restart: 1 },
  });
});

test.each(["due", "used_up", "probing", "resting", "out"] as const)(
  "of a target that is %s at one worker the failure is told that any of them had",
  (state) => {
    const well = { ...target, lastFailure: "timeout" as const };
    const [merged] = mergedStatus([
      { ...one, targets: [well] },
      { ...one, targets: [{ ...target, state, outForMs: 7 }] },
    ]).targets;
    expect(merged).toMatchObject({ state, outForMs: 7, lastFailure: "timeout" });
  },
);

test("of a budget the most that a worker knows of is told, and of all those that are nearest to their end", () => {
  const of = (name: string, used: number, more: object = {}) => ({
    ...{ scope: "team" as const, name, period: "day" as const, amount: 100, used, ...more },
    ratio: used / 100,
  });
  const many = Array.from({ length: 20 }, (_, i) => of(`t${i}`, 10 + i));
  const merged = mergedStatus([
    { ...one, budgets: [of("a", 90), of("b", 50), ...many] },
    {
      ...other,
      budgets: [
        of("a", 95),
        of("b", 40),
        of("b", 60, { period: "hour" }),
        of("b", 55, { team: "x" }),
      ],
    },
    // Of an earlier version.
    other,
  ]).budgets;
  expect(merged).toHaveLength(20);
  expect(merged?.slice(0, 4)).toEqual([
    ...[of("a", 95), of("b", 60, { period: "hour" }), of("b", 55, { team: "x" }), of("b", 50)],
  ]);
});

test("of a quota the most that a worker knows of is told: each heard of the others", () => {
  const part = (used: number) => ({ used, limit: 10 });
  const merged = (...quotas: NonNullable<(typeof target & Status["targets"][number])["quota"]>[]) =>
    mergedStatus(
      [one, other].map((it, i) => ({ ...it, targets: [{ ...target, quota: quotas[i] }] })) as never,
    ).targets[0]?.quota;
  const [few, many] = [
    { requests: part(3), tokens: part(7) },
    { requests: part(5), tokens: part(6) },
  ];
  expect(merged(few, many)).toEqual({ requests: part(5), tokens: part(7) });
  expect(merged(many, few)).toEqual({ requests: part(5), tokens: part(7) });
  expect(merged({ requests: part(3) }, {})).toEqual({ requests: part(3) });
});
