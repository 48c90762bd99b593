import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { chatModel } from "../support/models.js";
import {
  breaksAfter,
  hangsAfter,
  paints,
  piece,
  png,
  says,
  scripted,
} from "../support/scripted.js";
import { chunks, hello, json, serve, serveChat } from "./serve.js";

describe("decisions 1: POST /llm", () => {
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

describe("decisions 1: streams", () => {
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

describe("decisions 2: POST /text-to-image", () => {
  test("images with url, seed and nsfw, never bytes", async () => {
    const backend = scripted({ streamTextToImage: paints() });
    const server = await serve(backend);
    const response = await server.post("/text-to-image", {
      model_id: "",
      prompt: "a cat",
      seed: 4294967295,
      num_images_per_prompt: 2,
      safety_check: false,
      include_data: true,
    });
    expect(response.status).toBe(200);
    expect(await json(response)).toEqual({
      images: [
        { url: expect.stringMatching(/^http:/), seed: 4294967295, nsfw: false },
        { url: expect.stringMatching(/^http:/), seed: 0, nsfw: false },
      ],
    });
  });

  test("warnings stand in the body and the header", async () => {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const response = await server.post("/text-to-image", { prompt: "a cat" });
    expect(response.headers.get("x-lintel-warnings")).toMatch(/safety_check/);
    expect((await json(response)).warnings).toEqual([expect.stringMatching(/safety_check/)]);
  });

  test("`loras` may be a JSON object", async () => {
    const backend = scripted({ streamTextToImage: paints() });
    const server = await serve(backend);
    const body = { prompt: "a cat", loras: { style: 0.5 } };
    expect((await server.post("/text-to-image", body)).status).toBe(200);
    expect(backend.asked[0]).toMatchObject({ loras: '{"style":0.5}' });
  });

  test.each([
    ["an array", ["style"]],
    ["a number", 5],
    ["a bool", true],
    ["no JSON", "style:1"],
    ["a negative weight", { style: -1 }],
    ["a weight that is no number", { style: "1" }],
  ])("`loras` that is %s is a 400 that names it", async (_what, loras) => {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const response = await server.post("/text-to-image", { prompt: "a cat", loras });
    expect(response.status).toBe(400);
    expect((await json(response)).error.param).toBe("loras");
  });

  test("`loras` nested too deeply for the stack is a 400 too", async () => {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    const response = await server.post("/text-to-image", `{"prompt":"a cat","loras":${deep}}`);
    expect(response.status).toBe(400);
    expect((await json(response)).error.param).toBe("loras");
  });

  test("`stream: true` sends progress, images, and at the end all of them", async () => {
    const server = await serve(scripted({ streamTextToImage: paints(2) }));
    const body = { prompt: "a cat", seed: 5, num_images_per_prompt: 2, stream: true };
    const response = await server.post("/text-to-image", body);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const all = await chunks(response);
    expect(all.filter((e) => e.type === "progress")).toEqual(
      [0, 1].flatMap((index) =>
        [1, 2].map((step) => ({
          type: "progress",
          index,
          images: 2,
          step,
          steps: 2,
          percent: 50 * index + 25 * step,
        })),
      ),
    );
    const image = (seed: number) => ({ url: expect.stringMatching(/^http:/), seed, nsfw: false });
    expect(all.filter((e) => e.type === "image")).toEqual([
      { type: "image", index: 0, image: image(5) },
      { type: "image", index: 1, image: image(6) },
    ]);
    expect(all.at(-1)).toEqual({
      type: "done",
      images: [image(5), image(6)],
      warnings: [expect.stringMatching(/safety_check/)],
    });
  });

  test("each of 50 steps is two percent", async () => {
    const server = await serve(scripted({ streamTextToImage: paints(50) }));
    const all = await chunks(
      await server.post("/text-to-image", { prompt: "a cat", stream: true }),
    );
    const told = all.filter((e) => e.type === "progress").map(({ percent }) => percent);
    expect(told).toEqual(Array.from({ length: 50 }, (_, i) => 2 * (i + 1)));
  });

  test("`include_previews` puts a picture into progress where there is one", async () => {
    const backend = scripted({
      async *streamTextToImage(call) {
        for await (const batch of paints(1)(call)) {
          for (const { event } of batch) {
            if (event.case === "progress") event.value.preview = png(1);
          }
          yield batch;
        }
      },
    });
    const server = await serve(backend);
    const body = { prompt: "a cat", stream: true, include_previews: true };
    const [progress] = await chunks(await server.post("/text-to-image", body));
    expect(backend.asked[0]).toMatchObject({ includePreviews: true });
    expect(progress).toMatchObject({
      type: "progress",
      preview: `data:image/png;base64,${png(1).toString("base64")}`,
    });
  });

  test("a failure in mid-stream is an error event, then [DONE]", async () => {
    const server = await serve(
      scripted({
        async *streamTextToImage(call) {
          for await (const batch of paints(2)(call)) {
            yield batch;
            throw new LintelError("upstream_failed", "it broke");
          }
        },
      }),
    );
    const all = await chunks(await server.post("/text-to-image", { prompt: "x", stream: true }));
    expect(all.at(-1)).toEqual({
      type: "error",
      error: { message: "it broke", type: "upstream_error", param: null, code: "upstream_failed" },
      detail: { msg: "it broke" },
    });
  });
});

describe("decisions 4: errors", () => {
  test("422: one body for both families of clients, all fields at once", async () => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", {
      messages: [{ role: "king", content: 5 }],
      temperature: "0.7",
      top_p: 3,
      max_tokens: 1.5,
    });
    expect(response.status).toBe(422);
    const body = await json(response);
    expect(body.error).toMatchObject({ type: "invalid_request_error", code: "invalid_fields" });
    expect(body.detail).toHaveLength(5);
    expect(body.detail).toEqual(
      expect.arrayContaining([
        { loc: ["body", "messages", 0, "content"], msg: "must be a string", type: "value_error" },
        { loc: ["body", "messages", 0, "role"], msg: expect.any(String), type: "value_error" },
        { loc: ["body", "temperature"], msg: "must be a finite number", type: "value_error" },
        { loc: ["body", "max_tokens"], msg: "must be an integer", type: "value_error" },
        { loc: ["body", "top_p"], msg: expect.any(String), type: "value_error" },
      ]),
    );
    for (const field of ["messages[0].content", "temperature", "max_tokens", "top_p"]) {
      expect(body.error.message).toContain(field);
    }
  });

  test("422: a list that is too long and has an item of the wrong type has both faults", async () => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", hello({ stop: [1, "a", "", "c", "d"] }));
    expect((await json(response)).detail).toEqual([
      { loc: ["body", "stop", 0], msg: "must be a string", type: "value_error" },
      { loc: ["body", "stop"], msg: "number of items must be from 0 to 4", type: "value_error" },
      { loc: ["body", "stop", 2], msg: "must not be empty", type: "value_error" },
    ]);
  });

  test("all but 422: error and detail.msg", async () => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", hello({ model: "none" }));
    expect(response.status).toBe(404);
    const { error, detail } = await json(response);
    expect(error).toEqual({
      message: expect.stringContaining("none"),
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
    });
    expect(detail).toEqual({ msg: error.message });
  });

  test("401 with WWW-Authenticate, before anything about the body", async () => {
    const server = await serveChat(says("Hi"));
    for (const body of ["{", "", hello(), { messages: 5 }]) {
      const response = await server.post("/llm", body, { authorization: "" });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test.each([
    ["broken JSON", '{"messages":'],
    ["an empty body", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["a string", '"x"'],
    ["a number", "1e400"],
    ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["an unclosed nest", "[".repeat(100_000)],
  ])("400: the body is %s", async (_what, body) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", body);
    expect(response.status).toBe(400);
    expect((await json(response)).error.code).toBe("invalid_json");
    expect((await server.post("/llm", hello())).status).toBe(200);
  });

  test.each([
    ["another type", { "content-type": "text/plain" }, 415],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["another charset", { "content-type": "application/json; charset=latin1" }, 415],
    ["no valid type", { "content-type": "json" }, 415],
    ["a compressed body", { "content-encoding": "gzip" }, 415],
    ["utf-8 said aloud", { "content-type": 'Application/JSON; charset="UTF-8"' }, 200],
  ])("415: media type: %s", async (_what, headers, status) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", hello(), headers as Record<string, string>);
    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toBeTruthy();
    if (status === 415) expect((await json(response)).error.code).toBe("unsupported_media_type");
  });

  test.each(["/llm", "/text-to-image", "/v1/chat/completions", "/v1/images/generations"])(
    "%s: who calls is asked before the type is",
    async (path) => {
      const server = await serveChat(says("Hi"));
      for (const type of ["application/json", "text/plain", "json", undefined]) {
        for (const body of ["x", undefined]) {
          const headers = new Headers(type === undefined ? [] : [["content-type", type]]);
          const bytes = body && Buffer.from(body);
          const answer = await fetch(server.url + path, { method: "POST", headers, body: bytes });
          expect([type, body, answer.status]).toEqual([type, body, 401]);
          expect(answer.headers.get("www-authenticate")).toBe("Bearer");
          expect((await json(answer)).error.code).toBe("invalid_token");
        }
      }
    },
  );

  test("415: no type at all", async () => {
    const server = await serveChat(says("Hi"));
    const headers = { authorization: "Bearer me" };
    const without = await fetch(`${server.url}/llm`, { method: "POST", headers });
    expect(without.status).toBe(415);
    const body = Buffer.from(JSON.stringify(hello()));
    const response = await fetch(`${server.url}/llm`, { method: "POST", headers, body });
    expect(response.status).toBe(415);
  });

  test("a fault of our own shows nothing of itself", async () => {
    const server = await serveChat(breaksAfter(new Error("secret at /etc/passwd")));
    const response = await server.post("/llm", hello());
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(/secret|passwd|at /);
  });

  test("x-request-id: the caller's, or a new one", async () => {
    const server = await serveChat(says("Hi"));
    for (const stream of [true, false]) {
      const own = await server.post("/llm", hello({ stream }), { "x-request-id": "my-id.1" });
      expect(own.headers.get("x-request-id")).toBe("my-id.1");
      const bad = await server.post("/llm", hello({ stream }), { "x-request-id": "a b" });
      expect(bad.headers.get("x-request-id")).not.toBe("a b");
      await Promise.all([own.text(), bad.text()]);
    }
  });

  test("x-request-timeout-ms is the call's deadline", async () => {
    const { handle, aborted } = hangsAfter();
    const server = await serveChat(handle);
    const late = await server.post("/llm", hello(), { "x-request-timeout-ms": "20" });
    expect(late.status).toBe(504);
    await aborted;
    const wrong = await server.post("/llm", hello(), { "x-request-timeout-ms": "soon" });
    expect(wrong.status).toBe(400);
    expect((await json(wrong)).error.param).toBe("x-request-timeout-ms");
  });
});
