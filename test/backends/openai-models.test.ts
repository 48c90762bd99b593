/** Which models a server has, and which servers there are. */

import { describe, expect, it, onTestFinished } from "vitest";
import { State, Task } from "../../gen/lintel/v1/models_pb.js";
import { readModels } from "../../src/backends/openai/listed.js";
import { LintelError } from "../../src/core/errors.js";
import { modalityOf } from "../../src/core/model.js";
import { gate, never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { fixture } from "./fixture.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script, Upstream } from "./upstream.js";

describe("a server's list", () => {
  it.each([
    ["vllm/models", ["Qwen/Qwen3-8B"], "vllm"],
    ["llamacpp/models", ["model.gguf"], "llamacpp"],
    ["ollama/models", ["llama3.2:1b", "nomic-embed-text:latest"], "library"],
    ["ollama/models-none", [], undefined],
    ["sglang/models", ["meta-llama/Llama-3.1-8B-Instruct"], "sglang"],
    [
      "lmstudio/models",
      ["qwen2.5-0.5b-instruct", "text-embedding-nomic-embed-text-v1.5"],
      "organization_owner",
    ],
    ["cohere/models", ["command-a-03-2025"], "cohere"],
    ["together/models", ["meta-llama/Llama-3.3-70B-Instruct-Turbo", "BAAI/bge-base-en-v1.5"], ""],
  ])("%s is read", (name, ids, ownedBy) => {
    const listed = readModels(String(fixture(name).body));
    expect(listed.map(({ id }) => id)).toEqual(ids);
    expect(listed[0]?.ownedBy).toBe(ownedBy);
  });

  it.each<[string, number | undefined]>([
    ["vllm/models", 40_960],
    ["together/models", 131_072],
    ["cohere/models", 288_000],
    // What the model was trained for is not what the server holds.
    ["llamacpp/models", undefined],
    ["ollama/models", undefined],
  ])("%s tells how long a conversation may be", (name, tokens) => {
    expect(readModels(String(fixture(name).body))[0]?.contextLength).toBe(tokens);
  });

  it.each<[string, object, number | undefined]>([
    ["Groq's", { context_window: 131_072 }, 131_072],
    ["Mistral's", { max_context_length: 32_768 }, 32_768],
    ["Anthropic's", { max_input_tokens: 200_000 }, 200_000],
    ["Novita's", { context_size: 163_840 }, 163_840],
    ["llama.cpp's", { meta: { n_ctx: 8192, n_ctx_train: 262_144 } }, 8192],
    ["Venice's", { model_spec: { availableContextTokens: 65_536 } }, 65_536],
    ["DeepInfra's", { metadata: { context_length: 40_960 } }, 40_960],
    [
      "OpenRouter's",
      { context_length: 1_000_000, top_provider: { context_length: 262_144 } },
      262_144,
    ],
    ["a router's", { context_length: null, top_provider: { context_length: 262_144 } }, 262_144],
    ["a router's", { context_length: 4096, top_provider: { context_length: null } }, 4096],
    ["nobody's", { context_length: "8k", max_model_len: -1, meta: [], metadata: null }, undefined],
    ["vLLM's for images", { max_model_len: 0 }, undefined],
  ])("%s entry tells how long a conversation may be", (_, members, tokens) => {
    const text = JSON.stringify({ data: [{ id: "m", ...members }] });
    expect(readModels(text)[0]?.contextLength).toBe(tokens);
  });

  it("tells what a model takes and gives as OpenRouter has it, or nothing of it", () => {
    const entry = (id: string, architecture: unknown) => ({ id, architecture });
    const gives = { output_modalities: ["text"] };
    const data = [
      entry("text", { input_modalities: ["text"], ...gives }),
      entry("all", { input_modalities: ["image", "text", "audio", "video"], ...gives }),
      entry("none", gives),
      entry("other", { input_modalities: "text", ...gives }),
      entry("word", "transformer"),
    ];
    expect(readModels(JSON.stringify({ data })).map(({ takes }) => takes)).toEqual([
      ["text"],
      ["image", "text", "audio", "video"],
      ...[undefined, undefined, undefined],
    ]);
  });

  it.each([
    "",
    "<html>",
    "{}",
    "[]",
    '["x"]',
    '[{"name":"x"}]',
    '{"data":{}}',
    '{"data":[{"name":"x"}]}',
    '{"data":["x"]}',
    '{"models":[{"name":"models/x"}]}',
  ])("is not %j", (text) => {
    expect(() => readModels(text)).toThrowError(
      expect.objectContaining({ code: "upstream_failed" }),
    );
  });

  it.each(['{"data":[{"name":"x"},{"id":"a"},null,{"id":""}]}', '["x",{"id":"a"}]'])(
    "is read without what is no model in it: %s",
    (text) => {
      expect(readModels(text).map(({ id }) => id)).toEqual(["a"]);
    },
  );

  it.each(["", "?v=1"])("has pages, all of which are read: %s", async (query) => {
    const upstream = await serve((exchange) => {
      if (!exchange.request.path.includes("page_token")) {
        return exchange.play(fixture("cohere/models"));
      }
      const models = [{ name: "command-r", endpoints: ["chat"] }];
      return exchange.sendJson(200, { models, next_page_token: "AQ+/=" });
    });
    const backend = backendFor(`${upstream.url}/v1${query}`, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models().map(({ id }) => id)).toEqual(["command-a-03-2025", "command-r"]);
    const more = `${query ? "&" : "?"}page_token=AQ%2B%2F%3D`;
    expect(upstream.requests.map(({ path }) => path)).toEqual([
      `/v1/models${query}`,
      `/v1/models${query}${more}`,
    ]);
  });

  it("is what the backend serves, without the models that don't chat", async () => {
    const upstream = await serve((exchange) => exchange.play(fixture("ollama/models")));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("llama3.2:1b", never);
    expect(backend.models()).toMatchObject([
      { id: "llama3.2:1b", state: State.READY, created: 1761000000, contextLength: 0 },
    ]);
    expect(backend.models()[0]?.supports).not.toContain("top_k");
    // Which of a server's models look at images it does not tell.
    expect(backend.models().map(modalityOf)).toEqual([undefined]);
    expect(backend.models()).toBe(backend.models());
    expect(upstream.requests[0]).toMatchObject({ method: "GET", path: "/v1/models" });
  });

  it.each([
    ["xAI", ["grok-4", "grok-2-vision-1212", "grok-2-image-1212", "grok-imagine-image-pro"]],
    [
      "Google",
      ["models/gemini-2.5-pro", "gemma-3", "models/imagen-4.0-generate-001", "imagen-3.0"],
    ],
    [
      "Ollama's users",
      ["brxce/stable-diffusion-prompt-generator:latest", "a/flux-prompt", "x/z-image-turbo:latest"],
    ],
    ["Zhipu", ["glm-4.6", "cogvlm-2", "cogview-4-250304", "glm-image"]],
    [
      "ByteDance",
      ["doubao-seed-1-6", "seed-oss-36b", "doubao-seedream-4-0-250828", "seedream-4.5"],
    ],
    ["routers", ["ideology-7b", "a/recrafted", "recraft-ai/recraftv3", "ideogram-ai/ideogram-v3"]],
  ])("tells models that draw from those that chat, of %s", async (owner, names) => {
    const data = names.map((id) => ({ id, object: "model", created: 1, owned_by: owner }));
    const upstream = await serve((exchange) => exchange.sendJson(200, { object: "list", data }));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    const { CHAT, TEXT_TO_IMAGE } = Task;
    expect(backend.models().map(({ id, task }) => [id, task])).toEqual(
      names.map((id, i) => [id, i < 2 ? CHAT : TEXT_TO_IMAGE]),
    );
  });

  it("has names of models for embeddings that say nothing of them", async () => {
    const names = [
      "all-minilm:latest",
      "paraphrase-multilingual:278m",
      "bge-m3:latest",
      "minillm:1b",
    ];
    const data = names.map((id) => ({ id, object: "model", created: 1, owned_by: "library" }));
    const upstream = await serve((exchange) => exchange.sendJson(200, { object: "list", data }));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models().map(({ id }) => id)).toEqual(["minillm:1b"]);
  });

  it.each([
    ["TGI's, of one model that owns itself", "zephyr", "zephyr"],
    ["Ollama's, with a model of the hub before its own", "bartowski", "library"],
  ])("tells the server: %s", async (_, owner, next) => {
    const entry = (id: string, owned_by: string) => ({ id, object: "model", created: 1, owned_by });
    const data = owner === next ? [entry(owner, owner)] : [entry("a", owner), entry("b", next)];
    const upstream = await serve((exchange) => exchange.sendJson(200, { object: "list", data }));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    for (const { supports } of backend.models()) expect(supports).not.toContain("top_k");
  });

  it.each([
    ["tiny", "tiny:latest"],
    ["hf.co/somebody/tiny", "hf.co/somebody/tiny:latest"],
    ["127.0.0.1:5000/somebody/tiny", "127.0.0.1:5000/somebody/tiny:latest"],
    ["somebody/tiny:q8", undefined],
  ])("of Ollama has tags that names may lack: %s", async (name, full) => {
    const upstream = await serve((exchange) => exchange.play(fixture("ollama/models-tags")));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models()).toHaveLength(3);
    expect(backend.fullName?.(name)).toBe(full);
  });

  it("of others has names that are whole", async () => {
    const upstream = await serve((exchange) => exchange.play(fixture("vllm/models")));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.fullName?.("tiny")).toBeUndefined();
  });

  it("is not asked for where the models are configured", async () => {
    const upstream = await serve((exchange) => exchange.play(fixture("vllm/models")));
    const backend = backendFor(upstream.url, { models: ["a", "b"] });
    onTestFinished(() => backend.close());
    await backend.ready?.("a", never);
    expect(backend.models().map(({ id }) => id)).toEqual(["a", "b"]);
    expect(upstream.requests).toHaveLength(0);
  });

  it.each([
    ["are configured", ["a"]],
    ["are listed without it", undefined],
  ])("tells since when models are served that %s", async (_, models) => {
    const listed = { object: "list", data: [{ id: "a", object: "model" }] };
    const upstream = await serve((exchange) => exchange.sendJson(200, listed));
    const backend = backendFor(upstream.url, { models });
    onTestFinished(() => backend.close());
    await backend.ready?.("a", never);
    const hourAgo = Date.now() / 1000 - 3600;
    expect(backend.models().map(({ created }) => created > hourAgo)).toEqual([true]);
  });

  it.each([
    ["nothing listens", undefined, "upstream_unreachable"],
    ["it refuses", (exchange) => exchange.play(fixture("openai/bad-key")), "upstream_failed"],
    ["it loads", (exchange) => exchange.play(fixture("llamacpp/loading")), "unavailable"],
    ["it is a web page", (exchange) => exchange.send(200, {}, "<html>"), "upstream_failed"],
  ] satisfies [string, Script | undefined, string][])(
    "fails health and ready where %s",
    async (_, script, code) => {
      const upstream = await serve(script ?? (() => {}));
      if (!script) await upstream.close();
      const backend = backendFor(upstream.url, { models: undefined });
      onTestFinished(() => backend.close());
      await expect(backend.health(never)).rejects.toMatchObject({ code });
      await expect(backend.ready?.("m", never)).rejects.toMatchObject({ code });
      expect(backend.models()).toEqual([]);
    },
  );

  it.each([
    [
      "LM Studio's",
      { error: "Unexpected endpoint or method. (GET /models)" },
      "Unexpected endpoint",
    ],
    [
      "MiniMax's",
      { base_resp: { status_code: 1004, status_msg: "login fail" } },
      "login fail (1004)",
    ],
  ])("that is an error with status 200 is told in its words: %s", async (_, body, words) => {
    const upstream = await serve((exchange) => exchange.sendJson(200, body));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    const message = "the model server answered without a list of models";
    const cause = { message: expect.stringContaining(words) };
    await expect(backend.health(never)).rejects.toMatchObject({ message, cause });
    await expect(backend.ready?.("m", never)).rejects.toMatchObject({ message, cause });
  });

  /** Expects that the server counts as healthy only where its models are configured. */
  const healthyIfConfigured = async ({ url }: Upstream) => {
    for (const models of [["a"], undefined]) {
      const backend = backendFor(url, { models });
      onTestFinished(() => backend.close());
      const health = expect(backend.health(never));
      if (models) await health.resolves.toBeUndefined();
      else await health.rejects.toMatchObject({ code: "upstream_failed" });
    }
  };

  it.each([401, 403, 404, 405])(
    "may be missing, %i, where the models are configured",
    async (status) => {
      await healthyIfConfigured(await serve((exchange) => exchange.sendJson(status, {})));
    },
  );

  it("may have any form where the models are configured", async () => {
    const upstream = await serve((exchange) => exchange.send(200, {}, "all is well"));
    await healthyIfConfigured(upstream);
    upstream.script((exchange) => exchange.sendJson(503, {}));
    const backend = backendFor(upstream.url, { models: ["a"] });
    onTestFinished(() => backend.close());
    await expect(backend.health(never)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("tells of models that are configured how long a conversation may be, once a health check has read it", async () => {
    const upstream = await serve((exchange) => exchange.play(fixture("vllm/models")));
    const backend = backendFor(upstream.url, { models: ["Qwen/Qwen3-8B", "other"] });
    onTestFinished(() => backend.close());
    const told = () => backend.models().map(({ id, contextLength }) => [id, contextLength]);
    expect(told()).toEqual([
      ["Qwen/Qwen3-8B", 0],
      ["other", 0],
    ]);
    await backend.health(never);
    const models = backend.models();
    expect(told()).toEqual([
      ["Qwen/Qwen3-8B", 40_960],
      ["other", 0],
    ]);
    await backend.health(never);
    expect(backend.models()).toBe(models);
    // What has another form says nothing new.
    upstream.script((exchange) => exchange.send(200, {}, "all is well"));
    await backend.health(never);
    expect(backend.models()).toBe(models);
  });

  it("is waited for, and no 404 while it can't be read, where only image models are named", async () => {
    const held = gate();
    let broken = true;
    const upstream = await serve(async (exchange) => {
      if (exchange.request.path !== "/v1/models") return echo(exchange);
      await held.opened;
      return broken ? exchange.sendJson(500, {}) : exchange.play(fixture("vllm/models"));
    });
    const config = { models: undefined, image_models: ["draw"], refresh: 0 };
    const backend = opened(backendFor(upstream.url, config));
    const core = coreOf([backend], { models: [{ name: "fast", model: "Qwen/Qwen3-8B" }] });
    expect([backend.models().map(({ id }) => id), backend.incomplete?.()]).toEqual([
      ["draw"],
      true,
    ]);
    // Entries may still lead somewhere.
    expect(core.catalogue.leadingNowhere()).toEqual([]);
    const asked = { messages: [{ role: "user", content: "Hello" }] };
    const early = run(core, "complete", asked).catch((thrown: unknown) => thrown);
    held.open();
    expect(await early).toMatchObject({ code: "unavailable" });
    broken = false;
    await expect.poll(() => backend.incomplete?.()).toBe(false);
    const [answer] = await run(core, "complete", { ...asked, model: "fast" });
    expect(answer?.model).toBe("fast");
    await expect(run(core, "complete", { ...asked, model: "nope" })).rejects.toMatchObject({
      code: "model_not_found",
    });
  });

  it("is waited for only as long as somebody wants it", async () => {
    const upstream = await serve((exchange) => exchange.gone);
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    const reason = new LintelError("cancelled", "left");
    await expect(backend.ready?.("m", AbortSignal.abort(reason))).rejects.toBe(reason);
    const caller = new AbortController();
    const waiting = backend.ready?.("m", caller.signal);
    caller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it("is read again when a call could not reach the server", async () => {
    const upstream = await serve((exchange) => exchange.play(fixture("vllm/models")));
    const backend = backendFor(upstream.url, { models: undefined });
    onTestFinished(() => backend.close());
    await backend.ready?.("m", never);
    await upstream.close();
    const call = callOf("chat", chatRequest());
    await expect(
      backend.handlers.chat?.(call)[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({ code: "upstream_unreachable" });
    await expect
      .poll(() => backend.models())
      .toMatchObject([{ id: "Qwen/Qwen3-8B", state: State.FAILED }]);
    expect(backend.models()[0]?.stateDetail).not.toMatch(/127\.0/);
  });
});
