/** Histograms of times, and the pace of answers, in metrics. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { coreOf, run } from "../support/core.js";
import { backend, bench, gate, hello, inTurn } from "../support/routing.js";
import { breaksAfter, piece, says } from "../support/scripted.js";
import { telemetryOf } from "./support.js";
import { of } from "./values.js";

describe("times as Prometheus reads them", () => {
  test("buckets are those of the conventions, and each holds those below it", async () => {
    const open = await telemetryOf({ prometheus: true });
    const sixteen: Handle<"chat"> = async function* () {
      yield [piece("", "stop", [16, 1])];
    };
    const core = coreOf([backend("a", sixteen)], {}, { telemetry: open.telemetry });
    await run(core, "chat", { ...hello, model: "m" });
    const text = open.prometheus?.() ?? "";
    const ends = (name: string) =>
      [...text.matchAll(new RegExp(`^${name}_bucket\\{.*le="([^"]+)"\\} (\\d+)$`, "gm"))].filter(
        ([line]) => !line.includes('type="output"'),
      );
    const boundaries = (name: string) => ends(name).map(([, end]) => end);
    const durations = "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92";
    const expected = {
      gen_ai_server_request_duration_seconds: durations,
      gen_ai_client_operation_duration_seconds: durations,
      gen_ai_server_time_to_first_token_seconds:
        "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10",
      gen_ai_client_token_usage:
        "1 4 16 64 256 1024 4096 16384 65536 262144 1048576 4194304 16777216 67108864",
    };
    for (const [name, ends] of Object.entries(expected)) {
      expect(boundaries(name).join(" "), name).toBe(`${ends} +Inf`);
    }
    const counts = ends("gen_ai_client_token_usage").map(([, , count]) => Number(count));
    // Sixteen tokens: above 4, at most 16.
    expect(counts.slice(0, 4)).toEqual([0, 0, 1, 1]);
    expect(counts.at(-1)).toBe(1);
  });

  test("the pace of an answer is that of one that a model made to its end", async () => {
    const open = await telemetryOf({ prometheus: true });
    const broken = breaksAfter(new LintelError("upstream_failed", "broke"), "x");
    const store = new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1e6, maxBytes: 1e6 });
    const core = coreOf(
      [backend("a", inTurn(says("x", "y", "z"), says("x"), says("x", "y"), broken))],
      {},
      { telemetry: open.telemetry, idempotency: { store, lingerMs: 0 } },
    );
    // The second is the first one's answer again; one token has no pace, and an answer that broke off none either.
    for (const idempotencyKey of ["a", "a", "b"])
      await run(core, "chat", hello, { idempotencyKey });
    // Nor has one that comes as a whole.
    await run(core, "complete", hello);
    await expect(run(core, "chat", hello)).rejects.toMatchObject({ code: "upstream_failed" });
    const text = open.prometheus?.() ?? "";
    const counted = (name: string) => of(text, `gen_ai_server_${name}_seconds_count`);
    expect(counted("time_to_first_token")).toEqual([2]);
    expect(counted("time_per_output_token")).toEqual([1]);
    expect(counted("request_duration")).toEqual([4, 1]);
  });

  test("times are in seconds, and the pace is that of the tokens after the first", async () => {
    const open = await telemetryOf({ prometheus: true });
    let now = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const chat: Handle<"chat"> = async function* () {
      now += 500;
      yield [piece("x")];
      now += 2000;
      yield [piece("", "stop", [7, 5])];
    };
    await run(coreOf([backend("a", chat)], {}, { telemetry: open.telemetry }), "chat", hello);
    const text = open.prometheus?.() ?? "";
    const sum = (name: string) => of(text, `gen_ai_${name}_seconds_sum`)[0];
    expect(sum("server_time_to_first_token")).toBeCloseTo(0.5);
    expect(sum("server_time_per_output_token")).toBeCloseTo(0.5);
    expect(sum("server_request_duration")).toBeCloseTo(2.5);
    expect(sum("client_operation_time_to_first_chunk")).toBeCloseTo(0.5);
    expect(sum("client_operation_duration")).toBeCloseTo(2.5);
  });

  test("how long calls waited is measured of those that did, in seconds", async () => {
    const open = await telemetryOf({ prometheus: true });
    const held = gate();
    const parts = { telemetry: open.telemetry };
    const { core, clock } = bench([backend("a", held.handle)], { maxInFlight: 1 }, [], parts);
    const first = run(core, "chat", hello);
    await expect.poll(() => held.begun).toBe(1);
    const second = run(core, "chat", hello);
    const waiting = () => core.routing.snapshot().endpoints[0]?.waiting;
    await expect.poll(waiting).toBe(1);
    await clock.advance(3000);
    held.open();
    await expect.poll(() => held.begun).toBe(2);
    held.open();
    await Promise.all([first, second]);
    const text = open.prometheus?.() ?? "";
    expect(of(text, "lintel_queue_duration_seconds_sum", '"m"')).toEqual([3]);
    expect(of(text, "lintel_queue_duration_seconds_count")).toEqual([1]);
  });
});
