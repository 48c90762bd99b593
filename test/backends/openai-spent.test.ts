/** What servers say of an account that is spent, or of a model that they can't load, each in its own way. */
import { describe, expect, it } from "vitest";
import { verdictOf } from "../../src/core/routing/blame.js";
import { fixture } from "./fixture.js";
import { answering, failure } from "./openai-failing.js";

describe("the gateway's own trouble is", () => {
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
      "OpenAI, of one that is not active",
      {
        error: {
          message: "Your account is not active, please check your billing details on our website.",
          ...{ type: "billing_not_active", param: null, code: "billing_not_active" },
        },
      },
    ],
    ...[
      "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.",
      "Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend",
    ].map(
      (message) =>
        [
          `Google: ${message}`,
          [{ error: { code: 429, message, status: "RESOURCE_EXHAUSTED" } }],
        ] as [string, unknown],
    ),
    [
      "Ollama's cloud",
      {
        error: {
          message:
            "you (somebody) have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade",
          ...{ type: "api_error", param: null, code: null },
        },
      },
    ],
    [
      "Cloudflare",
      {
        ...{ success: false, result: {}, messages: [] },
        errors: [
          {
            message:
              "AiError: you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan",
            code: 4006,
          },
        ],
      },
    ],
    ["Zhipu", { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } }],
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
      "model failed to load, this may be due to resource limitations or an internal error, check ollama server logs for details",
      "unable to load model: /root/.ollama/models/blobs/sha256-dec52a44569a",
      "llama-server process has terminated: exit status 1: error loading model: out of memory",
      "llama-server process no longer running: signal: killed ",
      "llama-server reported out-of-memory during startup: cudaMalloc failed: out of memory",
      "timed out waiting for llama-server to start - ",
      "mlx runner failed: out of memory (exit: signal: killed)",
      "model requires 18.2 GiB but only 11.5 GiB are available (after 512.0 MiB overhead)",
    ].map((message) => ({ message, type: "api_error", param: null, code: null })),
  ])("also a 500 of a model that can't be loaded: $message", async (error) => {
    expect(await failure(answering(500, { error }))).toMatchObject({
      code: "upstream_failed",
      retry: "elsewhere",
    });
  });

  it.each(["chat", "complete"] as const)(
    "but not Ollama's 500 of messages without a word: %s",
    async (method) => {
      const error = await failure((exchange) => exchange.play(fixture("ollama/no-input")), method);
      expect(error.code).toBe("invalid_value");
      expect(error.message).toContain("no input provided");
      expect(verdictOf(error.code)).toBe("ok");
    },
  );

  it.each([
    ["Failed to create new sequence: out of memory", "doubtful"],
    ["model runner has unexpectedly stopped", "never"],
    ["no model requires more system memory", "doubtful"],
    ["error reading llama-server chat response: unexpected EOF", "never"],
    ["mlx runner failed: out of memory", "doubtful"],
  ])("and no other 500 is, for which the request may be to blame: %s", async (message, retry) => {
    expect(await failure(answering(500, { error: { message } }))).toMatchObject({
      code: "upstream_failed",
      retry,
    });
  });

  it.each([
    ["The model has crashed without additional information. (Exit code: 11)", "never"],
    ["Model unloaded.", "elsewhere"],
    ["Model is unloaded.", "elsewhere"],
  ])("also what LM Studio says with a 400 of a model that is gone: %s", async (error, retry) => {
    const thrown = await failure(answering(400, { error }));
    expect(thrown).toMatchObject({ code: "upstream_failed", retry });
    expect(verdictOf(thrown.code)).toBe("failed");
    expect(thrown.message).not.toContain(error);
  });
});
