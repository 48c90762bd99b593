/** What is made of a server's errors: the caller's words, the log's, and when to come again. */
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { LintelError } from "../../src/core/errors.js";
import { type Logger, silent } from "../../src/core/log.js";
import { verdictOf } from "../../src/core/routing/blame.js";
import { keepSecret } from "../../src/core/secrets.js";
import { fixture } from "./fixture.js";
import { backendFor, chatRequest, chunk } from "./openai-subject.js";
import { callOf } from "./subject.js";
import { type Exchange, type Script, Upstream } from "./upstream.js";

/** What a completion fails with. */
async function failure(
  script: Script,
  method: "chat" | "complete" = "chat",
  log: Logger = silent,
): Promise<LintelError> {
  const upstream = await Upstream.start(script);
  const backend = backendFor(upstream.url);
  onTestFinished(() => upstream.close());
  onTestFinished(() => backend.close());
  try {
    const call = { ...callOf(method, chatRequest()), log };
    for await (const _ of backend.handlers[method]?.(call as never) ?? []);
  } catch (thrown) {
    return thrown as LintelError;
  }
  throw new Error("it did not fail");
}

const answering =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (exchange) =>
    exchange.sendJson(status, body, headers);

/** OpenRouter's form around what a provider said. */
const routed = (code: number, raw: unknown) => ({
  error: { message: "Provider returned error", code, metadata: { raw, provider_name: "X" } },
});

/** What Anthropic refuses with. */
const anthropic = (message: string) => ({
  type: "error",
  error: { type: "invalid_request_error", message },
});

/** What llama.cpp's router refuses with. */
const router = (message: string) => ({
  error: { code: 400, message, type: "invalid_request_error" },
});

const causeOf = ({ cause }: LintelError) => (cause as Error | undefined)?.message;

describe("the log is told", () => {
  it("how an answer begins that is no stream", async () => {
    const page = `<html>${"We are back soon. ".repeat(100)}</html>`;
    const thrown = await failure((exchange) =>
      exchange.send(200, { "content-type": "text/html" }, page),
    );
    expect(thrown.message).toBe("the model server answered with no stream");
    expect(causeOf(thrown)).toBe(page.slice(0, 300));
  });

  it("the status of a refusal, and all that the server said", async () => {
    const said = "no room at 10.0.0.5";
    const warn = vi.fn();
    const script = answering(400, { error: { message: said } });
    const thrown = await failure(script, "chat", { ...silent, warn });
    expect(thrown.message).not.toContain("10.0.0.5");
    expect(warn.mock.calls).toEqual([
      [{ id: "req-contract", status: 400, said }, "the model server refused"],
    ]);
  });

  it.each([
    ["a message", (text: string) => JSON.stringify({ error: { message: text } })],
    ["a page", (text: string) => text],
  ])("nothing of a key that stands where %s is cut off", async (_, bodyOf) => {
    keepSecret(["Wq7nTc4KzLr8Vb2Y"]);
    const warn = vi.fn();
    const text = `${"x".repeat(1992)}Wq7nTc4KzLr8Vb2Y`;
    const script: Script = (exchange) => exchange.send(502, {}, bodyOf(text));
    const thrown = await failure(script, "chat", { ...silent, warn });
    expect(causeOf(thrown)).toContain("xx[key]");
    expect(JSON.stringify(warn.mock.calls)).not.toContain("Wq7");
  });

  const page = `<html><h1>502 Bad Gateway</h1>${"nginx ".repeat(1000)}</html>`;
  it.each([
    ["a proxy's page", 502, page, page.slice(0, 2000)],
    ["plain text", 404, "404 page not found", "404 page not found"],
    ["JSON without words", 400, '{"error":{"code":7}}', '{"error":{"code":7}}'],
    ["what is no text", 500, Buffer.from("1f8b0800000000000003cb48cdc9c907", "hex"), ""],
  ])("how a refusal begins that has no message: %s", async (_, status, body, said) => {
    const warn = vi.fn();
    const script: Script = (exchange) => exchange.send(status, {}, body);
    const thrown = await failure(script, "chat", { ...silent, warn });
    expect(thrown.message).not.toMatch(/nginx|page|7/);
    expect(causeOf(thrown) ?? "").toBe(said);
    expect(warn.mock.calls).toEqual([
      [{ id: "req-contract", status, said }, "the model server refused"],
    ]);
  });
});

describe("routing is told", () => {
  it("that another Lintel is about to leave", async () => {
    const thrown = await failure((exchange) => exchange.play(fixture("lintel/leaving")));
    expect(thrown).toMatchObject({ code: "unavailable", retryAfter: 5, leaving: true });
    expect(thrown.message).toBe("the model server can't take the request now");
    const { leaving } = await failure(answering(503, { error: { code: "busy" } }));
    expect(leaving).toBe(false);
  });
});

describe("a caller is told", () => {
  it.each([
    [
      "what a provider said to OpenRouter, in JSON",
      routed(400, '{"error":{"message":"too long"}}'),
    ],
    ["the same in Google's list", routed(400, '[{"error":{"message":"too long"}}]')],
    ["the same in words", routed(400, "too long")],
    ["the same as an object", routed(400, { error: { message: "too long" } })],
    ["the texts of a list", { error: ["too long"] }],
    ["the messages of a list", { errors: [{ message: "too long", code: 5021 }], success: false }],
    ["the words of an exception", { error: "ValueError", errors: "too long" }],
  ])("%s", async (_, body) => {
    const { code, message } = await failure(answering(400, body));
    expect([code, message]).toEqual([
      "invalid_value",
      "the model server refused the request: too long",
    ]);
  });

  it.each([
    ["a page", "<html>Bad Gateway at http://10.0.0.1</html>"],
    ["nothing", ""],
    ["JSON without words", '{"error":{"code":7}}'],
    ["a number", 7],
  ])("OpenRouter's own words where the provider sent %s", async (_, raw) => {
    const { message } = await failure(answering(400, routed(400, raw)));
    expect(message).toBe("the model server refused the request: Provider returned error");
  });

  it("each entry of a list, and no more than fits", async () => {
    const { message } = await failure((exchange) => exchange.play(fixture("cloudflare/bad-input")));
    expect(message).toContain("AiError: Bad input: Error: oneOf at '/' not met");
    const two = await failure(answering(400, { error: ["one", { message: "two" }, 3] }));
    expect(two.message).toBe("the model server refused the request: one; two");
    const many = await failure(answering(400, { error: Array(10_000).fill("again and again") }));
    expect(many.message.length).toBeLessThan(600);
  });

  it.each([
    [
      "behind the words",
      { message: "too long", code: "context_length_exceeded" },
      "too long (context_length_exceeded)",
    ],
    [
      "once",
      { message: "unsupported_value: n", code: "unsupported_value" },
      "unsupported_value: n",
    ],
    [
      "before a message that is cut",
      { message: "a".repeat(600), code: "b" },
      `b: ${"a".repeat(497)}`,
    ],
    ["not where it is a number", { message: "too long", code: "3051" }, "too long"],
    ["not where it is no word", { message: "too long", code: "see http://10.0.0.5" }, "too long"],
    ["not where it is endless", { message: "too long", code: "c".repeat(65) }, "too long"],
  ])("a server's code %s", async (_, error, words) => {
    for (const script of [
      answering(400, { error }),
      answering(400, routed(400, JSON.stringify({ error }))),
    ]) {
      expect((await failure(script)).message).toBe(
        `the model server refused the request: ${words}`,
      );
    }
  });

  it("a code also in the middle of a stream and without words, and no key for a code", async () => {
    const error = { message: "too long", code: "context_length_exceeded" };
    const { message } = await failure((exchange) => exchange.stream({ error }));
    expect(message).toContain("too long (context_length_exceeded)");
    const alone = await failure(answering(400, { error: { code: error.code } }));
    expect(alone.message).toBe("the model server refused the request: context_length_exceeded");
    const key = await failure(
      answering(400, { error: { message: "no", code: "sk-abcdefghijkl" } }),
    );
    expect(key.message).not.toContain("abcdefghijkl");
  });

  it("no address and no key of a provider", async () => {
    const raw = '{"error":{"message":"see http://10.0.0.5:8000/x and key sk-abcdefghijkl"}}';
    const { message } = await failure(answering(400, routed(400, raw)));
    expect(message).not.toMatch(/10\.0\.0\.5|8000|sk-abc/);
  });
});

describe("what Cloudflare says of a server that it does not reach", () => {
  it.each([
    [520, "upstream_failed"],
    [521, "upstream_failed"],
    [522, "timeout"],
    [523, "upstream_failed"],
    [525, "upstream_failed"],
    [526, "upstream_failed"],
    [524, "timeout"],
    [530, "upstream_failed"],
  ])("may pass: %i", async (status, code) => {
    const error = await failure((exchange) =>
      exchange.send(status, { "content-type": "text/plain" }, `error code: ${status}`),
    );
    expect(error).toMatchObject({ code, retry: "anywhere" });
  });
});

describe("where another server may do it, it is asked:", () => {
  it.each([401, 402, 403, 404, 405, 412])("%i", async (status) => {
    const error = await failure(answering(status, { error: { message: "no" } }));
    expect(error).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
  });
});

describe("a 400 that no request can help is the gateway's own trouble:", () => {
  const google = (message: string) => [{ error: { code: 400, message, status: "X" } }];

  it.each([
    [
      "xAI of its key",
      {
        code: "Client specified an invalid argument",
        error: "Incorrect API key provided: xa***ab. You can obtain an API key from https://x.ai.",
      },
    ],
    ["Google of its key", google("API key not valid. Please pass a valid API key.")],
    ["Google of its key's age", google("API key expired. Please renew the API key.")],
    ["Google of where it is", google("User location is not supported for the API use.")],
    [
      "Anthropic of the account",
      anthropic("Your credit balance is too low to access the Anthropic API."),
    ],
    [
      "Groq of the model",
      { error: { message: "The model `x` is no longer supported.", code: "model_decommissioned" } },
    ],
    [
      "Together AI of the model",
      {
        id: "okkMWqL-2kFHot-a023f60e9b77ff7e",
        error: {
          message:
            "Unable to access non-serverless model a/b. Please visit https://api.together.ai",
          ...{ type: "invalid_request_error", param: null, code: "model_not_available" },
        },
      },
    ],
    [
      "Together AI of the model's endpoint",
      {
        error: {
          message: "The dedicated endpoint for a/b is not running.",
          ...{ type: "invalid_request_error", param: null, code: "dedicated_endpoint_not_running" },
        },
      },
    ],
    [
      "Hugging Face of the model",
      {
        error: {
          message: "The requested model 'a/b' is not supported by any provider you have enabled.",
          ...{ type: "invalid_request_error", param: "model", code: "model_not_supported" },
        },
      },
    ],
    [
      "GitHub of the model",
      { error: { code: "unknown_model", message: "Unknown model: a/b", details: "Unknown model" } },
    ],
    [
      "LM Studio of a model that it can't load",
      {
        error: {
          message: 'Failed to load model "m". Error: Model loading was stopped.',
          ...{ type: "invalid_request_error", param: "model", code: "model_not_found" },
        },
      },
    ],
    ...[
      "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC.",
      "This organization has been disabled.",
    ].map((message) => [`Anthropic: ${message}`, anthropic(message)] as [string, unknown]),
    [
      "Groq of the account",
      {
        error: {
          message: "Organization has been restricted. Please reach out to support.",
          ...{ type: "invalid_request_error", code: "organization_restricted" },
        },
      },
    ],
    [
      "LiteLLM of what the key may spend",
      {
        error: {
          message: "ExceededBudget: Key=sk-...1234 over budget. Spend=0.2, Budget=0.1",
          ...{ type: "budget_exceeded", param: null, code: "400" },
        },
      },
    ],
    [
      "LiteLLM of what the key may spend, formerly",
      {
        error: {
          message: "Budget has been exceeded! Current cost: 0.0010747, Max budget: 0.0",
          ...{ type: "auth_error", param: null, code: 400 },
        },
      },
    ],
    ...[
      "{'error': '/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.'}",
      "/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.",
      "litellm.BadRequestError: You passed in model=x. There are no healthy deployments for this model",
    ].map(
      (message) =>
        [
          `LiteLLM: ${message}`,
          { error: { message, type: "None", param: "None", code: "400" } },
        ] as [string, unknown],
    ),
    [
      "Alibaba of the account",
      {
        error: {
          message: "Access denied, please make sure your account is in good standing.",
          ...{ type: "Arrearage", param: null, code: "Arrearage" },
        },
      },
    ],
    [
      "DeepSeek of the model",
      { error: { message: "Model Not Exist", code: "invalid_request_error" } },
    ],
    ["OpenRouter of the model", { error: { message: "a/b is not a valid model ID", code: 400 } }],
    [
      "Mistral of the model",
      { object: "error", message: "Invalid model: x", type: "invalid_model", code: "1500" },
    ],
    [
      "Bedrock of the model",
      routed(400, '{"message":"The provided model identifier is invalid."}'),
    ],
    ["llama.cpp's router of a name", router("model 'qwen3:8b' not found")],
    ["llama.cpp's router of a name, formerly", router("model not found")],
    ["llama.cpp's router of a model to load", router("model is not loaded")],
    ["llama.cpp's router of a model that left", router("model name=qwen3:8b is not running")],
  ])("%s", async (_, body) => {
    const error = await failure(answering(400, body));
    expect(error).toMatchObject({
      code: "upstream_failed",
      message: "the model server failed (status 400)",
      retry: "elsewhere",
    });
    expect(verdictOf(error.code)).toBe("failed");
    expect(causeOf(error)).not.toBe("");
  });

  it.each([
    [
      "OpenAI",
      {
        error: {
          message: "You exceeded your current quota, please check your plan and billing details.",
          ...{ type: "insufficient_quota", param: null, code: "project_spend_limit_exceeded" },
        },
      },
    ],
    [
      "Moonshot",
      {
        error: {
          message:
            "Your account org-ea6a80cc0e75 <ak-f8tyo15zao8111h11q4i> is suspended due to insufficient balance, please recharge your account or check your plan and billing details",
          type: "exceeded_current_quota_error",
        },
      },
    ],
    [
      "Z.ai",
      {
        error: {
          ...{
            code: "1113",
            message: "Insufficient balance or no resource package. Please recharge.",
          },
        },
      },
    ],
    [
      "xAI",
      {
        code: "Some resource has been exhausted",
        error:
          "Your team 0f2ac2e5-7c1b-4b0f-9a52-6d3c7e1d9c11 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.",
      },
    ],
    [
      "LiteLLM",
      {
        error: {
          message: "LiteLLM User: engineer-1, exceeded budget for model=x",
          ...{ type: "budget_exceeded", param: null, code: "429" },
        },
      },
    ],
  ])("also a 429 of an account that is spent: %s", async (_, body) => {
    const error = await failure(answering(429, body));
    expect(error).toMatchObject({
      code: "upstream_failed",
      message: "the model server failed (status 429)",
      retry: "elsewhere",
    });
    expect(verdictOf(error.code)).toBe("failed");
  });

  it("and no other 429 is, whatever its words", async () => {
    expect(
      await failure((exchange) => exchange.play(fixture("google/rate-limited"))),
    ).toMatchObject({
      code: "rate_limited",
    });
  });

  it.each([
    { message: "model name=m failed to load", code: 500, type: "server_error" },
    ...[
      "model requires more system memory (8.4 GiB) than is available (7.7 GiB)",
      "llama runner process has terminated: exit status 2",
      "llama runner process no longer running: -1 ",
      "timed out waiting for llama runner to start - progress 0.00 - ",
    ].map((message) => ({ message, type: "api_error", param: null, code: null })),
  ])("also a 500 of a model that can't be loaded: $message", async (error) => {
    expect(await failure(answering(500, { error }))).toMatchObject({
      code: "upstream_failed",
      retry: "elsewhere",
    });
  });

  it.each(["model runner has unexpectedly stopped", "no model requires more system memory"])(
    "and no other 500 is: %s",
    async (message) => {
      expect(await failure(answering(500, { error: { message } }))).toMatchObject({
        code: "upstream_failed",
        retry: "never",
      });
    },
  );

  it("also in an event", async () => {
    const error = { code: 400, message: "Incorrect API key provided: xa***ab." };
    expect(await failure((exchange) => exchange.stream({ error }))).toMatchObject({
      code: "upstream_failed",
      retry: "elsewhere",
    });
  });

  it.each([
    "Invalid model parameters: temperature is too high",
    "The model does not support images",
    "tools[0].function: api key is required in the description",
    'no template takes "invalid API key"',
    "model 'm' not found in the text that the caller wrote",
    `messages[0] can not be read: ${"what the caller wrote, ".repeat(4)} incorrect API key`,
  ])("and no other is: %s", async (message) => {
    expect(await failure(answering(400, { error: { message } }))).toMatchObject({
      code: "invalid_value",
    });
  });
});

describe("the status of a refusal counts, and when to come again, where its body", () => {
  const cut = '{"error":{"message":"busy"';

  it.each([
    [
      "breaks off",
      async (exchange, status) => {
        await exchange.head(status, { "content-length": "200", "retry-after": "7" });
        await exchange.raw(cut);
        exchange.destroy();
      },
    ],
    [
      "is packed",
      (exchange, status) =>
        exchange.send(
          status,
          { "content-encoding": "gzip", "retry-after": "7" },
          gzipSync(`${cut}}}`),
        ),
    ],
    [
      "is larger than anyone reads",
      (exchange, status) =>
        exchange.send(status, { "retry-after": "7" }, "<".repeat(2 * 1024 * 1024)),
    ],
  ] satisfies [string, (exchange: Exchange, status: number) => Promise<void>][])(
    "%s",
    async (_, refuse) => {
      for (const [status, expected] of [
        [503, { code: "unavailable", askedDelay: 7 }],
        [429, { code: "rate_limited", askedDelay: 7 }],
        [401, { code: "upstream_failed", retry: "elsewhere" }],
        [400, { code: "invalid_value" }],
      ] as const) {
        const script: Script = (exchange) => refuse(exchange, status);
        expect(await failure(script)).toMatchObject(expected);
      }
    },
  );
});

describe("more tokens than the account may use in a minute", () => {
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

  it.each([
    [413, "Request too large for this server: 32 MB", "invalid_value", "never"],
    [429, "Rate limit reached for gpt-4o on tokens per min (TPM)", "rate_limited", "anywhere"],
  ])("are not what any other %i is about: %s", async (status, words, code, retry) => {
    const thrown = await failure(answering(status, error(words)));
    expect(thrown).toMatchObject({ code, param: undefined, retry });
  });
});

describe("a prompt that OpenRouter's moderation flagged", () => {
  const message = "Your chosen model requires moderation and your input was flagged";
  const metadata = { reasons: ["violence"], flagged_input: "how to", provider_name: "X" };
  const flagged = { error: { code: 403, message, metadata } };

  it.each([
    ["in an answer", answering(403, flagged)],
    ["in an event", (exchange) => exchange.stream(flagged)],
  ] satisfies [string, Script][])("is the caller's, and says so: %s", async (_, script) => {
    const error = await failure(script);
    expect(error).toMatchObject({ code: "content_blocked", retry: "never" });
    expect(error.message).toBe(`the model server refused the request: ${message}`);
  });

  it("and no other 403 is", async () => {
    const error = await failure(answering(403, routed(403, "key disabled")));
    expect(error).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
  });
});

describe("a prompt that xAI's filter refused", () => {
  const uuid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
  const check = "Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO";
  const said = (words: string) => ({ code: "permission-denied", error: words });
  const body = said(
    `Content violates usage guidelines. Team: ${uuid}, API key ID: ${uuid}, ${check}`,
  );

  it.each([
    ["in an answer", answering(403, body)],
    ["in an event", (exchange) => exchange.stream(body)],
  ] satisfies [string, Script][])(
    "is the caller's, and names no account: %s",
    async (_, script) => {
      const error = await failure(script);
      expect(error).toMatchObject({ code: "content_blocked", retry: "never" });
      expect(error.message).toContain(
        `Content violates usage guidelines. Team: [key], API key ID: [key], ${check}`,
      );
      expect(verdictOf(error.code)).toBe("ok");
    },
  );

  it("and no other 403 is, whatever it quotes", async () => {
    for (const words of ["Team is blocked", `No access to "Content violates usage guidelines"`]) {
      const error = await failure(answering(403, said(words)));
      expect(error).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
    }
  });
});

describe("a prompt that a server's filter blocked", () => {
  const message = "Input data may contain inappropriate content.";

  it.each([
    ["OpenAI's images", { type: "image_generation_user_error", code: "moderation_blocked" }],
    ["OpenAI and LiteLLM", { type: "invalid_request_error", code: "content_policy_violation" }],
    ["Azure", { code: "content_filter", status: 400 }],
    ["Moonshot", { type: "content_filter" }],
    ["DashScope", { code: "data_inspection_failed", type: "data_inspection_failed" }],
    ["DashScope's own form", { code: "DataInspectionFailed" }],
    ["Ark", { code: "InputTextSensitiveContentDetected", type: "BadRequest" }],
    ["Gemini", { code: "PROHIBITED_CONTENT" }],
    ["another Lintel", { code: "content_blocked", type: "invalid_request_error" }],
  ])("is the caller's, in an event as in an answer: %s", async (_, said) => {
    const error = { ...said, message };
    const event = `event: error\ndata: ${JSON.stringify(error)}\n\n`;
    for (const script of [
      answering(400, { error }),
      answering(400, error),
      answering(400, routed(400, JSON.stringify({ error }))),
      (exchange) => exchange.stream({ error }),
      (exchange) => exchange.stream(event),
    ] satisfies Script[]) {
      const thrown = await failure(script);
      expect(thrown).toMatchObject({ code: "content_blocked", retry: "never" });
      expect(thrown.message).toContain(message);
      expect(verdictOf(thrown.code)).toBe("ok");
    }
  });

  it.each([
    ["its limit was reached", { code: "moderation_rate_limit" }, "rate_limited"],
    ["the filter is away", { code: "moderation_unavailable" }, "unavailable"],
    ["the server failed", { code: 500, type: "safety" }, "upstream_failed"],
    ["the filter failed", { type: "moderation_internal_error" }, "upstream_failed"],
    [
      "the key may not use it",
      { type: "permission_error", code: "moderation_not_enabled" },
      "upstream_failed",
    ],
    [
      "it was given what it can't read",
      { code: "InvalidParameter.DataInspection" },
      "invalid_value",
    ],
  ])("is none where %s", async (_, error, code) => {
    expect(await failure((exchange) => exchange.stream({ error }))).toMatchObject({ code });
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
    expect(error).toMatchObject({ code: "invalid_value", retry: "never" });
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

describe("what a server says of its own failure is for the log alone:", () => {
  const said = "CUDA out of memory at 10.0.0.5";

  it.each([
    ["a status", answering(500, { error: said })],
    ["overload", answering(503, { error: { message: said } })],
    ["a provider behind OpenRouter", answering(502, routed(502, `{"error":"${said}"}`))],
    ["a whole answer", answering(200, { error: said })],
    ["a whole answer of a provider", answering(200, routed(502, said))],
    ["a whole answer in a list", answering(200, [{ error: { message: said, code: 500 } }])],
    ["an event", (exchange) => exchange.stream({ error: { message: said, code: 500 } })],
    ["an event of that name", (e) => e.stream(`event: error\ndata: {"message":"${said}"}\n\n`)],
  ] satisfies [string, Script][])("%s", async (_, script) => {
    const error = await failure(script);
    expect(error.message).not.toContain("CUDA");
    expect(causeOf(error)).toBe(said);
  });

  it("in whole answers", async () => {
    for (const error of [said, { message: said, code: 500 }]) {
      const thrown = await failure(answering(200, [{ error }]), "complete");
      expect(causeOf(thrown)).toBe(said);
    }
  });

  it("the reason of half a completion", async () => {
    const message = { role: "assistant", content: "a" };
    const choices = [{ index: 0, message, finish_reason: "network_error" }];
    const error = await failure(answering(200, { choices }), "complete");
    expect(error.code).toBe("upstream_failed");
    expect(causeOf(error)).toBe("finish reason network_error");
  });

  it("and is cut", async () => {
    const error = await failure(answering(500, { error: "x".repeat(100_000) }));
    expect(causeOf(error)).toBe("x".repeat(2000));
  });
});

describe("an error that no event has around it counts as one", () => {
  const error = { message: "slow down", code: 429 };
  const begun = `data: ${JSON.stringify(chunk({ content: "a" }))}`;
  const lines = (value: unknown, space?: number) => JSON.stringify(value, null, space);

  it.each([
    ["in the stream's place", lines({ error })],
    ["as a text", '{"error":"slow down","code":429}\n\n'],
    ["in a list, on several lines", `${lines([{ error }], 2)}\r\n`],
    ["after an event", `${begun}\n\n${lines({ error })}\n`],
    ["after an event, on several lines", `${begun}\n\n${lines({ error }, 2)}\n\n`],
    ["right below an event", `${begun}\n${lines({ error })}\n\n`],
    ["before the end", `${begun}\n\n${lines({ error })}\n\ndata: [DONE]\n\n`],
    ["below other JSON", `{"status":"ok"}\n{"open":\n\n${lines({ error })}\n\n`],
    ["in MiniMax's form", lines({ base_resp: { status_code: 1002, status_msg: "slow down" } })],
  ])("%s", async (_, body) => {
    for (const type of ["text/event-stream", "text/plain"]) {
      const thrown = await failure((exchange) =>
        exchange.send(200, { "content-type": type }, body),
      );
      expect(causeOf(thrown)).toContain("slow down");
      if (!body.includes('"error":"')) expect(thrown.code).toBe("rate_limited");
    }
  });

  it.each([
    ["what is none", '{"status":"ok"}\n[1]\n{"a":\n1}\n'],
    ["what has no end", `{"a":"${"}\n".repeat(20_000)}\n`],
  ])("and %s does not", async (_, body) => {
    const end = `data: ${JSON.stringify(chunk({}, "stop"))}\n\ndata: [DONE]\n\n`;
    const upstream = await Upstream.start((exchange) =>
      exchange.send(200, { "content-type": "text/event-stream" }, `${body}${begun}\n\n${end}`),
    );
    const backend = backendFor(upstream.url);
    onTestFinished(() => upstream.close());
    onTestFinished(() => backend.close());
    let text = "";
    for await (const step of backend.handlers.chat?.(callOf("chat", chatRequest())) ?? []) {
      for (const { choices } of step) text += choices[0]?.delta?.content ?? "";
    }
    expect(text).toBe("a");
  });
});

describe("a server says when to come again", () => {
  const info = (retryDelay: unknown) => ({
    error: { message: "quota", details: [{ "@type": "type.googleapis.com/x" }, { retryDelay }] },
  });

  it.each([
    ["in milliseconds", { "retry-after-ms": "2500" }, {}, 3],
    ["in Retry-After before all", { "retry-after": "7", "retry-after-ms": "2500" }, info("34s"), 7],
    ["in a header before the body", { "retry-after-ms": "2500" }, info("34s"), 3],
    ["in Google's details", {}, info("34s"), 34],
    ["in Google's details behind OpenRouter", {}, routed(429, JSON.stringify(info("0.5s"))), 1],
    ["as it loads", {}, { error: "loading", estimated_time: 20.5 }, 21],
    ["where a header can't be read", { "retry-after": "soon" }, { estimated_time: 4 }, 4],
    ["at most in a year", {}, { estimated_time: 1e23 }, 31_536_000],
  ])("%s", async (_, headers, body, seconds) => {
    expect((await failure(answering(429, body, headers))).askedDelay).toBe(seconds);
  });

  it.each([
    ["in letters", { "retry-after-ms": "soon" }, info("soon")],
    ["in another unit", { "retry-after-ms": "-1" }, info("34")],
    ["as another type", {}, { ...info(34), estimated_time: "20" }],
    ["without an end", {}, '{"estimated_time":1e999}'],
  ])("or not: %s", async (_, headers, body) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const error = await failure((exchange) => exchange.send(429, headers, text));
    expect(error.code).toBe("rate_limited");
    expect(error.askedDelay).toBeUndefined();
  });

  it.each([
    ["google/rate-limited", "rate_limited", 35],
    ["huggingface/loading", "unavailable", 36],
  ])("%s", async (name, code, askedDelay) => {
    const error = await failure((exchange) => exchange.play(fixture(name)));
    expect(error).toMatchObject({ code, askedDelay });
  });

  it("inside of a stream, too", async () => {
    const body = { error: { code: 429, ...info("34s").error } };
    const error = await failure((exchange) => exchange.stream(body));
    expect(error).toMatchObject({ code: "rate_limited", askedDelay: 34 });
  });
});
