import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { chatModel } from "../support/models.js";
import { breaksAfter, piece, says, scripted } from "../support/scripted.js";
import { chunks, hello, json, serve, serveChat } from "./serve.js";

describe("POST /llm", () => {
  test("a whole answer has the contract's shape, message only, strings never null", async () => {
    const server = await serveChat(says("Hi", " there"));
    const response = await server.post("/llm", hello());
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.headers.get("x-request-id")).toMatch(/^\S{10,}$/);
    const body = await json(response);
    expect(body).toEqual({
      id: expect.stringMatching(/^chatcmpl-\S+$/),
      object: "chat.completion",
      created: expect.any(Number),
      model: "chat-1",
      choices: [
        { index: 0, message: { role: "assistant", content: "Hi there" }, finish_reason: "stop" },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
    });
    expect(Math.abs(body.created - Date.now() / 1000)).toBeLessThan(60);
  });

  test("no content is an empty string", async () => {
    const server = await serveChat(says());
    const body = await json(await server.post("/llm", hello()));
    expect(body.choices[0].message.content).toBe("");
  });

  test("the body's `stream` alone decides the form, `Accept` does not", async () => {
    const server = await serveChat(says("Hi"));
    const accept = { accept: "text/event-stream" };
    const whole = await server.post("/llm", hello({ stream: false }), accept);
    expect(whole.headers.get("content-type")).toMatch("application/json");
    const stream = await server.post("/llm", hello({ stream: true }), {
      accept: "application/json",
    });
    expect(stream.headers.get("content-type")).toMatch("text/event-stream");
    await stream.text();
  });

  test("the defaults that real clients send, null and unknown fields change nothing", async () => {
    const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);
    const server = await serve(backend);
    const defaults = { model: "", temperature: 0.7, max_tokens: 256, top_p: 1, top_k: -1 };
    const bodies = [
      hello({ ...defaults, stream: false }),
      hello({ temperature: null, max_tokens: null, stream: null, seed: null, stop: null }),
      hello({ unknown: { deep: [1] }, maxTokens: "camel is unknown" }),
    ];
    for (const body of bodies) {
      const response = await server.post("/llm", body);
      expect(response.status).toBe(200);
      expect(response.headers.get("x-lintel-warnings")).toBeNull();
      expect(await json(response)).not.toHaveProperty("warnings");
    }
    expect(backend.asked.map((r) => ({ ...r }))).toEqual(Array(3).fill({ ...backend.asked[0] }));
  });

  test("`stop` may be one string", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    for (const stop of ["end", ["end"]]) {
      expect((await server.post("/llm", hello({ stop }))).status).toBe(200);
    }
    expect(backend.asked).toMatchObject([{ stop: ["end"] }, { stop: ["end"] }]);
    const empty = await server.post("/llm", hello({ stop: "" }));
    expect((await json(empty)).error).toMatchObject({ code: "invalid_fields", param: "stop[0]" });
  });

  test("warnings that no header can carry as they are", async () => {
    const said = ["the style “Ü図”\n is not there", "x".repeat(3000)];
    const server = await serveChat(async function* (call) {
      for (const text of said) call.warnings.add(text);
      yield* says("Hi")(call);
    });
    const response = await server.post("/llm", hello());
    expect(response.status).toBe(200);
    expect(response.headers.get("x-lintel-warnings")).toBe(
      `the style ????? is not there; ${"x".repeat(3000)}`.slice(0, 2000),
    );
    expect((await json(response)).warnings).toEqual(said);
  });

  test("what the model does not support is in `warnings` and the header", async () => {
    const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);
    const server = await serve(backend);
    const whole = await server.post("/llm", hello({ top_k: 5 }));
    expect(whole.headers.get("x-lintel-warnings")).toMatch(/top_k/);
    expect((await json(whole)).warnings).toEqual([expect.stringMatching(/top_k/)]);
    const stream = await server.post("/llm", hello({ top_k: 5, stream: true }));
    expect(stream.headers.get("x-lintel-warnings")).toMatch(/top_k/);
    const all = await chunks(stream);
    expect(all.at(-1).warnings).toEqual([expect.stringMatching(/top_k/)]);
    expect(all[0]).not.toHaveProperty("warnings");
  });

  test("usage that the model server did not report is marked as an estimate", async () => {
    const server = await serveChat(async function* () {
      yield [piece("Hi")];
      yield [piece("", "stop")];
    });
    expect((await json(await server.post("/llm", hello()))).usage_estimated).toBe(true);
    const all = await chunks(await server.post("/llm", hello({ stream: true })));
    expect(all.map((c) => c.usage_estimated)).toEqual([undefined, true]);
  });
});

describe("streams", () => {
  test("headers, the chunks' shape, the last chunk, [DONE]", async () => {
    const server = await serveChat(says("Hi", ' "there"\n', "€😀"));
    const response = await server.post("/llm", hello({ stream: true }), { origin: "http://site" });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-request-id": expect.any(String),
      "access-control-allow-origin": "*",
    });
    const all = await chunks(response);
    const { id, created } = all[0];
    const shared = { id, object: "chat.completion.chunk", created, model: "chat-1" };
    const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const chunk = (content: string) => ({
      ...shared,
      choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
      usage: zeros,
    });
    expect(id).toMatch(/^chatcmpl-/);
    expect(Number.isInteger(created)).toBe(true);
    expect(all).toEqual([
      chunk("Hi"),
      chunk(' "there"\n'),
      chunk("€😀"),
      {
        ...shared,
        choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: "stop" }],
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      },
    ]);
  });

  test("`stream_options.include_usage` gives OpenAI's form of usage", async () => {
    const server = await serveChat(says("Hi"));
    const body = hello({ stream: true, stream_options: { include_usage: true } });
    const all = await chunks(await server.post("/llm", body));
    expect(all.map((c) => c.usage)).toEqual([
      null,
      null,
      { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 },
    ]);
    expect(all.map((c) => c.choices.length)).toEqual([1, 1, 0]);
    expect(new Set(all.map((c) => c.id)).size).toBe(1);
  });

  test("a failure before the first chunk keeps its status", async () => {
    const server = await serveChat(
      breaksAfter(new LintelError("rate_limited", "at its limit", { retryAfter: 2.2 })),
    );
    const response = await server.post("/llm", hello({ stream: true }));
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("3");
    expect(response.headers.get("content-type")).toMatch("application/json");
  });

  test("a failure after the first chunk is an error chunk, then [DONE]", async () => {
    const server = await serveChat(
      breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi"),
    );
    const all = await chunks(await server.post("/llm", hello({ stream: true })));
    expect(all).toHaveLength(2);
    expect(all[1]).toMatchObject({
      id: all[0].id,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: "error" }],
      error: { message: "it broke", type: "upstream_error", param: null, code: "upstream_failed" },
    });
  });

  test("a failure after the first chunk tells the tokens that count", async () => {
    const records: UsageRecord[] = [];
    const logged: object[] = [];
    const server = await serveChat(breaksAfter(new LintelError("timeout", "too slow"), "a", "b"), {
      parts: {
        usage: { sink: { keep: async (record) => void records.push(record) }, prices: [] },
        log: { ...silent, warn: (fields) => void logged.push(fields) },
      },
    });
    const all = await chunks(await server.post("/llm", hello({ stream: true })));
    const { usage, usage_estimated: estimated } = all[2];
    expect(usage.completion_tokens).toBeGreaterThan(0);
    const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = usage;
    expect(usage.total_tokens).toBe(promptTokens + completionTokens);
    expect(estimated).toBe(true);
    const counts = { promptTokens, completionTokens, estimated };
    expect(records).toMatchObject([counts]);
    expect(logged).toMatchObject([counts]);
  });

  test("a stream that ends without a finish reason is a failure", async () => {
    const server = await serveChat(async function* () {
      yield [piece("Hi")];
    });
    const all = await chunks(await server.post("/llm", hello({ stream: true })));
    expect(all.at(-1)).toMatchObject({
      choices: [{ finish_reason: "error" }],
      error: { code: "upstream_failed" },
    });
  });

  test("a failure in the middle of OpenAI's form of usage has no totals", async () => {
    const server = await serveChat(breaksAfter(new LintelError("timeout", "too slow"), "Hi"));
    const body = hello({ stream: true, stream_options: { include_usage: true } });
    const all = await chunks(await server.post("/llm", body));
    expect(all.map((c) => c.usage)).toEqual([null, null]);
    expect(all[1].error.code).toBe("timeout");
  });

  test.each([
    ["stream", hello({ stream: "yes" })],
    ["stream", hello({ stream: 1 })],
    ["stream_options", hello({ stream: true, stream_options: [] })],
    ["stream_options.include_usage", hello({ stream: true, stream_options: { include_usage: 1 } })],
  ])("a wrong `%s` is a 422 on it", async (field, body) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", body);
    expect(response.status).toBe(422);
    expect((await json(response)).error.param).toBe(field);
  });
});
