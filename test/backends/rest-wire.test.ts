import { describe, expect, it, onTestFinished } from "vitest";
import { State, Task } from "../../gen/lintel/v1/models_pb.js";
import { restSchema } from "../../src/backends/rest/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { noSeed } from "../../src/core/image-events.js";
import { silent } from "../../src/core/log.js";
import { modalityOf } from "../../src/core/model.js";
import { never, outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { functionTool } from "../support/tools.js";
import { text } from "./contract-chat.js";
import { fixture } from "./fixture.js";
import { chatRequest } from "./openai-subject.js";
import { imageRequest, picture, pixels } from "./picture.js";
import { gateway, livepeerImages, restAt } from "./rest-subject.js";
import { callOf } from "./subject.js";
import type { Script, Upstream } from "./upstream.js";

/** A gateway whose next answer is scripted, and a backend for it. */
async function against(script?: Script, config: object = {}) {
  const server = await gateway();
  server.next = script;
  const backend = restAt(server.url, config);
  onTestFinished(() => server.close());
  onTestFinished(() => backend.close());
  return { server, backend };
}

const played =
  (name: string): Script =>
  (exchange) =>
    exchange.play(fixture(name), 5);

async function chatted(backend: Backend, more = {}) {
  const call = { ...callOf("chat", chatRequest(more)), deadline: performance.now() + 60_000 };
  const messages = [];
  let error: unknown;
  try {
    for await (const step of backend.handlers.chat?.(call) ?? []) messages.push(...step);
  } catch (thrown) {
    error = thrown;
  }
  return { text: text(messages), last: messages.at(-1), warnings: [...call.warnings], error };
}

async function drawn(backend: Backend, more = {}) {
  const size = { width: 64, height: 48, seed: 7n };
  const call = callOf("streamTextToImage", imageRequest({ modelId: "draw", ...size, ...more }));
  const events = [];
  for await (const step of backend.handlers.streamTextToImage?.(call) ?? []) {
    events.push(...step.map(({ event }) => event));
  }
  const images = events.flatMap((e) => (e.case === "image" ? [e.value] : []));
  const progress = events.flatMap((e) => (e.case === "progress" ? [e.value] : []));
  return { images, progress, warnings: [...call.warnings] };
}

async function collected<T>(steps: AsyncIterable<readonly T[]> | undefined): Promise<T[]> {
  const all: T[] = [];
  for await (const step of steps ?? []) all.push(...step);
  return all;
}

async function failure(promise: Promise<unknown>): Promise<LintelError> {
  const error = await promise.then(
    (value) => (value as { error?: unknown }).error ?? "nothing was thrown",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LintelError);
  expect((error as LintelError).message).not.toMatch(/127\.0\.0\.1|localhost|:\d{4,5}/);
  return error as LintelError;
}

const posted = ({ requests }: Upstream) => {
  const [first] = requests;
  if (!first) throw new Error("nothing was sent");
  return { path: first.path, headers: first.headers, body: JSON.parse(String(first.body)) };
};

describe("another Lintel's chat", () => {
  it("streams with its usage and its warnings", async () => {
    const { backend } = await against(played("lintel/events"));
    const { text, last, warnings, error } = await chatted(backend);
    expect(error).toBeUndefined();
    expect(text).toBe('Hello "error": there');
    expect(last).toMatchObject({
      usage: { promptTokens: 9, completionTokens: 4, totalTokens: 13 },
      usageEstimated: true,
      choices: [{ finishReason: "stop" }],
    });
    expect(warnings).toEqual(["top_k: not supported by this model, ignored"]);
  });

  it("may fail in the middle: what came counts, and the error is its own", async () => {
    const { backend } = await against(played("lintel/events-error"));
    const { text, error } = await chatted(backend);
    expect(text).toBe("Hel");
    expect(error).toMatchObject({
      code: "rate_limited",
      message: "the model server is at its limit",
    });
  });

  it("may break off: that is no end", async () => {
    const { backend } = await against(async (exchange) => {
      const { headers, body } = fixture("lintel/events");
      await exchange.head(200, headers);
      await exchange.chunk(body.subarray(0, body.indexOf('"stop"')));
      await exchange.end();
    });
    expect(await failure(chatted(backend))).toMatchObject({ code: "upstream_failed" });
  });

  it("is sent numbers of schemas as they are written", async () => {
    const { server, backend } = await against();
    const exact = '{"type":"integer","maximum":9223372036854775807}';
    await chatted(backend, { tools: [functionTool("f", exact)] });
    expect(String(server.requests[0]?.body)).toContain(`"parameters":${exact}`);
  });

  it("is sent marks at tools, where they stand", async () => {
    const { server, backend } = await against();
    const cacheControl = { $typeName: "lintel.v1.CacheControl", type: "ephemeral", ttl: "1h" };
    const tools = [functionTool("f", "{}"), { ...functionTool("g", "{}"), cacheControl }];
    await chatted(backend, { tools });
    const marks = posted(server).body.tools.map((tool: object) => Object.entries(tool).at(2));
    expect(marks).toEqual([undefined, ["cache_control", { type: "ephemeral", ttl: "1h" }]]);
  });

  it("is sent the request with its id and deadline, and our token", async () => {
    const { server, backend } = await against(undefined, {
      token: "secret",
      headers: { "X-Team": "a" },
    });
    const sampling = { frequencyPenalty: 0.5, presencePenalty: -0.5, repetitionPenalty: 1.1 };
    const more = {
      ...sampling,
      minP: 0.05,
      verbosity: "low",
      serviceTier: "flex",
      logitBias: { 5: -1 },
    };
    await chatted(backend, { topK: 40, seed: 3n, stop: ["END"], ...more });
    const { path, headers, body } = posted(server);
    expect(path).toBe("/llm");
    expect(headers).toMatchObject({
      authorization: "Bearer secret",
      "x-team": "a",
      "x-request-id": "req-contract",
    });
    expect(Number(headers["x-request-timeout-ms"])).toBeGreaterThan(30_000);
    expect(Number(headers["x-request-timeout-ms"])).toBeLessThanOrEqual(60_000);
    expect(body).toEqual({
      model: "m",
      messages: [{ role: "user", content: "hello" }],
      ...{ temperature: 0.7, max_tokens: 256, top_p: 1, top_k: 40 },
      ...{ seed: 3, stop: ["END"], stream: true },
      ...{ frequency_penalty: 0.5, presence_penalty: -0.5, repetition_penalty: 1.1 },
      ...{ min_p: 0.05, verbosity: "low", service_tier: "flex", logit_bias: { 5: -1 } },
    });
  });

  it("says which tier of service an answer had", async () => {
    const choice = { delta: { role: "assistant", content: "x" }, finish_reason: "stop" };
    const { backend } = await against(async (exchange) => {
      const chunk = { id: "1", created: 1, model: "m", choices: [choice], service_tier: "flex" };
      await exchange.stream(chunk, "data: [DONE]\n\n");
      await exchange.end();
    });
    expect((await chatted(backend)).last).toMatchObject({ serviceTier: "flex" });
  });

  it("is sent no penalty that is none", async () => {
    const { server, backend } = await against();
    const none = { frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, minP: 0 };
    await chatted(backend, none);
    const said = Object.keys(posted(server).body);
    expect(
      said.filter((name) => /penalty|min_p|verbosity|service_tier|logit_bias/.test(name)),
    ).toEqual([]);
  });
});

describe("another Lintel's errors", () => {
  const errorOf = async (name: string) => {
    const { backend } = await against(played(name));
    return failure(chatted(backend));
  };

  it("name the fields at fault, and when to come again", async () => {
    expect(await errorOf("lintel/bad-fields")).toMatchObject({
      code: "invalid_fields",
      param: "messages[0].role",
      violations: [
        { field: "messages[0].role", message: "must be one of system, user" },
        { field: "max_tokens", message: "must be at most 100" },
      ],
    });
    expect(await errorOf("lintel/rate-limited")).toMatchObject({
      code: "rate_limited",
      message: "at most 10 requests a minute",
      retryAfter: 7,
      leaving: false,
    });
    expect(await errorOf("lintel/leaving")).toMatchObject({
      code: "unavailable",
      message: "the model server failed",
      retryAfter: 5,
      leaving: true,
    });
  });

  it("about the way between us are not the caller's", async () => {
    const error = await errorOf("lintel/bad-token");
    expect(error).toMatchObject({ code: "upstream_failed", param: undefined });
    expect(error.message).not.toContain("token");
  });
});

describe("errors of a gateway that is no Lintel", () => {
  it("are in the log and behind the error in its words, which callers do not get", async () => {
    const said = "CUDA out of memory";
    for (const body of [
      { error: { message: said } },
      { detail: { msg: said } },
      { detail: [{ msg: said }] },
    ]) {
      const { backend } = await against((exchange) => exchange.sendJson(500, body));
      const lines: object[] = [];
      const log = { ...silent, warn: (fields: object) => void lines.push(fields) };
      const call = { ...callOf("complete", chatRequest()), log };
      const error = await failure(collected(backend.handlers.complete?.(call)));
      expect(error).toMatchObject({ code: "upstream_failed", cause: { message: said } });
      expect(error.message).not.toContain(said);
      expect(lines).toEqual([{ id: "req-contract", status: 500, said }]);
    }
  });

  it("name the fields of a 422", async () => {
    const detail = [
      { loc: ["body", "messages", 0, "role"], msg: "unknown" },
      { loc: ["body", "seed"], msg: "too large" },
    ];
    const { backend } = await against((exchange) => exchange.sendJson(422, { detail }));
    expect(await failure(chatted(backend))).toMatchObject({
      code: "invalid_value",
      message: expect.stringMatching(/: messages\[0\]\.role: unknown; seed: too large$/),
    });
  });

  it("say their status inside of a stream", async () => {
    const { backend } = await against(async (exchange) => {
      await exchange.stream({ error: { message: "slow down", code: 429 } });
      await exchange.end();
    });
    expect(await failure(chatted(backend))).toMatchObject({
      code: "rate_limited",
      cause: { message: "slow down" },
    });
  });
});

describe("another Lintel's images", () => {
  it("are fetched, and tell their progress", async () => {
    const { server, backend } = await against();
    const { images, progress } = await drawn(backend, {
      numImagesPerPrompt: 2,
      includePreviews: true,
      loras: '{"a":1}',
      negativePrompt: "blue",
    });
    expect(images.map(({ index, media }) => [index, media?.seed])).toEqual([
      [0, 7],
      [1, 8],
    ]);
    for (const { media } of images) {
      expect(pixels(media?.data ?? new Uint8Array())).toEqual(
        pixels(picture(64, 48, media?.seed ?? 0)),
      );
    }
    expect(progress.filter(({ preview }) => preview.length > 0)).toHaveLength(4);
    // Told in their order, from the first on: how much of the whole is done does not fall.
    const places = progress.map(({ index, step }) => index * 1000 + step);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    const { path, body } = posted(server);
    expect(path).toBe("/text-to-image");
    expect(body).toEqual({
      ...{ model_id: "draw", prompt: "a red circle", width: 64, height: 48, seed: 7 },
      ...{ guidance_scale: 7.5, num_inference_steps: 50, num_images_per_prompt: 2 },
      ...{ safety_check: true, loras: '{"a":1}', negative_prompt: "blue" },
      ...{ stream: true, include_previews: true },
    });
    expect(server.requests[1]?.headers.authorization).toBe("Bearer lintel");
  });

  it("are not asked to be checked where that check is not to be believed", async () => {
    const models = [{ id: "draw", task: "image", supports: ["width", "height", "seed"] }];
    const { server, backend } = await against(undefined, { models });
    await drawn(backend);
    expect(posted(server).body).toMatchObject({ safety_check: false });
  });

  it("are not looked for elsewhere, unless that is allowed", async () => {
    const files = await gateway();
    onTestFinished(() => files.close());
    const elsewhere: Script = (exchange) => {
      const image = { url: `${files.url}/media/7-64x48.png`, seed: 7, nsfw: false };
      return exchange.sendJson(200, { images: [image], warnings: ["seed: rounded"] });
    };
    const { backend } = await against(elsewhere);
    expect((await failure(drawn(backend))).message).toContain("may not be fetched");
    expect(files.requests).toEqual([]);
    const allowed = await against(elsewhere, { allow_hosts: [files.url] });
    const { images, warnings } = await drawn(allowed.backend);
    expect(images).toHaveLength(1);
    expect(warnings).toEqual(["seed: rounded"]);
    expect(files.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it.each(["", "data:image/png;base64,", "bm90IGEgcGljdHVyZQ=="])(
    "come also where a preview can't be read: %j",
    async (preview) => {
      const { server, backend } = await against(async (exchange) => {
        const progress = { type: "progress", index: 0, images: 1, step: 1, steps: 50, preview };
        const image = { url: `${server.url}/media/7-64x48.png`, seed: 7, nsfw: false };
        await exchange.stream(
          progress,
          { type: "image", index: 0, images: 1, image },
          { type: "done", images: [image], warnings: [] },
        );
        await exchange.end();
      });
      const { images, progress } = await drawn(backend, { includePreviews: true });
      expect(images).toHaveLength(1);
      expect(progress.map((told) => [told.step, told.preview.length])).toEqual([
        [0, 0],
        [1, 0],
      ]);
    },
  );

  it("may fail in the middle", async () => {
    const { backend } = await against(async (exchange) => {
      const error = { message: "no room", type: "x", param: null, code: "unavailable" };
      await exchange.stream(
        { type: "progress", index: 0, images: 1, step: 1, steps: 50, percent: 2 },
        { type: "error", error, detail: { msg: "no room" } },
      );
      await exchange.end();
    });
    expect(await failure(drawn(backend))).toMatchObject({
      code: "unavailable",
      message: "no room",
    });
  });

  it("that break off in the middle of an event may be had elsewhere, a page is no stream", async () => {
    const { server, backend } = await against(async (exchange) => {
      await exchange.head(200, { "content-type": "text/event-stream" });
      await exchange.chunk('data: {"type": "progress", "index": 0, "st');
      await exchange.end();
    });
    expect(await failure(drawn(backend))).toMatchObject({
      message: "the model server broke off its answer",
      retry: "anywhere",
    });
    const page = "<html><h1>Please log in</h1></html>";
    server.next = (exchange) => exchange.send(200, { "content-type": "text/html" }, page);
    expect(await failure(drawn(backend))).toMatchObject({
      message: "the model server answered with no stream",
      cause: { message: page },
    });
  });

  it("must be as many as were asked for, and images", async () => {
    for (const images of [[], [{ url: "" }], [{ url: "x" }, { url: "y" }], {}]) {
      const { backend } = await against((exchange) => exchange.sendJson(200, { images }));
      expect(await failure(drawn(backend))).toMatchObject({ code: "upstream_failed" });
    }
  });
});

describe("a Livepeer gateway", () => {
  it("streams, whole or with an error", async () => {
    const { server, backend } = await against(played("livepeer/events"));
    expect(await chatted(backend)).toMatchObject({
      text: "Hello",
      last: { usage: { promptTokens: 9, completionTokens: 2, totalTokens: 11 } },
    });
    server.next = played("livepeer/events-error");
    const { text, error } = await chatted(backend);
    expect(text).toBe("Hel");
    expect(error).toMatchObject({ code: "upstream_failed" });
    server.next = played("livepeer/whole");
    expect(await chatted(backend)).toMatchObject({
      text: "Hello",
      last: { usage: { totalTokens: 11 }, choices: [{ finishReason: "stop" }] },
    });
  });

  it("answers whole", async () => {
    const { backend } = await against(played("livepeer/whole"));
    for await (const [message] of backend.handlers.complete?.(callOf("complete", chatRequest())) ??
      []) {
      expect(message).toMatchObject({
        usage: { totalTokens: 11 },
        choices: [{ finishReason: "stop", message: { content: "Hello" } }],
      });
    }
  });

  it("has images at addresses relative to itself", async () => {
    const { backend } = await against(livepeerImages);
    const { images } = await drawn(backend);
    expect(images[0]?.media).toMatchObject({ seed: 7, nsfw: true });
    expect(pixels(images[0]?.media?.data ?? new Uint8Array())).toEqual(pixels(picture(64, 48, 7)));
  });

  it("may say no seed: it is taken to have used the one that it was given", async () => {
    const files = await gateway();
    onTestFinished(() => files.close());
    const silent: Script = (exchange) => {
      const image = { url: `${files.url}/media/7-64x48.png`, nsfw: false };
      return exchange.sendJson(200, { images: [image, image] });
    };
    const { backend } = await against(silent, { allow_hosts: [files.url] });
    const { images } = await drawn(backend, { numImagesPerPrompt: 2, seed: 4294967295n });
    expect(images.map(({ media }) => media?.seed)).toEqual([4294967295, 0]);
    const unasked = await drawn(backend, { numImagesPerPrompt: 2, seed: undefined });
    expect(unasked.images.map(({ media }) => media?.seed)).toEqual([noSeed, noSeed]);
  });

  it.each([-7, 2 ** 40, 0.5, "7"])("must say a seed where it says one, not %j", async (seed) => {
    const wrong: Script = (exchange) => {
      const url = `http://${exchange.request.headers.host}/media/7-64x48.png`;
      return exchange.sendJson(200, { images: [{ url, seed, nsfw: false }] });
    };
    const { backend } = await against(wrong);
    const request = { modelId: "draw", prompt: "a circle" };
    const { error } = await outcome(coreOf([backend]), "textToImage", request);
    expect(error).toMatchObject({
      code: "upstream_failed",
      message: "the model server answered with a seed that is none",
    });
  });

  it("says why it refuses", async () => {
    const { backend } = await against(played("livepeer/refused"));
    expect(await failure(chatted(backend))).toMatchObject({
      code: "invalid_value",
      message: expect.stringContaining("pipeline configured with a/b"),
    });
  });
});

describe("the entry", () => {
  it("says what there is", async () => {
    const { backend } = await against();
    expect(backend.models()).toMatchObject([
      { id: "m", task: Task.CHAT, state: State.READY },
      { id: "draw", task: Task.TEXT_TO_IMAGE, state: State.READY },
    ]);
    expect(backend.models()[1]?.supports).toEqual(
      expect.arrayContaining(["seed", "loras", "safety_check", "include_previews"]),
    );
    const supports = ["image_url", "temperature"];
    const told = restAt("http://127.0.0.1:9/", { models: [{ id: "m", task: "chat", supports }] });
    expect([...told.models(), ...backend.models()].map(modalityOf)).toEqual([
      "text+image->text",
      ...[undefined, undefined],
    ]);
    const only = restAt("http://127.0.0.1:9/", { models: [{ id: "m", task: "chat" }] });
    onTestFinished(() => only.close());
    expect(Object.keys(only.handlers)).toEqual(["chat", "complete"]);
    await expect(only.health(never)).rejects.toMatchObject({
      code: "upstream_unreachable",
    });
  });

  it.each(["", "/", "/llm", "/text-to-image/"])("may have the path %j", async (path) => {
    const { server } = await against();
    const backend = restAt(`${server.url}/api/beta${path}`);
    onTestFinished(() => backend.close());
    await chatted(backend);
    expect(server.requests[0]?.path).toBe("/api/beta/llm");
  });

  it("is checked", () => {
    const models = [{ id: "m", task: "chat" }];
    const entry = (more: object) =>
      restSchema.safeParse({ type: "rest", name: "a", url: "http://h", models, ...more }).success;
    expect(entry({})).toBe(true);
    expect(entry({ url: "http://user:password@h" })).toBe(false);
    expect(entry({ models: [] })).toBe(false);
    expect(entry({ token: "a\nb" })).toBe(false);
  });
});
