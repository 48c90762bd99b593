/** A call that ended is told once, and alike, in the log, in spans, in metrics, in usage and in `lintel top`. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { hashToken } from "../../src/core/tokens.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { mail } from "../core/guarding.js";
import { startLintel } from "../support/lintel.js";
import { chatModel } from "../support/models.js";
import { fails, routing } from "../support/routing.js";
import { breaksAfter, hangsAfter, piece, says, scripted } from "../support/scripted.js";
import { type Asked, type Way, ways } from "./asking.js";
import { Collector } from "./collector.js";
import { otlpTo, samples, telemetryOf } from "./support.js";

/** How a call ends, and what brings that about. */
interface End extends Partial<Omit<Asked, "signal" | "onPiece">> {
  readonly code: string;
  /** When its caller leaves: as the model server is asked, or with the first piece. */
  readonly leaves?: "asked" | "piece";
  /** Default: all. */
  readonly ways?: (way: Way) => boolean;
  /** What one of two calls with the same key is. */
  readonly keyed?: "first" | "again";
  readonly tried?: readonly string[];
}

const streams = (way: Way) => way.streams;

const ends: Readonly<Record<string, End>> = {
  "that is answered": { code: "ok", tried: ["ok"] },
  "that can't be read": { code: "invalid_json", raw: "{" },
  "of another type": {
    code: "unsupported_media_type",
    raw: "{}",
    type: "text/plain",
    // Over RPC the type is what a call is told by.
    ways: ({ door }) => !/grpc|connect/.test(door),
  },
  "that is too large": { code: "too_large", content: "x".repeat(3000) },
  "with a field out of bounds": { code: "invalid_fields", temperature: 100 },
  "without a token": { code: "invalid_token", token: null },
  "with a token that is none": { code: "invalid_token", token: "who" },
  "for a model of others": { code: "model_not_allowed", model: "others" },
  "for a model that is none": { code: "model_not_found", model: "none" },
  "beyond a limit": { code: "rate_limited", model: "limited" },
  "that a guard blocks": { code: "content_blocked", content: "me@example.com" },
  "that fails": { code: "upstream_failed", content: "fail", tried: ["upstream_failed"] },
  "that fails on its way": {
    ...{ code: "upstream_failed", content: "fail later", tried: ["upstream_failed"] },
  },
  "that takes too long": {
    ...{ code: "timeout", model: "hasty", content: "hang", tried: ["timeout"] },
  },
  "that takes too long on its way": {
    ...{ code: "timeout", model: "hasty", content: "hang later", tried: ["timeout"] },
  },
  "whose caller leaves": {
    ...{ code: "cancelled", content: "hang", leaves: "asked", tried: ["cancelled"] },
  },
  "whose caller leaves on its way": {
    ...{ code: "cancelled", content: "hang later", leaves: "piece", tried: ["cancelled"] },
    ways: streams,
  },
  "that is tried again": { code: "ok", model: "again", tried: ["ok", "unavailable"] },
  "that is hedged": { code: "ok", model: "hedged", tried: ["ok", "slower"], ways: streams },
  "that is mirrored": { code: "ok", model: "mirrored", tried: ["ok"] },
  "whose answer is kept": { code: "ok", model: "kept", tried: ["ok"] },
  "whose answer was kept": { code: "ok", model: "kept" },
  "with a key": { code: "ok", keyed: "first", tried: ["ok"] },
  "with the same key": { code: "ok", keyed: "again" },
};

let asked = () => {};

/** Of calls to the model `hasty`, in milliseconds; those that run pass once it hangs, whatever the time. */
const deadline = 80_000_000;
const deadlines = new Set<() => void>();

/** Holds timers of deadlines back. */
function withoutDeadlines() {
  const real = globalThis.setTimeout;
  const held = (run: () => void, ms?: number, ...more: []) => {
    const isDeadline = ms !== undefined && ms > deadline / 2 && ms <= deadline;
    if (isDeadline) deadlines.add(run);
    return isDeadline ? real(() => {}, ms).unref() : real(run, ms, ...more);
  };
  return vi.spyOn(globalThis, "setTimeout").mockImplementation(held as typeof setTimeout);
}

/** Streams the pieces, and then nothing until the call ends. */
const hangs = (...pieces: string[]): Handle<"chat"> =>
  async function* (call) {
    for (const text of pieces) yield [piece(text)];
    setImmediate(() => {
      for (const pass of deadlines) pass();
      deadlines.clear();
    });
    yield* hangsAfter().handle(call);
  };

/** Does what is said. */
const model: Handle<"chat"> = (call) => {
  asked();
  const said = call.request.messages.at(-1)?.content ?? "";
  if (said === "hang") return hangs()(call);
  if (said === "hang later") return hangs("x")(call);
  if (said === "fail") return fails("upstream_failed")(call);
  if (said === "fail later") {
    return breaksAfter(new LintelError("upstream_failed", "broke"), "x")(call);
  }
  return says("x", "y")(call);
};

/** What is quick until it is known for that, and answers nothing then. */
const tiring: Handle<"chat"> = (call) =>
  call.request.messages.at(-1)?.content === "warm up" ? says("x")(call) : hangsAfter().handle(call);

const own = ["m", "limited", "hasty", "again", "hedged", "mirrored", "kept", "none"];
const at = (backend: string, priority = 0) => ({ backend, model: "it", priority });
const models = [
  ...["m", "limited", "others"].map((name) => ({ name, targets: [at("a")] })),
  { name: "hasty", targets: [at("a")], timeouts: { total: deadline } },
  { name: "again", targets: [at("down"), at("a", 1)] },
  { name: "hedged", targets: [at("slow"), at("a", 1)], hedge: { percentile: 50, leastMs: 1 } },
  { name: "mirrored", targets: [at("a")], mirrors: [{ backend: "mirror", model: "it" }] },
  { name: "kept", targets: [at("a")], cacheTtlMs: 60_000 },
];

/** A gateway of which all is watched. */
async function watched() {
  const sink = await Collector.start();
  const otlp = otlpTo(sink.url, { metrics: false });
  const open = await telemetryOf({ prometheus: true, status: true, otlp });
  const lines: Record<string, unknown>[] = [];
  const records: UsageRecord[] = [];
  const note = (fields: object, text: string) => {
    if (text === "call") lines.push({ ...fields });
  };
  const backends = Object.entries({
    a: model,
    down: fails("unavailable"),
    slow: tiring,
    mirror: says("z"),
  });
  const store = new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1e6, maxBytes: 1e6 });
  const lintel = await startLintel(
    backends.map(([name, chat]) => scripted({ chat }, [chatModel("it")], name)),
    {
      settings: {
        auth: {
          mode: "token",
          tokens: [{ name: "me", team: "red", hash: hashToken("me"), models: own }],
        },
        models,
        // However often it fails: none is out, and all are tried again.
        routing: routing({ health: { failures: 1e6, samples: 1e6 }, retry: { floor: 1e6 } }),
      },
      parts: {
        telemetry: open.telemetry,
        log: { ...silent, info: note, warn: note, error: note },
        usage: { sink: { keep: async (record) => void records.push(record) }, prices: [] },
        limits: {
          settings: { models: [{ model: "limited", requestsPerMinute: 0 }] },
          prices: [],
          store: memoryLimits(),
        },
        cache: memoryCache(1e6),
        idempotency: { store, lingerMs: 0 },
        guards: [mail("block")],
      },
      doorSettings: { bodyLimit: 2000 },
    },
  );
  open.observe({
    running: () => lintel.core.readiness.running,
    routing: () => lintel.core.routing.snapshot(),
  });
  return { lintel, open, sink, lines, records };
}

const idOf = (end: string, way: string) => `${end} ${way}`.replaceAll(/\W/g, "-");

/** What the log, spans and usage tell alike. */
type Told = Readonly<Record<string, unknown>>;

describe("a call", () => {
  let it: Awaited<ReturnType<typeof watched>>;

  beforeAll(async () => {
    it = await watched();
    const timers = withoutDeadlines();
    const { url, core } = it.lintel;
    const ask = async ({ ask }: Way, id: string, { leaves, keyed, ...end }: End, name: string) => {
      const caller = new AbortController();
      asked = leaves === "asked" ? () => caller.abort() : () => {};
      const onPiece = leaves === "piece" ? () => caller.abort() : () => {};
      const headers = keyed && { "idempotency-key": name.replaceAll(" ", "") };
      const about = { id, model: "m", content: `I am ${name}`, headers, ...end };
      // How each door words a failure is another table's.
      await ask(url, { ...about, signal: caller.signal, onPiece }).catch(() => {});
    };
    const [first] = Object.values(ways).filter(streams);
    for (let i = 0; i < 20; i++) {
      const warm = { code: "ok", model: "hedged", content: "warm up" };
      await ask(first as Way, `warm-${i}`, warm, "");
    }
    for (const [end, row] of Object.entries(ends)) {
      for (const [name, way] of Object.entries(ways)) {
        if (row.ways?.(way) !== false) await ask(way, idOf(end, name), row, name);
      }
    }
    timers.mockRestore();
    await core.idle();
    await it.open.close();
  }, 60_000);
  afterAll(async () => {
    await it.lintel.close();
    await it.sink.close();
  });

  test.each(Object.entries(ends))("%s is told once, and alike", (end, row) => {
    const { lines, records, sink } = it;
    for (const [name, way] of Object.entries(ways)) {
      if (row.ways?.(way) === false) continue;
      const id = idOf(end, name);
      const own = lines.filter((line) => line.id === id);
      expect(own, name).toHaveLength(1);
      const line = own[0] as Told;
      const told = {
        code: row.code,
        door: way.door,
        ...pick(line, "method", "caller", "team", "model", "backend", "attempts"),
        ...pick(line, "promptTokens", "completionTokens"),
      };
      expect(line, name).toMatchObject(told);
      expect(line.error === undefined, name).toBe(row.code === "ok");
      const isRead = row.code === "ok" && row.keyed !== "again";
      expect(told, name).toMatchObject({
        ...(row.code !== "invalid_token" && { caller: "me", team: "red" }),
        // Whether it was to be streamed stands in the body, on some doors.
        ...(row.code === "ok" && { method: way.streams ? "chat" : "complete" }),
        ...(row.code === "ok" && { model: row.model ?? "m" }),
        ...(isRead && { promptTokens: 7, completionTokens: 2 }),
        attempts: row.tried?.length ?? 0,
      });

      const spans = sink.spans.filter((span) => span.attributes["lintel.request.id"] === id);
      expect(spans.map(spanTold), name).toEqual([told]);
      const below = sink.spans.filter(
        (span) => span.parentSpanId === spans[0]?.spanId && !span.attributes["lintel.mirror"],
      );
      const attempts = below.map(({ attributes, status }) => ({
        outcome: attributes["error.type"] ?? "ok",
        failed: status.code === 2,
        tokens: attributes["gen_ai.usage.output_tokens"] ?? "at the call",
      }));
      const tried = (row.tried ?? []).map((outcome) => ({
        outcome,
        failed: outcome !== "ok" && outcome !== "slower" && outcome !== "cancelled",
        tokens: "at the call",
      }));
      const byOutcome = attempts.sort((a, b) => (String(a.outcome) < String(b.outcome) ? -1 : 1));
      expect(byOutcome, name).toEqual(tried);

      const uncounted = row.code === "invalid_token" || row.keyed === "again";
      // What was made for an earlier call was counted with it.
      const isKept = line.cache === "hit";
      const tokens = isKept ? undefined : pick(line, "promptTokens", "completionTokens");
      const { promptTokens = 0, completionTokens = 0 } = tokens ?? {};
      const used = { ...told, promptTokens, completionTokens };
      const kept = records.filter(({ requestId }) => requestId === id);
      expect(kept.map(recordTold), name).toEqual(uncounted ? [] : [used]);
      expect(isKept, name).toBe(end === "whose answer was kept");
      expect(line.replayed, name).toBe(row.keyed === "again" ? true : undefined);
    }
  });

  test("is one in metrics and in lintel top, and none runs on", () => {
    const { lines, records, open, lintel } = it;
    const all = [...samples(open.prometheus?.() ?? "")];
    const labelled = (key: string) =>
      Object.fromEntries([...key.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, v]));
    const requests = all
      .filter(([key]) => key.startsWith("lintel_requests_total{"))
      .flatMap(([key, value]) => {
        const { lintel_door: door, lintel_method: method, ...of } = labelled(key);
        const { gen_ai_request_model: model, lintel_outcome: code } = of;
        return Array.from({ length: value }, () => JSON.stringify({ door, method, model, code }));
      });
    const logged = lines.map(({ door, method, model, code }) =>
      JSON.stringify({ door, method, model, code }),
    );
    expect(requests.sort()).toEqual(logged.sort());

    const sum = (name: string, label = "") =>
      all
        .filter(([key]) => key.replace(/\{.*/, "") === name && key.includes(label))
        .reduce((sum, [, value]) => sum + value, 0);
    const used = (of: (record: UsageRecord) => number) =>
      records.reduce((sum, record) => sum + of(record), 0);
    const tallied = lintelTop(open.status?.().models ?? []);
    const tokens = "gen_ai_client_token_usage_sum";
    expect({
      attempts: sum("lintel_attempts_total"),
      input: sum(tokens, '"input"'),
      output: sum(tokens, '"output"'),
    }).toEqual({
      attempts: used(({ attempts }) => attempts),
      input: used(({ promptTokens }) => promptTokens),
      output: used(({ completionTokens }) => completionTokens),
    });
    const count = (of: (line: Told) => boolean) => lines.filter(of).length;
    expect(tallied).toEqual({
      requests: lines.length,
      failed: count(({ code }) => code !== "ok" && code !== "cancelled"),
      cancelled: count(({ code }) => code === "cancelled"),
      cacheHits: count(({ cache }) => cache === "hit"),
      promptTokens: used(({ promptTokens }) => promptTokens),
      completionTokens: used(({ completionTokens }) => completionTokens),
    });
    expect(sum("lintel_mirror_calls_total")).toBe(Object.keys(ways).length);
    for (const of of ["requests_active", "target_active", "target_waiting", "mirror_active"]) {
      expect(sum(`lintel_${of}`), of).toBe(0);
    }
    expect(lintel.core.readiness.running).toBe(0);
  });
});

const pick = (from: Told, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, from[name]]));

const spanTold = ({ attributes: of }: { readonly attributes: Told }): Told => ({
  code: of["error.type"] ?? "ok",
  door: of["lintel.door"],
  method: of["lintel.method"],
  caller: of["lintel.caller"],
  team: of["lintel.team"],
  model: of["gen_ai.request.model"],
  backend: of["lintel.backend"],
  attempts: of["lintel.attempts"],
  promptTokens: of["gen_ai.usage.input_tokens"],
  completionTokens: of["gen_ai.usage.output_tokens"],
});

const recordTold = ({ outcome, ...record }: UsageRecord): Told => ({
  code: outcome,
  ...pick(record as unknown as Told, "door", "method", "caller", "team", "model", "backend"),
  ...pick(record as unknown as Told, "attempts", "promptTokens", "completionTokens"),
});

/** Sums over its models. */
function lintelTop(models: readonly object[]) {
  const names = [
    "requests",
    "failed",
    "cancelled",
    "cacheHits",
    "promptTokens",
    "completionTokens",
  ];
  return Object.fromEntries(
    names.map((name) => [
      name,
      models.reduce((sum, model) => sum + Number((model as Told)[name]), 0),
    ]),
  );
}
