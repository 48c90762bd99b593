import { describe, expect, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { coreOf, run } from "../support/core.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { backend, bench, fails, hello, inTurn } from "../support/routing.js";
import { hangsAfter, paints, says, scripted, thinksCounted } from "../support/scripted.js";
import { samples, telemetryOf } from "./support.js";
import { of } from "./values.js";

const failover = [{ name: "m", targets: [{ backend: "a" }, { backend: "b", priority: 1 }] }];

describe("as Prometheus reads them", () => {
  test("a call with two attempts is one call, charged once", async () => {
    const open = await telemetryOf({ prometheus: true, providers: new Map([["b", "openai"]]) });
    const backends = [backend("a", fails("unavailable")), backend("b", says("x", "y", "z"))];
    const core = coreOf(backends, { models: failover }, { telemetry: open.telemetry });
    open.observe({ running: () => core.readiness.running, routing: () => core.routing.snapshot() });
    await run(core, "chat", { ...hello, model: "m" });
    const text = open.prometheus?.() ?? "";
    const call = ['lintel_door="test"', 'lintel_method="chat"', 'gen_ai_request_model="m"'];
    expect(of(text, "lintel_requests_total", ...call, 'lintel_outcome="ok"')).toEqual([1]);
    expect(of(text, "lintel_requests_total")).toEqual([1]);
    expect(of(text, "lintel_retries_total")).toEqual([1]);
    expect(
      of(text, "lintel_attempts_total", 'lintel_backend="a"', 'lintel_outcome="unavailable"'),
    ).toEqual([1]);
    expect(of(text, "lintel_attempts_total", 'lintel_backend="b"', 'lintel_outcome="ok"')).toEqual([
      1,
    ]);
    const chat = ['gen_ai_operation_name="chat"', 'gen_ai_request_model="m"'];
    for (const name of ["request_duration", "time_to_first_token", "time_per_output_token"]) {
      const count = `gen_ai_server_${name}_seconds_count`;
      expect(of(text, count, ...chat, 'gen_ai_provider_name="lintel"'), name).toEqual([1]);
    }
    const tokens = "gen_ai_client_token_usage";
    const asked = [...chat, 'gen_ai_provider_name="openai"'];
    expect(of(text, `${tokens}_sum`, ...asked, 'gen_ai_token_type="input"')).toEqual([7]);
    expect(of(text, `${tokens}_sum`, ...asked, 'gen_ai_token_type="output"')).toEqual([3]);
    expect(of(text, `${tokens}_count`)).toEqual([1, 1]);
    const client = "gen_ai_client_operation_duration_seconds_count";
    expect(of(text, client, 'lintel_backend="a"', 'error_type="unavailable"')).toEqual([1]);
    expect(of(text, client, 'lintel_backend="b"', 'gen_ai_provider_name="openai"')).toEqual([1]);
    expect(of(text, "gen_ai_client_operation_time_to_first_chunk_seconds_count")).toEqual([1]);
    expect(of(text, "lintel_target_failures_total", 'lintel_backend="a"')).toEqual([1]);
    expect(of(text, "lintel_target_available")).toEqual([1, 1]);
  });

  test("each attempt counts by its own end, all retries, and tokens for who told them", async () => {
    const providers = new Map([
      ["a", "openai"],
      ["c", "anthropic"],
    ]);
    const open = await telemetryOf({ prometheus: true, providers });
    const backends = [
      backend("a", inTurn(fails("unavailable"), says("x"))),
      backend("b", fails("overloaded")),
      backend("c", says("y")),
    ];
    const targets = backends.map(({ name }, priority) => ({ backend: name, priority }));
    const parts = { telemetry: open.telemetry };
    const { core } = bench(backends, {}, [{ name: "m", targets }], parts);
    for (let i = 0; i < 2; i++) await run(core, "chat", { ...hello, model: "m" });
    const text = open.prometheus?.() ?? "";
    expect(of(text, "lintel_retries_total")).toEqual([2]);
    const attempts = [
      ["a", "unavailable"],
      ["a", "ok"],
      ["b", "overloaded"],
      ["c", "ok"],
    ].map(([at, end]) =>
      of(text, "lintel_attempts_total", `lintel_backend="${at}"`, `lintel_outcome="${end}"`),
    );
    expect(attempts).toEqual([[1], [1], [1], [1]]);
    for (const provider of providers.values()) {
      const asked = `gen_ai_provider_name="${provider}"`;
      expect(of(text, "gen_ai_client_token_usage_sum", asked), provider).toEqual([7, 1]);
    }
  });

  test("tokens that were in a cache, were written to one, and thoughts, are counted where a model server tells of them", async () => {
    const open = await telemetryOf({ prometheus: true, providers: new Map([["a", "openai"]]) });
    const backends = [
      backend("a", thinksCounted("hm", "x")),
      scripted({ chat: says("x") }, [chatModel("silent")], "b"),
    ];
    const store = new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1e6, maxBytes: 1e6 });
    const idempotency = { store, lingerMs: 1000 };
    const core = coreOf(backends, {}, { telemetry: open.telemetry, idempotency });
    for (const model of ["m", "m", "silent"]) {
      await run(core, "chat", { ...hello, model }, { idempotencyKey: model });
      await run(core, "chat", { ...hello, model });
    }
    const text = open.prometheus?.() ?? "";
    // Two calls, and one whose answer was given twice.
    const labels = '{gen_ai_provider_name="openai",gen_ai_request_model="m"}';
    expect([...samples(text)].filter(([key]) => /cache|reasoning/.test(key))).toEqual([
      [`lintel_cached_tokens_total${labels}`, 9],
      [`lintel_cache_write_tokens_total${labels}`, 6],
      [`lintel_reasoning_tokens_total${labels}`, 24],
    ]);
  });

  test.each([
    ["lintel", ""],
    ["front", "front"],
  ])("what the process is called: %s", async (name, variable) => {
    vi.stubEnv("OTEL_SERVICE_NAME", variable);
    const open = await telemetryOf({ prometheus: true });
    vi.unstubAllEnvs();
    expect(of(open.prometheus?.() ?? "", "target_info", `service_name="${name}"`)).toEqual([1]);
  });

  test("an answer that was kept has no tokens, and counts as what it is", async () => {
    const open = await telemetryOf({ prometheus: true });
    const cache = { ttlMs: 60_000, scope: "caller", maxAnswerBytes: 1000 } as const;
    const core = coreOf(
      [backend("a", says("x"))],
      { cache, models: [{ name: "any-*", targets: [{ backend: "a", model: "m" }] }] },
      { telemetry: open.telemetry, cache: memoryCache(1e6) },
    );
    open.observe({ running: () => core.readiness.running, routing: () => core.routing.snapshot() });
    const header = () => "no-store";
    // Names of one model: what one of them said, the other one says.
    for (const model of ["any-1", "any-2"]) await run(core, "chat", { ...hello, model });
    await run(core, "chat", { ...hello, model: "any-1" }, { header });
    const text = open.prometheus?.() ?? "";
    const requests = (result: string) =>
      of(text, "lintel_cache_requests_total", `lintel_cache_result="${result}"`, '"any-*"');
    expect(["hit", "miss", "bypass"].map(requests)).toEqual([[1], [1], [1]]);
    const saved = (type: string) => of(text, "lintel_cache_tokens_total", `"${type}"`, '"any-*"');
    expect([saved("input"), saved("output")]).toEqual([[7], [1]]);
    expect(of(text, "lintel_requests_total", '"any-*"')).toEqual([3]);
    expect(of(text, "gen_ai_client_token_usage_count", '"input"')).toEqual([2]);
    expect(of(text, "gen_ai_server_time_to_first_token_seconds_count")).toEqual([2]);
  });

  test("names that callers make up for one model are one series, replays too", async () => {
    const open = await telemetryOf({ prometheus: true, status: true });
    const logged: unknown[] = [];
    const log = {
      ...silent,
      info: (fields: object) => logged.push((fields as { model?: string }).model),
    };
    const models = [
      { name: "any-*", aliases: ["old-*"], targets: [{ backend: "a", model: "m" }] },
      { name: "its-*", targets: [{ backend: "a", model: "*" }] },
    ];
    const store = new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1e6, maxBytes: 1e6 });
    const core = coreOf(
      [backend("a", says("x"))],
      { models },
      {
        telemetry: open.telemetry,
        idempotency: { store, lingerMs: 1000 },
        log,
      },
    );
    open.observe({ running: () => core.readiness.running, routing: () => core.routing.snapshot() });
    for (const model of ["any-1", "any-2", "old-3", "its-m"]) {
      await run(core, "chat", { ...hello, model }, { idempotencyKey: model });
      await run(core, "chat", { ...hello, model }, { idempotencyKey: model });
    }
    const text = open.prometheus?.() ?? "";
    const ok = 'lintel_outcome="ok"';
    expect(of(text, "lintel_requests_total", ok, 'gen_ai_request_model="any-*"')).toEqual([6]);
    expect(of(text, "lintel_requests_total", ok, 'gen_ai_request_model="its-m"')).toEqual([2]);
    expect(of(text, "lintel_requests_total", ok)).toHaveLength(2);
    expect(of(text, "lintel_replays_total")).toEqual([3, 1]);
    expect(text).not.toMatch(/any-[123]|old-/);
    const status = open.status?.();
    expect(status?.models.map(({ model }) => model)).toEqual(["any-*", "its-m"]);
    expect(logged).toEqual([
      "any-1",
      "any-1",
      "any-2",
      "any-2",
      "any-3",
      "any-3",
      "its-m",
      "its-m",
    ]);
  });

  test("a target that was out is available again once the next call may try it", async () => {
    const open = await telemetryOf({ prometheus: true });
    const routed = { health: { failures: 1, firstPauseMs: 5000 } };
    const { core, clock } = bench([backend("a", fails("upstream_failed"))], routed);
    open.observe({ running: () => 0, routing: () => core.routing.snapshot() });
    const available = () => of(open.prometheus?.() ?? "", "lintel_target_available");
    await run(core, "chat", hello).catch(() => {});
    expect(available()).toEqual([0]);
    await clock.advance(5000);
    expect(available()).toEqual([1]);
  });

  test("targets are looked at once for all that is told of them", async () => {
    const open = await telemetryOf({ prometheus: true });
    const { routing } = coreOf([backend("a")]);
    let looks = 0;
    const look = () => {
      looks++;
      return routing.snapshot();
    };
    open.observe({ running: () => 0, routing: look });
    for (const times of [1, 2]) {
      expect(of(open.prometheus?.() ?? "", "lintel_target_available")).toEqual([1]);
      expect(looks).toBe(times);
    }
  });

  test("times of the process are in seconds", async () => {
    const open = await telemetryOf({ prometheus: true });
    const { routing } = coreOf([backend("a")]);
    open.observe({ running: () => 0, routing: () => routing.snapshot() });
    const { loopStart, idleTime } = performance.nodeTiming;
    const now = loopStart + idleTime + 5000;
    const spies = [
      vi.spyOn(process, "cpuUsage").mockReturnValue({ user: 2_500_000, system: 500_000 }),
      vi.spyOn(performance, "now").mockReturnValue(now),
    ];
    const text = open.prometheus?.() ?? "";
    for (const spy of spies) spy.mockRestore();
    const one = (name: string, label: string) => of(text, name, label)[0];
    expect(one("process_cpu_time_seconds_total", '"user"')).toBe(2.5);
    expect(one("process_cpu_time_seconds_total", '"system"')).toBe(0.5);
    expect(one("nodejs_eventloop_time_seconds_total", '"active"')).toBeCloseTo(5);
    expect(one("nodejs_eventloop_time_seconds_total", '"idle"')).toBeCloseTo(idleTime / 1000);
  });

  test("a name of which there is no model is in no series", async () => {
    const open = await telemetryOf({ prometheus: true, status: true });
    const core = coreOf([backend("a")], {}, { telemetry: open.telemetry });
    for (const model of ["none", "nobody"]) {
      const code = "model_not_found";
      await expect(run(core, "chat", { ...hello, model })).rejects.toMatchObject({ code });
    }
    const text = open.prometheus?.() ?? "";
    const labels = 'lintel_door="test",lintel_method="chat",lintel_outcome="model_not_found"';
    expect(samples(text).get(`lintel_requests_total{${labels}}`)).toBe(2);
    expect(text).not.toMatch(/none|nobody|gen_ai_request_model=/);
    expect(open.status?.().models).toMatchObject([{ model: "", requests: 2, failed: 2 }]);
  });

  test("the tokens of a prompt are a call, and no model's", async () => {
    const open = await telemetryOf({ prometheus: true });
    const core = coreOf([backend("a")], {}, { telemetry: open.telemetry });
    await run(core, "countTokens", hello);
    const text = open.prometheus?.() ?? "";
    expect(of(text, "lintel_requests_total", '"countTokens"', '"ok"')).toEqual([1]);
    expect(text).not.toMatch(/^gen_ai_|^lintel_attempts/m);
  });

  test("refusals, calls that run, and images are told", async () => {
    const open = await telemetryOf({ prometheus: true });
    const { handle } = hangsAfter("x");
    const painter = scripted({ streamTextToImage: paints(1), chat: handle });
    const core = coreOf(
      [painter],
      {},
      {
        telemetry: open.telemetry,
        limits: {
          settings: { global: { concurrent: 1 }, models: [] },
          prices: [],
          store: memoryLimits(),
        },
      },
    );
    open.observe({ running: () => core.readiness.running, routing: () => core.routing.snapshot() });
    await run(core, "textToImage", { prompt: "a", numImagesPerPrompt: 3, includeData: true });
    const leave = new AbortController();
    const { messages } = core.call(
      "chat",
      {
        $typeName: "lintel.v1.LLMRequest",
        model: "",
        stop: [],
        tools: [],
        modalities: [],
        messages: [message],
      } as never,
      { door: "test", credential: "me", signal: leave.signal },
    );
    const iterator = messages[Symbol.asyncIterator]();
    await iterator.next();
    expect(of(open.prometheus?.() ?? "", "lintel_requests_active")).toEqual([1]);
    await expect(run(core, "chat", hello)).rejects.toMatchObject({ code: "rate_limited" });
    leave.abort();
    await expect(iterator.next()).rejects.toMatchObject({ code: "cancelled" });
    const text = open.prometheus?.() ?? "";
    expect(of(text, "lintel_images_total", 'gen_ai_request_model="image-1"')).toEqual([3]);
    expect(of(text, "lintel_requests_active")).toEqual([0]);
    expect(of(text, "lintel_requests_total", 'lintel_outcome="cancelled"')).toEqual([1]);
    expect(
      of(
        text,
        "lintel_limit_refusals_total",
        'lintel_limit_scope="global"',
        'lintel_limit_quantity="concurrent"',
      ),
    ).toEqual([1]);
  });

  test("how much of budgets is used is told with the names that it is of", async () => {
    const open = await telemetryOf({ prometheus: true });
    const [period, of] = ["month" as const, { amount: 4, used: 1 }];
    open.observe({
      running: () => 0,
      routing: () => ({
        endpoints: [],
        mirrors: [],
        retries: { requests: 0, retries: 0, denied: 0 },
      }),
      budgets: () => [
        { scope: "global", name: "", period, ratio: 0.25, ...of },
        { scope: "model", name: "gpt-*", period, ratio: 0.5, ...of },
        { scope: "team", name: "red", period, ratio: 1, ...of },
        { scope: "caller", name: 'a"b', period: "day", ratio: 1.5, ...of },
        { scope: "caller_model", name: "gpt-*", caller: "ann", period, ratio: 0.75, ...of },
        { scope: "team_model", name: "gpt-*", team: "red", period, ratio: 0.5, ...of },
      ],
    });
    const told = [...samples(open.prometheus?.() ?? "")].filter(([key]) => key.includes("budget"));
    const name = "lintel_budget_used_ratio";
    const month = 'lintel_budget_period="month"';
    expect(told).toEqual([
      [`${name}{lintel_limit_scope="global",${month}}`, 0.25],
      [`${name}{lintel_limit_scope="model",gen_ai_request_model="gpt-*",${month}}`, 0.5],
      [`${name}{lintel_limit_scope="team",lintel_team="red",${month}}`, 1],
      [
        `${name}{lintel_limit_scope="caller",lintel_caller="a\\"b",lintel_budget_period="day"}`,
        1.5,
      ],
      [
        `${name}{lintel_limit_scope="caller_model",gen_ai_request_model="gpt-*",lintel_caller="ann",${month}}`,
        0.75,
      ],
      [
        `${name}{lintel_limit_scope="team_model",gen_ai_request_model="gpt-*",lintel_team="red",${month}}`,
        0.5,
      ],
    ]);
  });

  test("stores that are away are told", async () => {
    const open = await telemetryOf({ prometheus: true });
    const state = { kind: "redis", available: false, outages: 2, decidedWithout: 31 } as const;
    open.observe({
      running: () => 0,
      routing: () => ({
        endpoints: [],
        mirrors: [],
        retries: { requests: 0, retries: 0, denied: 4 },
      }),
      limits: { state },
      answers: { away: true, outages: 4 },
      images: { away: true, outages: 6 },
      tokens: { away: true, outages: 3 },
      usage: {
        ...{ away: false, outages: 1, unwritten: 5, lostTotal: 7 },
        ...{ waitingBytes: 11, mostWaitingBytes: 13 },
      },
    });
    const text = open.prometheus?.() ?? "";
    expect(of(text, "lintel_store_available", '"limits"')).toEqual([0]);
    expect(of(text, "lintel_store_available", '"answers"')).toEqual([0]);
    expect(of(text, "lintel_store_available", '"images"')).toEqual([0]);
    expect(of(text, "lintel_store_available", '"tokens"')).toEqual([0]);
    expect(of(text, "lintel_store_available", '"usage"')).toEqual([1]);
    expect(of(text, "lintel_store_outages_total", '"limits"')).toEqual([2]);
    expect(of(text, "lintel_store_outages_total", '"answers"')).toEqual([4]);
    expect(of(text, "lintel_store_outages_total", '"images"')).toEqual([6]);
    expect(of(text, "lintel_store_outages_total", '"tokens"')).toEqual([3]);
    expect(of(text, "lintel_store_outages_total", '"usage"')).toEqual([1]);
    expect(of(text, "lintel_store_decided_without_total")).toEqual([31]);
    expect(of(text, "lintel_retries_denied_total")).toEqual([4]);
    expect(of(text, "lintel_usage_waiting_bytes")).toEqual([11]);
    expect(of(text, "lintel_usage_waiting_max_bytes")).toEqual([13]);
    expect(of(text, "lintel_usage_unwritten")).toEqual([5]);
    expect(of(text, "lintel_usage_lost_total")).toEqual([7]);
  });

  test("names that callers choose can't break a line, nor fill the memory", async () => {
    const open = await telemetryOf({ prometheus: true });
    const name = 'a"b\\c\nd';
    const targets = [{ backend: "a", model: "m" }];
    const models = [
      { name, targets },
      { name: "m", targets },
    ];
    const core = coreOf([backend("a")], { models }, { telemetry: open.telemetry });
    await run(core, "chat", { ...hello, model: name });
    for (let i = 0; i < 2100; i++) {
      await run(core, "chat", { ...hello, model: "m" }, { door: `door-${i}` });
    }
    const text = open.prometheus?.() ?? "";
    const requests = of(text, "lintel_requests_total");
    expect(of(text, "lintel_requests_total", 'gen_ai_request_model="a\\"b\\\\c\\nd"')).toEqual([1]);
    expect(requests).toHaveLength(2001);
    expect(requests.reduce((a, b) => a + b)).toBe(2101);
  });
});

const message = say("user", "Hello");
