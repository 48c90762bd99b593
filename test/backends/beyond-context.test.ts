/** Limits of an answer's length that are more than a conversation leaves of its model's context. */
import { describe, expect, it } from "vitest";
import { bodies } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const words: Readonly<Record<string, string>> = {
  "vLLM of 2023":
    "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (8000 in the messages, 32000 in the completion). Please reduce the length of the messages or completion.",
  "vLLM of 2025":
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 8000 input tokens (32000 > 32768 - 8000).",
  "vLLM of 2026":
    "This model's maximum context length is 32768 tokens. However, you requested 32000 output tokens and your prompt contains at least 769 input tokens, for a total of at least 32769 tokens.",
  SGLang:
    "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 8000 tokens from the input messages and 32000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
  OpenRouter:
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (8000 of text input, 32000 in the output). Please reduce the length of either one.",
  TGI: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32768. Given: 8000 `inputs` tokens and 32000 `max_new_tokens`",
};

/** A server whose conversations leave room for 24768 tokens. */
const strict =
  (message: string, status = 400): Script =>
  (exchange) => {
    const { max_tokens = 0, max_completion_tokens = max_tokens } = exchange.json();
    return max_completion_tokens > 24768
      ? exchange.sendJson(status, { error: { message, type: "BadRequestError", code: status } })
      : echo(exchange);
  };

async function ask(url: string, maxTokens: number, config: object = {}) {
  const call = callOf("chat", chatRequest({ maxTokens }));
  const backend = opened(backendFor(url, config));
  for await (const _ of backend.handlers.chat?.(call) ?? []);
  return [...call.warnings];
}

const limits = (server: Parameters<typeof bodies>[0]) =>
  bodies(server).map(
    ({ max_tokens, max_completion_tokens }) => max_tokens ?? max_completion_tokens,
  );

describe("a limit above what the conversation leaves", () => {
  it.each(Object.entries(words))("is left to the context's end: %s", async (_, message) => {
    const server = await serve(strict(message));
    expect(await ask(server.url, 32000)).toEqual([]);
    expect(limits(server)).toEqual([32000, undefined]);
  });

  it("is left to it also by its other name, and that of the operator's", async () => {
    const server = await serve(strict(words["vLLM of 2025"] as string));
    await ask(server.url, 64000, { dialect: "openai", max_tokens: 32000 });
    expect(limits(server)).toEqual([32000, undefined]);
  });

  it("counts for the next conversation, which may be shorter", async () => {
    const server = await serve(strict(words["vLLM of 2025"] as string));
    const backend = opened(backendFor(server.url));
    for (const maxTokens of [32000, 100, 32000]) {
      const call = callOf("chat", chatRequest({ maxTokens }));
      for await (const _ of backend.handlers.chat?.(call) ?? []);
    }
    expect(limits(server)).toEqual([32000, undefined, 100, 32000, undefined]);
  });

  it("is told as a conversation that is too long where that is so alone", async () => {
    const server = await serve((exchange) =>
      exchange.sendJson(400, { error: { message: words["vLLM of 2023"], code: 400 } }),
    );
    await expect(ask(server.url, 32000)).rejects.toMatchObject({
      code: "invalid_value",
      param: "messages",
      message: expect.stringContaining("context_length_exceeded"),
    });
    expect(server.requests).toHaveLength(2);
  });

  it("is the caller's to lower where the model itself has less", async () => {
    const message =
      "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.";
    const server = await serve(strict(message));
    await expect(ask(server.url, 100000)).rejects.toMatchObject({ code: "invalid_value" });
    expect(server.requests).toHaveLength(1);
  });
});
