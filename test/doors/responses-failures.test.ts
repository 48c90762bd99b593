/** Failures of streams of the Responses API: which have their status, and in which words the others are told. */
import { describe, expect, test } from "vitest";
import { type ErrorOptions, invalidValue, LintelError, overflow } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import type { CallOutcome } from "../../src/core/telemetry.js";
import { breaksAfter } from "../support/scripted.js";
import { responseEvents } from "./response-events.js";
import { json, serveChat } from "./serve.js";

const path = "/v1/responses";
const asked = { input: "Hello", model: "chat-1" };

const tooLong = invalidValue("messages", `they have 9 tokens, the model holds 8 (${overflow})`);

describe("a conversation that is too long", () => {
  const message = "input: they have 9 tokens, the model holds 8 (context_length_exceeded)";
  const error = { code: "context_length_exceeded", message };

  test.each([
    ["with functions", []],
    ["with custom tools", [{ type: "custom", name: "patch" }]],
  ])("is told by the events of a stream, as OpenAI tells it: %s", async (_, tools) => {
    const { post } = await serveChat(breaksAfter(tooLong));
    const response = await post(path, { ...asked, tools, stream: true });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(response.headers.get("x-request-id")).toBeTruthy();
    const events = await responseEvents(response);
    const { id } = events[0].response;
    expect(events).toEqual([
      expect.objectContaining({ type: "response.created" }),
      expect.objectContaining({ type: "response.in_progress" }),
      {
        ...{ type: "error", sequence_number: 2, ...error, param: "input" },
        error: { ...error, type: "invalid_request_error", param: "input" },
      },
      expect.objectContaining({
        type: "response.failed",
        response: expect.objectContaining({
          ...{ id, status: "failed", model: "chat-1", error, output: [], usage: null },
        }),
      }),
    ]);
  });

  test("is a failed call to whoever watches", async () => {
    const outcomes: CallOutcome[] = [];
    const lines: object[] = [];
    const keep = (fields: object, message: string) => {
      if (message === "call") lines.push(fields);
    };
    const observation = {
      attempt: () => undefined,
      end: (_: unknown, outcome: CallOutcome) => void outcomes.push(outcome),
    };
    const { post } = await serveChat(breaksAfter(tooLong), {
      parts: {
        log: { ...silent, info: keep, warn: keep, error: keep },
        telemetry: { begin: () => observation },
      },
    });
    await (await post(path, { ...asked, stream: true })).text();
    expect(outcomes).toMatchObject([{ code: "invalid_value" }]);
    expect(lines).toMatchObject([{ code: "invalid_value", door: "openai" }]);
  });

  test("has its status where no stream was asked for, and by the other API", async () => {
    const { post } = await serveChat(breaksAfter(tooLong));
    const messages = [{ role: "user", content: "Hello" }];
    for (const response of [
      await post(path, asked),
      await post("/v1/chat/completions", { messages, stream: true }),
    ]) {
      expect(response.status).toBe(400);
      expect((await json(response)).error).toMatchObject({ code: "invalid_value" });
    }
  });
});

/** What is told of a failure behind a first piece. */
async function toldLate(error: LintelError) {
  const { post } = await serveChat(breaksAfter(error, "Hi"));
  const events = await responseEvents(await post(path, { ...asked, stream: true }));
  const [told, failed] = events.slice(-2);
  expect([told.type, failed.type]).toEqual(["error", "response.failed"]);
  return { told, failed: failed.response.error };
}

describe("all other failures", () => {
  test.each([
    ["rate_limited", 429, { retryAfter: 7 }],
    ["overloaded", 503, { retryAfter: 7 }],
    ["unsupported_parameter", 400, {}],
    ["content_blocked", 400, {}],
    ["model_not_allowed", 403, {}],
    ["upstream_failed", 502, {}],
  ] as const)(
    "have their status ahead of the first event: %s",
    async (code, status, more: ErrorOptions) => {
      const { post } = await serveChat(breaksAfter(new LintelError(code, "it broke", more)));
      const response = await post(path, { ...asked, stream: true });
      expect(response.status).toBe(status);
      expect((await json(response)).error).toMatchObject({ code, message: "it broke" });
      expect(response.headers.get("retry-after")).toBe(more.retryAfter ? "7" : null);
    },
  );

  test("also where they quote a caller who wrote OpenAI's word", async () => {
    const { post } = await serveChat(breaksAfter(tooLong));
    for (const [status, more] of [
      [404, { model: overflow }],
      [422, { temperature: overflow, stop: 5 }],
    ] as const) {
      const response = await post(path, { ...asked, ...more, stream: true });
      expect(response.status).toBe(status);
    }
  });

  test.each([
    ["invalid_value", "invalid_prompt"],
    ["unsupported_parameter", "invalid_prompt"],
    ["content_blocked", "invalid_prompt"],
    ["model_not_found", "invalid_prompt"],
    ["rate_limited", "rate_limit_exceeded"],
    ["upstream_failed", "upstream_failed"],
    ["overloaded", "overloaded"],
    ["request_timeout", "request_timeout"],
    ["timeout", "timeout"],
    ["cancelled", "cancelled"],
    ["internal", "internal"],
  ] as const)("late: %s is %s to Codex, and itself to OpenAI's clients", async (code, word) => {
    const { told, failed } = await toldLate(new LintelError(code, "it broke"));
    expect(told).toMatchObject({ code, message: "it broke", error: { code } });
    expect(failed.code).toBe(word);
    expect(failed.message).toMatch(/^it broke/);
  });

  test("late: a conversation that is too long is that to both", async () => {
    const { told, failed } = await toldLate(tooLong);
    expect(told).toMatchObject({ code: overflow, error: { code: overflow } });
    expect(failed).toEqual({ code: overflow, message: told.message });
  });

  test.each([
    [7, "it broke; try again in 7s"],
    [0.5, "it broke; try again in 0.5s"],
    [undefined, "it broke; try again in 1s"],
    [60, "it broke; try again in 60s"],
    [61, "it broke"],
  ])("late: a limit says when to come again, if that is soon: %s", async (retryAfter, message) => {
    const limit = new LintelError("rate_limited", "it broke", retryAfter ? { retryAfter } : {});
    expect((await toldLate(limit)).failed.message).toBe(message);
  });
});
