/** How a gateway stands, as administration tells it: nothing of it gets lost on the way and back. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { GetStatusResponseSchema } from "../../gen/lintel/admin/v1/status_pb.js";
import type { Status } from "../../src/telemetry/status.js";
import { statusMessage, statusOfMessage } from "../../src/telemetry/status-message.js";

const times = { firstMs: { p50: 1.5, p95: 2, p99: 3 }, totalMs: { p50: 4, p95: 5, p99: 6.25 } };
const target = {
  ...{ backend: "b", model: "m", state: "in" as const, outForMs: 0, inFlight: 1 },
  ...{ waiting: 2, attempts: 3, failures: 4 },
};
const mirror = {
  ...{ mirrored: "m", backend: "b", model: "n", running: 1, calls: 2, failed: 3 },
  ...{ answers: 4, answerTokens: 5, images: 6, passedOver: { busy: 7 } },
};
const whole: Status = {
  ...{ version: "1.2", pid: 10, gateway: 10, workers: 3, uptime: 61.5, running: 4 },
  models: [
    {
      ...{ model: "", requests: 1, failed: 2, cancelled: 3, cacheHits: 4, answers: 5 },
      ...{ answerTokens: 6, promptTokens: 7, completionTokens: 2 ** 40, images: 9 },
      ...{ requestRate: 0.5, tokenRate: 1.5 },
    },
    {
      ...{ model: "m", requests: 1, failed: 0, cancelled: 0, cacheHits: 0, answers: 1 },
      ...{ answerTokens: 6, promptTokens: 7, completionTokens: 6, images: 0 },
      ...{ requestRate: 0, tokenRate: 0, ...times },
    },
  ],
  targets: [
    target,
    {
      ...{ ...target, model: "n", state: "used_up", outForMs: 750.5, maxInFlight: 0, ...times },
      ...{ lastFailure: "timeout", quota: { requests: { used: 1, limit: 2 } } },
    },
    { ...target, model: "o", state: "probing", quota: { tokens: { used: 0, limit: 9 } } },
    ...(["out", "due", "resting"] as const).map((state) => ({ ...target, model: state, state })),
  ],
  mirrors: [
    mirror as NonNullable<Status["mirrors"]>[number],
    {
      ...(mirror as NonNullable<Status["mirrors"]>[number]),
      ...{ model: "o", state: "out", outForMs: 5, lastFailure: "internal", ...times },
    },
  ],
  retries: { requests: 1, retries: 2, denied: 3 },
  away: ["limits", "issuer x"],
  lastReload: { successful: false, restart: 2 },
  budgets: [
    { scope: "global", name: "", period: "lifetime", ratio: 1.5, amount: 2, used: 3 },
    {
      ...{ scope: "caller_model", name: "m-*", caller: "ann", period: "hour", ratio: 0.25 },
      ...{ amount: 2, used: 0.5, endsAt: 1_800_000_000_123 },
    },
    {
      ...{ scope: "team_model", name: "m-*", team: "red", period: "day", ratio: 0.25 },
      ...{ amount: 4, used: 1, endsAt: 1_800_000_000_000 },
    },
  ],
};

test("all of it comes back", () => {
  const sent = toBinary(GetStatusResponseSchema, statusMessage(whole));
  expect(statusOfMessage(fromBinary(GetStatusResponseSchema, sent))).toEqual(whole);
});

test("of a gateway that does nothing, too, and that is one process", () => {
  const { workers: _, lastReload: __, ...one } = whole;
  const bare: Status = { ...one, models: [], targets: [], mirrors: [], away: [], budgets: [] };
  expect(statusOfMessage(statusMessage(bare))).toEqual(bare);
});
