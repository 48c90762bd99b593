/** What model servers are told of the key of a prompt's begin. */
import { createHash } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { bodies, chatted, played } from "./ai-sdk-calls.js";
import { aiSdkBackend } from "./ai-sdk-subject.js";
import { chatting, connectTo, serve as serveNode } from "./node-peer.js";
import { against, chat, complete } from "./openai-calls.js";
import { chatRequest, echo } from "./openai-subject.js";
import { gateway, restAt } from "./rest-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";

const promptCacheKey = "tenant-7:alice@example.com:conversation-1";
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const told = sha256(promptCacheKey);

describe("an OpenAI-compatible server", () => {
  it.each(["openai", "moonshot", "deepinfra"])(
    "of the dialect %s is told a hash",
    async (dialect) => {
      const server = await against(echo, { dialect });
      await chat(server, { promptCacheKey });
      await complete(server, { promptCacheKey });
      await chat(server);
      const keys = server.bodies().map((body) => body.prompt_cache_key);
      expect(keys).toEqual([told, told, undefined]);
    },
  );

  it("is told what the operator's header says, which goes before", async () => {
    const server = await against(echo, { dialect: "openai" });
    for (const more of [{ promptCacheKey }, {}]) {
      const call = { ...callOf("chat", chatRequest(more)), affinity: "session 1" };
      for await (const _ of server.backend.handlers.chat?.(call) ?? []);
    }
    const keys = server.bodies().map((body) => body.prompt_cache_key);
    expect(keys).toEqual([sha256("session 1"), sha256("session 1")]);
  });

  it("is told in a header of its own where the operator says so", async () => {
    for (const [dialect, field] of [
      ["vllm", undefined],
      ["xai", undefined],
      ["openai", told],
    ] as const) {
      const server = await against(echo, { dialect, session_header: "X-Session-Affinity" });
      await chat(server, { promptCacheKey });
      await chat(server);
      const posted = server.upstream.requests.filter(({ method }) => method === "POST");
      const seen = posted.map(({ headers }) => headers["x-session-affinity"]);
      expect(seen).toEqual([told, undefined]);
      expect(posted.some(({ headers }) => "x-grok-conv-id" in headers)).toBe(false);
      expect(server.bodies()[0].prompt_cache_key).toBe(field);
    }
  });

  it("of xAI is told it in a header", async () => {
    const server = await against(echo, { dialect: "xai" });
    await chat(server, { promptCacheKey });
    await complete(server, { promptCacheKey });
    await chat(server);
    const posted = server.upstream.requests.filter(({ method }) => method === "POST");
    const keys = posted.map(({ headers }) => headers["x-grok-conv-id"]);
    expect(keys).toEqual([told, told, undefined]);
    expect(server.bodies().some((body) => "prompt_cache_key" in body)).toBe(false);
  });

  it.each(["auto", "vllm", "openrouter"])("of the dialect %s is told nothing", async (dialect) => {
    const server = await against(echo, { dialect });
    await chat(server, { promptCacheKey });
    const [request] = server.upstream.requests.filter(({ method }) => method === "POST");
    expect(`${JSON.stringify(request?.headers)}${request?.body}`).not.toMatch(
      new RegExp(`cache_key|${told}|tenant`),
    );
  });

  it("that refuses the field is asked without, once and for all, and no caller hears of it", async () => {
    const server = await against(
      (exchange) =>
        "prompt_cache_key" in exchange.json()
          ? exchange.sendJson(400, {
              error: {
                message: "Unknown parameter: 'prompt_cache_key'.",
                param: "prompt_cache_key",
              },
            })
          : echo(exchange),
      { dialect: "openai" },
    );
    const calls = [await chat(server, { promptCacheKey }), await chat(server, { promptCacheKey })];
    const keys = server.bodies().map((body) => body.prompt_cache_key);
    expect(keys).toEqual([told, undefined, undefined]);
    expect(calls.flatMap(({ warnings }) => [...warnings])).toEqual([]);
  });
});

describe("a provider of the AI SDK", () => {
  const provider = async (name: string, fixture: string, config: object = {}) => {
    const server = await serve(played(fixture));
    const options = { apiKey: "sk", baseURL: `${server.url}/v1`, name: "test" };
    const models = [{ id: "m" }];
    return { server, backend: opened(aiSdkBackend({ package: name, options, models, ...config })) };
  };
  const keys = (server: Parameters<typeof bodies>[0]) =>
    bodies(server).map((body) => (body as { prompt_cache_key?: string }).prompt_cache_key);

  it("for OpenAI is told a hash, unless the operator's own options say another key", async () => {
    const plain = await provider("@ai-sdk/openai", "openai/responses-stream");
    await chatted(plain.backend, { promptCacheKey });
    await chatted(plain.backend);
    expect(keys(plain.server)).toEqual([told, undefined]);
    const provider_options = { openai: { promptCacheKey: "all" } };
    const own = await provider("@ai-sdk/openai", "openai/responses-stream", { provider_options });
    await chatted(own.backend, { promptCacheKey });
    expect(keys(own.server)).toEqual(["all"]);
  });

  it.each([
    ["@ai-sdk/anthropic", "anthropic/events"],
    ["@ai-sdk/openai-compatible", "openai/stream"],
  ])("by %s is told nothing", async (name, fixture) => {
    const { server, backend } = await provider(name, fixture);
    await chatted(backend, { promptCacheKey });
    expect(JSON.stringify(bodies(server))).not.toMatch(new RegExp(`cache_key|${told}|tenant`));
  });

  it("whose vendor refuses the field is asked without", async () => {
    const answer = played("openai/responses-stream");
    const server = await serve((exchange) =>
      "prompt_cache_key" in exchange.json()
        ? exchange.sendJson(400, {
            error: { message: "Unknown parameter: 'prompt_cache_key'.", param: "prompt_cache_key" },
          })
        : answer(exchange),
    );
    const options = { apiKey: "sk", baseURL: `${server.url}/v1` };
    const config = { package: "@ai-sdk/openai", options, models: [{ id: "m" }] };
    const backend = opened(aiSdkBackend(config));
    const { warnings } = await chatted(backend, { promptCacheKey });
    await chatted(backend, { promptCacheKey });
    expect(keys(server)).toEqual([told, undefined, undefined]);
    expect(warnings).toEqual([]);
  });
});

describe("another gateway", () => {
  it("by REST is told the key itself, for its own model servers, and a session's header as a hash", async () => {
    const server = await gateway();
    onTestFinished(() => server.close());
    const backend = opened(restAt(server.url));
    for (const [key, affinity] of [
      [promptCacheKey, undefined],
      ["", "session ü"],
    ] as const) {
      const request = chatRequest({ promptCacheKey: key });
      const asked = { ...callOf("chat", request), affinity, deadline: performance.now() + 60_000 };
      for await (const _ of backend.handlers.chat?.(asked) ?? []);
    }
    const posted = server.requests.filter(({ method }) => method === "POST");
    const keys = posted.map(({ body }) => JSON.parse(String(body)).prompt_cache_key);
    expect(keys).toEqual([promptCacheKey, undefined]);
    const sessions = posted.map(({ headers }) => headers["x-session-id"]);
    expect(sessions).toEqual([undefined, sha256("session ü")]);
  });

  it("by gRPC is told the key itself, and a session's header as a hash", async () => {
    const keys: unknown[] = [];
    const peer = await serveNode(
      chatting(async function* (request, _signal, headers) {
        keys.push([request.promptCacheKey, headers.get("x-session-id")]);
        yield { choices: [{ finishReason: "stop", delta: { content: "Hi" } }] };
      }),
    );
    const backend = connectTo(peer.address);
    const hello = { model: "m", messages: [{ role: "user", content: "Hello" }], promptCacheKey };
    const core = coreOf([backend]);
    expect((await outcome(core, "chat", hello)).code).toBe("ok");
    const header = (name: string) => (name === "x-session-id" ? "session ü" : undefined);
    expect((await outcome(core, "chat", hello, { header })).code).toBe("ok");
    expect(keys).toEqual([
      [promptCacheKey, null],
      [promptCacheKey, sha256("session ü")],
    ]);
  });
});
