import { gzipSync } from "node:zlib";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import { afterEach, describe, expect, it, vi } from "vitest";
import { chat } from "../../src/backends/ai-sdk/chat.js";
import { gate, never } from "../support/calls.js";
import { say } from "../support/messages.js";
import { chatted, played, playedUpTo, thrownBy } from "./ai-sdk-calls.js";
import { aiSdkBackend, anthropicAt, compatibleAt } from "./ai-sdk-subject.js";
import { text } from "./contract-chat.js";
import { fixture } from "./fixture.js";
import { chatRequest, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("Anthropic", () => {
  it("streams text, the reason of its end and usage", async () => {
    const server = await serve(played("anthropic/events"));
    const { text, last, warnings } = await chatted(opened(anthropicAt(server.url)));
    expect(text).toBe("Hello there, wörld");
    expect(last).toMatchObject({
      id: "msg_01XkZq",
      model: "claude-sonnet-4-5-20250929",
      usage: { promptTokens: 12, completionTokens: 5, totalTokens: 17 },
      choices: [{ finishReason: "stop" }],
    });
    expect(warnings).toEqual([]);
  });

  it("is said to be alive while it thinks", async () => {
    const seen = gate();
    const events = fixture("anthropic/events").body.toString().split("\n\n");
    const thinking = [
      { type: "content_block_start", content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "content_block_stop" },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, index: 9 })}\n\n`);
    const server = await serve(async (exchange) => {
      await exchange.stream(`${events[0]}\n\n`, ...thinking);
      await seen.opened;
      await exchange.events(`${events.slice(1).join("\n\n")}\n\n`);
      await exchange.end();
    });
    let told = 0;
    const alive = () => {
      // The beginning and the end of a thought; what is thought is a message.
      if (++told === 2) seen.open();
    };
    const call = { ...callOf("chat", chatRequest()), alive };
    const steps = opened(anthropicAt(server.url)).handlers.chat?.(call) ?? [];
    let said = "";
    for await (const step of steps) said += text([...step]);
    expect(said).toBe("Hello there, wörld");
  });

  it("answers whole", async () => {
    const server = await serve(played("anthropic/whole"));
    const call = callOf("complete", chatRequest());
    const backend = opened(anthropicAt(server.url));
    for await (const [message] of backend.handlers.complete?.(call) ?? []) {
      expect(message).toMatchObject({
        usage: { promptTokens: 12, completionTokens: 5, totalTokens: 17 },
        choices: [{ finishReason: "length", message: { content: "Hello there, wörld" } }],
      });
    }
  });

  it("is sent the request, its key, and headers of the configuration", async () => {
    const server = await serve(played("anthropic/events"));
    const options = { apiKey: "k", baseURL: `${server.url}/v1`, headers: { "x-team": "a" } };
    const messages = [
      say("developer", "be brief"),
      say("user", "hello"),
      say("assistant", "hi"),
      say("tool", "42"),
    ];
    const more = { messages, temperature: 0.2, topP: 1, topK: 40, stop: ["END"], maxTokens: 9 };
    await chatted(opened(anthropicAt(server.url, { options })), more);
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/v1/messages" });
    expect(request?.headers).toMatchObject({
      "x-api-key": "k",
      "x-team": "a",
      "x-request-id": "req-contract",
      "anthropic-version": "2023-06-01",
    });
    expect(JSON.parse(String(request?.body))).toEqual({
      model: "m",
      max_tokens: 9,
      temperature: 0.2,
      top_k: 40,
      stop_sequences: ["END"],
      system: [{ type: "text", text: "be brief" }],
      messages: [
        { role: "user", content: [{ type: "text", text: "hello" }] },
        { role: "assistant", content: [{ type: "text", text: "hi" }] },
        { role: "user", content: [{ type: "text", text: "42" }] },
      ],
      stream: true,
    });
  });

  it("is sent a top_p below 1, and a seed and top_k that stand for something", async () => {
    const server = await serve((exchange) => exchange.sendJson(500, {}));
    const body = async (more: object) => {
      await chatted(opened(compatibleAt(server.url)), more).catch(() => {});
      return JSON.parse(String(server.requests.at(-1)?.body));
    };
    expect(await body({ topP: 0.9, seed: 0n })).toMatchObject({ top_p: 0.9, seed: 0 });
    const without = await body({ topP: 1, seed: -1n });
    expect([without.top_p, without.seed]).toEqual([undefined, undefined]);
    const anthropic = async (topK: number) => {
      const claude = await serve(played("anthropic/events"));
      await chatted(opened(anthropicAt(claude.url)), { topK });
      return JSON.parse(String(claude.requests[0]?.body)).top_k;
    };
    expect([await anthropic(1), await anthropic(0), await anthropic(-1)]).toEqual([
      ...[1, undefined, undefined],
    ]);
  });

  it("takes its key from where the provider looks for it", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "from-environment");
    const server = await serve(played("anthropic/events"));
    await chatted(opened(anthropicAt(server.url, { options: { baseURL: server.url } })));
    expect(server.requests[0]?.headers["x-api-key"]).toBe("from-environment");
  });

  it("can't be asked without a key", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", undefined);
    const backend = opened(anthropicAt("", { options: {} }));
    expect(await thrownBy(chatted(backend))).toMatchObject({ code: "unavailable" });
  });

  it("warns of what the provider leaves out or bends, once", async () => {
    const server = await serve(played("anthropic/events"));
    const backend = opened(anthropicAt(server.url));
    const { warnings } = await chatted(backend, { seed: 7n, temperature: 1.5 });
    expect(warnings).toEqual([
      "seed: not supported by this model, ignored",
      expect.stringMatching(/^temperature: 1\.5 exceeds .*clamped/),
    ]);
    expect(JSON.parse(String(server.requests[0]?.body))).toMatchObject({ temperature: 1 });
  });

  it("does not warn of a default that nobody asked for", async () => {
    const server = await serve(played("anthropic/events"));
    const config = {
      models: [{ id: "claude-opus-4-7" }],
      provider_options: { anthropic: { thinking: { type: "adaptive" } } },
    };
    const backend = opened(anthropicAt(server.url, config));
    const model = "claude-opus-4-7";
    const quiet = await chatted(backend, { model });
    expect(quiet.warnings.filter((warning) => warning.startsWith("temperature"))).toEqual([]);
    const { warnings } = await chatted(backend, { model, temperature: 0.3 });
    expect(warnings).toContain("temperature: not supported by this model, ignored");
    const bodies = server.requests.map(({ body }) => JSON.parse(String(body)));
    for (const body of bodies) expect(body).toMatchObject({ thinking: { type: "adaptive" } });
    for (const body of bodies) expect(body).not.toHaveProperty("temperature");
  });

  it("may fail in the middle: what came counts, and then the error", async () => {
    const server = await serve(played("anthropic/events-error"));
    const backend = opened(anthropicAt(server.url));
    const stream = backend.handlers.chat?.(callOf("chat", chatRequest()));
    const pieces: string[] = [];
    const reading = (async () => {
      for await (const step of stream ?? []) pieces.push(text([...step]));
    })();
    expect(await thrownBy(reading)).toMatchObject({ code: "unavailable" });
    expect(pieces.join("")).toBe("Hello there, wörld");
  });

  it.each([
    ["rate_limit_error", "rate_limited"],
    ["overloaded_error", "unavailable"],
    ["timeout_error", "timeout"],
    ["invalid_request_error", "invalid_value"],
    ["authentication_error", "upstream_failed"],
    ["api_error", "upstream_failed"],
  ])("may fail at the begin of a stream as in its middle: %s", async (type, code) => {
    const error = { type, message: "no" };
    const failed = `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`;
    const [start] = String(fixture("anthropic/events").body).split("\n\n");
    for (const events of [failed, `${start}\n\n${failed}`]) {
      const server = await serve((exchange) => exchange.stream(events));
      expect(await thrownBy(chatted(opened(anthropicAt(server.url))))).toMatchObject({ code });
    }
  });

  const events = String(fixture("anthropic/events").body).split(/(?<=\n\n)/);
  const adding =
    (event: { type: string }): Script =>
    async (exchange) => {
      const added = `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      await exchange.stream(events.slice(0, 4).join(""), added, events.slice(4).join(""));
      await exchange.end();
    };

  it.each([
    { type: "progress_note", note: { message: "an error" } },
    { type: "content_block_start", index: 1, content_block: { type: "hologram", data: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "hologram_delta", data: "x" } },
  ])("may send events that are newer than its provider: %j", async (event) => {
    const { text, last } = await chatted(opened(anthropicAt((await serve(adding(event))).url)));
    expect(text).toBe("Hello there, wörld");
    expect(last?.choices[0]?.finishReason).toBe("stop");
  });

  it.each([
    { type: "content_block_start", index: 1, content_block: { type: "text" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", words: "x" } },
    { type: "message_delta", delta: "x" },
    { type: "error", note: "x" },
  ])(
    "may not bring text, or tell of its end, in a form that its provider does not know: %j",
    async (event) => {
      const failed = thrownBy(chatted(opened(anthropicAt((await serve(adding(event))).url))));
      expect(await failed).toMatchObject({ code: "upstream_failed" });
    },
  );

  it("may break off: that is no end", async () => {
    const server = await serve(playedUpTo("anthropic/events", "event: message_delta"));
    expect(await thrownBy(chatted(opened(anthropicAt(server.url))))).toMatchObject({
      code: "upstream_failed",
    });
  });

  it("says when to come again", async () => {
    const server = await serve(played("anthropic/rate-limited"));
    expect(await thrownBy(chatted(opened(anthropicAt(server.url))))).toMatchObject({
      code: "rate_limited",
      retryAfter: 21,
    });
  });

  it("may be out of reach, or too slow", async () => {
    const gone = await serve(() => {});
    await gone.close();
    expect(await thrownBy(chatted(opened(anthropicAt(gone.url))))).toMatchObject({
      code: "upstream_unreachable",
    });
    const slow = await serve((exchange) => exchange.gone);
    const timeouts = { first_token: 50 };
    expect(await thrownBy(chatted(opened(anthropicAt(slow.url, { timeouts }))))).toMatchObject({
      code: "timeout",
    });
  });
});

describe("OpenAI by its provider", () => {
  const openaiAt = (url: string) =>
    opened(
      aiSdkBackend({
        package: "@ai-sdk/openai",
        options: { apiKey: "sk-secret", baseURL: `${url}/v1` },
        models: [{ id: "gpt-4o-mini" }],
      }),
    );

  it("streams responses", async () => {
    const server = await serve(played("openai/responses-stream"));
    const backend = openaiAt(server.url);
    const { text, last } = await chatted(backend, { model: "gpt-4o-mini" });
    expect(text).toBe("Hello there");
    expect(last).toMatchObject({
      usage: { promptTokens: 8, completionTokens: 2 },
      choices: [{ finishReason: "length" }],
    });
    expect(server.requests[0]?.path).toBe("/v1/responses");
  });

  it("may break off without a reason: that is no end", async () => {
    const server = await serve(playedUpTo("openai/responses-stream", "event: response.incomplete"));
    const backend = openaiAt(server.url);
    const stream = backend.handlers.chat?.(callOf("chat", chatRequest({ model: "gpt-4o-mini" })));
    let said = "";
    const reading = (async () => {
      for await (const step of stream ?? []) said += text([...step]);
    })();
    const error = await thrownBy(reading);
    expect(error).toMatchObject({ code: "upstream_failed" });
    expect(error.message).toContain("no finish reason");
    expect(said).toBe("Hello there");
  });
});

it("a server that streams another API than OpenAI's provider asked was reached", async () => {
  const server = await serve((exchange) =>
    exchange.stream(chunk({ content: "a" }), chunk({}, "stop"), "data: [DONE]\n\n"),
  );
  const backend = opened(
    aiSdkBackend({
      package: "@ai-sdk/openai",
      options: { apiKey: "sk-secret", baseURL: `${server.url}/v1` },
      models: [{ id: "m" }],
    }),
  );
  const error = await thrownBy(chatted(backend));
  expect(error).toMatchObject({
    code: "upstream_failed",
    message: "the model server answered with something that its provider does not understand",
    retry: "never",
  });
  expect((error.cause as Error).message).toContain("Received a Chat Completions stream");
});

it("of AI SDK 7 says itself that a stream was interrupted", async () => {
  const doStream = async () => ({
    stream: new ReadableStream({
      start(parts) {
        parts.enqueue({ type: "text-delta", id: "0", delta: "a" });
        const finishReason = { unified: "interrupted", raw: undefined };
        parts.enqueue({
          type: "finish",
          finishReason,
          usage: { inputTokens: {}, outputTokens: {} },
        });
        parts.close();
      },
    }),
  });
  const model = { doStream } as unknown as LanguageModelV3;
  const known = { model, package: "", providerOptions: {}, refused: new Set<string>(), learn() {} };
  const reading = (async () => {
    for await (const _ of chat(known, callOf("chat", chatRequest()), never));
  })();
  expect(await thrownBy(reading)).toMatchObject({
    code: "upstream_failed",
    message: expect.stringContaining("no finish reason"),
  });
});

describe("a provider that packs much into little", () => {
  const mebi = 1024 * 1024;
  const packed = (type: string, text: string): Script => {
    const body = gzipSync(text);
    const headers = { "content-type": type, "content-encoding": "gzip" };
    return (exchange) => exchange.send(200, headers, body);
  };
  const sent = async (script: Script) => opened(anthropicAt((await serve(script)).url));

  it("is refused a whole answer above 32 MiB", async () => {
    const answer = (length: number) => {
      const content = [{ type: "text", text: " ".repeat(length) }];
      const usage = { input_tokens: 1, output_tokens: 1 };
      const message = { type: "message", id: "a", model: "m", role: "assistant", content, usage };
      return JSON.stringify({ ...message, stop_reason: "end_turn", stop_sequence: null });
    };
    const whole = async (length: number) => {
      const backend = await sent(packed("application/json", answer(length)));
      const call = callOf("complete", chatRequest());
      for await (const [message] of backend.handlers.complete?.(call) ?? []) {
        return message?.choices[0]?.message?.content.length;
      }
    };
    expect(await whole(31 * mebi)).toBe(31 * mebi);
    const error = await thrownBy(whole(32 * mebi));
    expect(error).toMatchObject({ code: "upstream_failed" });
    expect(error.message).toContain("an answer that is too large");
  });

  it("is refused an event above 32 MiB, however much there is in all", async () => {
    const events = fixture("anthropic/events").body.toString();
    const ping = `event: ping\ndata: {"type": "ping"${" ".repeat(mebi)}}\n\n`;
    const many = ping.repeat(33);
    const stream = (text: string) => packed("text/event-stream", text);
    expect((await chatted(await sent(stream(many + events)))).text).toBe("Hello there, wörld");
    const error = await thrownBy(
      chatted(await sent(stream(`: ${" ".repeat(33 * mebi)}\n${events}`))),
    );
    expect(error).toMatchObject({ code: "upstream_failed" });
    expect(error.message).toContain("an answer that is too large");
  });
});
