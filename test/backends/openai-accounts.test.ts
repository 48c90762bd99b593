/** What servers say of the gateway's own key, account or model with a 400, each in its own way. */
import { describe, expect, it } from "vitest";
import { verdictOf } from "../../src/core/routing/blame.js";
import { answering, causeOf, failure, routed } from "./openai-failing.js";

/** What Anthropic refuses with. */
const anthropic = (message: string) => ({
  type: "error",
  error: { type: "invalid_request_error", message },
});

/** What llama.cpp's router refuses with. */
const router = (message: string) => ({
  error: { code: 400, message, type: "invalid_request_error" },
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
      "Azure of the model",
      {
        error: {
          code: "OperationNotSupported",
          message:
            "The chatCompletion operation does not work with the specified model, gpt-5.1-codex. Please choose different model and try again.",
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
      "Lintel of its address",
      {
        error: {
          message: "this address speaks TLS: ask it by https://",
          ...{ type: "invalid_request_error", param: null, code: "invalid_value" },
        },
      },
    ],
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
    [
      "SiliconFlow of the model",
      { code: 20012, message: "Model does not exist. Please check it carefully.", data: null },
    ],
    ...["Unknown Model, please check the model code.", "模型不存在，请检查模型代码。"].map(
      (message) => [`Z.ai: ${message}`, { error: { code: "1211", message } }] as [string, unknown],
    ),
    [
      "NVIDIA of the model",
      {
        ...{ status: 400, title: "Bad Request" },
        detail:
          "Function id '87ea0ddc-cff1-4bca-bf8b-3bd98a35ddd0': DEGRADED function cannot be invoked",
      },
    ],
    [
      "Ollama of a model for embeddings",
      {
        error: {
          ...{ message: '"all-minilm:latest" does not support chat', type: "api_error" },
          ...{ param: null, code: null },
        },
      },
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
    '"what the caller wrote" and "all-minilm" does not support chat',
    '"all-minilm" does not support chat with images',
    "model 'm' not found in the text that the caller wrote",
    "Function id 'my tool': DEGRADED function cannot be invoked",
    `messages[0] can not be read: ${"what the caller wrote, ".repeat(4)} incorrect API key`,
  ])("and no other is: %s", async (message) => {
    expect(await failure(answering(400, { error: { message } }))).toMatchObject({
      code: "invalid_value",
    });
  });
});
