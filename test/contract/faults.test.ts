/** Model servers that fail, at every moment, seen through every door. */
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ErrorCode } from "../../src/core/error-table.js";
import { backendFor, echo } from "../backends/openai-subject.js";
import type { Script } from "../backends/upstream.js";
import { answers, breaks, Hanging, half, type Stage, Theatre } from "./theatre.js";
import { expectError, rpcWays, ways } from "./ways.js";

/** After these another server is asked. */
const early: Stage = {
  "reset before the first byte": [breaks, echo],
  "reset after the head of the answer": [
    async (exchange) => {
      await exchange.head(200, { "content-type": "text/event-stream" });
      exchange.destroy();
    },
    echo,
  ],
  "too many requests": [answers(429), echo],
  "bad gateway": [answers(502), echo],
  "service unavailable": [answers(503), echo],
  "gateway timeout": [answers(504), echo],
  "server error": [answers(500), echo],
  "refused key": [answers(401), echo],
};

/** After these nobody is. */
const final: Record<string, { script: Script; code: ErrorCode }> = {
  "bad request": { script: answers(400), code: "invalid_value" },
};

/** Where nothing listens. A port that was let go is soon somebody else's. */
const nobody = "http://127.0.0.1:9";

/** Milliseconds: long enough to get to the server also where everything is slow, else nobody leaves it. */
const soon = "1000";

describe.each(ways)("$name", (way) => {
  const late = new Hanging();
  const silent = new Hanging();
  const slow = new Hanging();
  let served = 0;
  const theatre = new Theatre();
  beforeAll(() =>
    theatre.open(
      {
        ...early,
        ...Object.fromEntries(Object.entries(final).map(([k, { script }]) => [k, [script, echo]])),
        refuses: [echo, echo],
        away: [echo],
        reused: [(exchange) => (served++ === 1 ? exchange.destroy() : echo(exchange))],
        busy: [answers(429, { "retry-after": "3600" })],
        late: [late.script, echo],
        silent: [half(silent.script), echo],
        dies: [half(breaks), echo],
        slow: [slow.script],
        good: [echo],
        sticky: [echo, echo, echo],
      },
      [
        // A whole answer has but one message: there it is the backend's own time that counts.
        ...(way.streams ? [{ name: "late", timeouts: { firstToken: Number(soon) } }] : []),
        { name: "silent", timeouts: { betweenTokens: 50 } },
        { name: "sticky", targets: [0, 1, 2].map((i) => ({ backend: `sticky ${i}` })) },
      ],
      {},
      (url, name, model) => {
        const timeouts = name === "late 0" && !way.streams ? { first_token: `${soon}ms` } : {};
        const at = name === "refuses 0" || name === "away 0" ? nobody : url;
        return backendFor(at, { name, models: [model], timeouts });
      },
    ),
  );
  afterAll(() => theatre.close());
  const ask = (model: string, headers: Record<string, string> = {}) =>
    way.ask(theatre.lintel.url, { model, headers });

  it.each(Object.keys(early))("another server is asked: %s", async (model) => {
    const text = expect.stringMatching(/^you said Hello ?$/);
    expect(await ask(model)).toMatchObject({ text, attempts: 2 });
    expect(theatre.asked(model)).toEqual([1, 1]);
  });

  it("another server is asked: connection refused", async () => {
    expect(await ask("refuses")).toMatchObject({ attempts: 2 });
  });

  it("a kept connection that the server closes as it is used again", async () => {
    expect(await ask("reused")).toMatchObject({ attempts: 1 });
    const again = await ask("reused");
    expect(again).toMatchObject({ attempts: 2 });
    expect(again.code).toBeUndefined();
    expect(theatre.servers("reused")[0]?.connections).toBe(2);
  });

  it.each(Object.keys(final))("nobody else is asked: %s", async (model) => {
    const seen = await ask(model);
    expectError(seen, way, final[model]?.code as ErrorCode, false);
    expect(seen.attempts).toBe(1);
    expect(theatre.asked(model)).toEqual([1, 0]);
  });

  it("429 with Retry-After: passed on, and the server is left alone", async () => {
    const first = await ask("busy");
    expectError(first, way, "rate_limited", false);
    expect(first).toMatchObject({ retryAfter: 3600, attempts: 1 });
    const second = await ask("busy");
    expectError(second, way, "unavailable", false);
    expect(second.retryAfter).toBeGreaterThan(1);
    expect(second.attempts).toBeUndefined();
    expect(theatre.asked("busy")).toEqual([1]);
  });

  it("no server can be reached: as often as it is allowed to be tried", async () => {
    const seen = await ask("away");
    expectError(seen, way, "upstream_unreachable", false);
    expect(seen.attempts).toBe(3);
  });

  it("hangs before the first byte", async () => {
    expect(await ask("late")).toMatchObject({ attempts: 2 });
    await late.left;
    expect(theatre.asked("late")).toEqual([1, 1]);
  });

  it("hangs in mid-answer", async () => {
    // A whole answer has no pieces: there it is the caller's deadline that ends it.
    const seen = await ask("silent", way.streams ? {} : { "x-request-timeout-ms": soon });
    expectError(seen, way, "timeout", way.streams);
    if (way.streams) expect(seen.text).toBe("half");
    await silent.left;
    expect(theatre.asked("silent")).toEqual([1, 0]);
  });

  it("dies in mid-answer", async () => {
    const seen = await ask("dies");
    if (way.streams) {
      expectError(seen, way, "upstream_failed", true);
      expect(seen.text).toBe("half");
    } else {
      // Of a whole answer the caller has seen nothing.
      expect(seen).toMatchObject({ text: "you said Hello" });
    }
    const attempts = way.streams ? 1 : 2;
    expect(seen.attempts).toBe(attempts);
    expect(theatre.asked("dies")).toEqual([1, attempts - 1]);
  });

  it("x-request-timeout-ms ends a call, and the server hears of it", async () => {
    expectError(await ask("slow", { "x-request-timeout-ms": soon }), way, "timeout", false);
    await slow.left;
  });

  it("x-request-timeout-ms must be a time", async () => {
    expectError(await ask("good", { "x-request-timeout-ms": "soon" }), way, "invalid_value", false);
  });

  it("the affinity header keeps a session at one server", async () => {
    for (let i = 0; i < 4; i++) await ask("sticky", { "x-session": "mine" });
    expect(theatre.asked("sticky").sort()).toEqual([0, 0, 4]);
    for (let i = 0; i < 4; i++) await ask("sticky", { "x-session": `session ${i}` });
    expect(Math.max(...theatre.asked("sticky"))).toBeLessThan(8);
  });
});

describe.each(rpcWays)("$name", (way) => {
  const ownDeadline = new Hanging();
  const shorter = new Hanging();
  const theatre = new Theatre();
  beforeAll(() => theatre.open({ own: [ownDeadline.script], shorter: [shorter.script] }, []));
  afterAll(() => theatre.close());

  it("the protocol's own deadline", async () => {
    const seen = await way.ask(theatre.lintel.url, { model: "own", timeoutMs: Number(soon) });
    expect(seen.status).toBe(Code.DeadlineExceeded);
    await ownDeadline.left;
  });
  it("of two deadlines the shorter", async () => {
    const headers = { "x-request-timeout-ms": soon };
    const asked = { model: "shorter", headers, timeoutMs: 60_000 };
    const seen = await way.ask(theatre.lintel.url, asked);
    expect(seen).toMatchObject({ status: Code.DeadlineExceeded, code: "timeout" });
    await shorter.left;
  });
});
