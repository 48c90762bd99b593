/** What errors mean that single vendors have forms of their own for. */
import { describe, expect, it } from "vitest";
import { verdictOf } from "../../src/core/routing/blame.js";
import { answering, causeOf, failure } from "./openai-failing.js";
import type { Script } from "./upstream.js";

describe("more tokens than the account may use", () => {
  const limit = (name: string, org: string) =>
    `Request too large for ${name} in organization ${org} on tokens per minute (TPM): Limit 6000, Requested 7136`;
  const groq = limit("model `llama`", "`org_01j94p3pncfbv8vhfm7ygbrf3j`");
  const openai = limit("gpt-4o", "org-vyUrKHsIdLcZGKR3zqCqllrS");
  const error = (message: string) => ({
    error: { message, type: "tokens", code: "rate_limit_exceeded" },
  });

  it.each([
    ["Groq", answering(413, error(groq))],
    ["OpenAI", answering(429, error(openai))],
    ["an event", (exchange) => exchange.stream(error(groq))],
  ] satisfies [string, Script][])("may be few enough for another target: %s", async (_, script) => {
    const thrown = await failure(script);
    expect(thrown).toMatchObject({ code: "rate_limited", param: "messages", retry: "elsewhere" });
    expect(thrown.message).toContain("Limit 6000, Requested 7136");
    expect(thrown.message).toMatch(/organization `?\[key\]/);
    expect(verdictOf(thrown.code)).toBe("neutral");
  });

  const credits = (afford: number) =>
    `This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford ${afford}. To increase, visit https://openrouter.ai/settings/credits and add more credits`;
  const prompt =
    "Prompt tokens limit exceeded: 230799 > 91442. To increase, visit https://openrouter.ai/settings/keys and create a key with a higher monthly limit";
  const openRouter = (message: string) =>
    answering(402, { error: { message, code: 402, metadata: { provider_name: null } } });

  it.each([
    ["max_tokens", credits(27342)],
    ["messages", prompt],
  ])("nor has it credits for as many at OpenRouter: %s", async (param, message) => {
    const thrown = await failure(openRouter(message));
    expect(thrown).toMatchObject({ code: "rate_limited", param, retry: "elsewhere" });
    expect(thrown.message).not.toContain("openrouter.ai");
    expect(verdictOf(thrown.code)).toBe("neutral");
  });

  it.each([credits(0), credits(127), "Insufficient credits. Add more", `x: ${credits(27342)}`])(
    "but has as good as none: %s",
    async (message) => {
      const thrown = await failure(openRouter(message));
      expect(thrown).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
      expect(verdictOf(thrown.code)).toBe("failed");
    },
  );

  it.each([
    [413, "Request too large for this server: 32 MB", "invalid_value", "never"],
    [429, "Rate limit reached for gpt-4o on tokens per min (TPM)", "rate_limited", "anywhere"],
  ])("are not what any other %i is about: %s", async (status, words, code, retry) => {
    const thrown = await failure(answering(status, error(words)));
    expect(thrown).toMatchObject({ code, param: undefined, retry });
  });
});

it("Groq's flexible tier without room may be asked again", async () => {
  const error = { message: "Flex tier capacity exceeded", type: "capacity_exceeded" };
  expect(await failure(answering(498, { error }, { "retry-after": "4" }))).toMatchObject({
    code: "unavailable",
    retry: "anywhere",
    askedDelay: 4,
  });
});

describe("a provider that failed behind OpenRouter, which says so in the choice,", () => {
  const scripts = (choice: object): [Script, "chat" | "complete"][] => {
    const role = { role: "assistant", content: "" };
    const events = [{ choices: [{ index: 0, delta: role, ...choice }] }, "data: [DONE]\n\n"];
    return [
      [answering(200, { choices: [{ index: 0, message: role, ...choice }] }), "complete"],
      [(exchange) => exchange.stream(...events), "chat"],
    ];
  };

  it.each([
    [{ code: 429, message: "Provider returned error" }, "rate_limited", "anywhere"],
    [{ code: 503, message: "busy" }, "unavailable", "anywhere"],
    [{ code: 502, message: "Upstream error from X" }, "upstream_failed", "anywhere"],
    [{ code: 400, message: "too long" }, "invalid_value", "never"],
  ])("has the error's meaning: %j", async (error, code, retry) => {
    for (const finish_reason of ["error", "stop", null]) {
      for (const [script, method] of scripts({ finish_reason, error })) {
        expect(await failure(script, method)).toMatchObject({ code, retry });
      }
    }
  });

  it.each(["network_error", "error", "abort"])("has not stopped by itself: %s", async (native) => {
    const choice = { finish_reason: "stop", native_finish_reason: native };
    for (const [script, method] of scripts(choice)) {
      const error = await failure(script, method);
      expect(error.code).toBe("upstream_failed");
      expect(causeOf(error)).toBe(`finish reason ${native}`);
    }
  });
});

it("what a server calls the user's error in a stream is about the request", async () => {
  const error = { type: "image_generation_user_error", code: null, message: "no such mask" };
  const thrown = await failure((exchange) => exchange.stream({ error }));
  expect(thrown).toMatchObject({ code: "invalid_value" });
});

describe("an error in a stream without a number, a code or a type", () => {
  const marked = (message: string): Script => {
    const data = JSON.stringify({ error: { message }, message });
    return (exchange) => exchange.stream(`event: error\ndata: ${data}\n\n`);
  };

  it.each([
    "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5228>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.",
    "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input",
    "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.",
    "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
    "the request exceeds the available context size, try increasing it",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    "Context window exceeded",
    "prompt is too long: 213412 tokens > 200000 maximum",
  ])("is the request's where it says that the prompt is too long: %s", async (message) => {
    const error = await failure(marked(message));
    expect(error).toMatchObject({ code: "invalid_value", retry: "elsewhere", param: "messages" });
    expect(error.message).toContain(message.slice(0, 200));
  });

  it.each([
    "The model has crashed without additional information. (Exit code: 6)",
    "failed to create the context: out of memory",
    "Model unloaded.",
    "timed out while the prompt was read into the context",
  ])("is the server's where it says anything else: %s", async (message) => {
    expect(await failure(marked(message))).toMatchObject({ code: "upstream_failed" });
  });
});

describe("Text Generation Inference, which says 422 of all in a stream,", () => {
  it.each([
    ["Input validation error: `inputs` must have less than 4096 tokens", "invalid_value"],
    ["Template error: Conversation roles must alternate", "invalid_value"],
    ["Model is overloaded", "unavailable"],
    ["Request failed during generation: Server error: CUDA out of memory", "upstream_failed"],
    ["Incomplete generation", "upstream_failed"],
  ])("means: %s", async (message, code) => {
    const error = await failure((exchange) =>
      exchange.stream({ error: { message, http_status_code: 422 } }),
    );
    expect(error.code).toBe(code);
  });
});
