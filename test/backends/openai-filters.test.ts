/** Prompts that the filters of servers blocked, as each vendor tells of it. */
import { describe, expect, it } from "vitest";
import { verdictOf } from "../../src/core/routing/blame.js";
import { answering, failure, routed } from "./openai-failing.js";
import type { Script } from "./upstream.js";

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

describe("a prompt or an image that a filter refused, told by words alone", () => {
  const imagen = "Image generation failed with the following error: ";
  const words = [
    "Generated image rejected by content moderation.",
    `${imagen}The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices.`,
    `${imagen}The response is blocked, as it may violate our policies.`,
    "This request has been blocked by our content filters.",
    "The generated image(s) has been blocked by our content filters.",
    "NSFW content detected. Try running it again, or try a different prompt.",
    "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
  ];

  it.each(words)("%s", async (message) => {
    const error = await failure(answering(400, { error: { code: 400, message } }));
    expect(error).toMatchObject({ code: "content_blocked", retry: "never" });
    expect(error.message).toContain(message);
  });

  it.each(words)("and nothing that only quotes: %s", async (message) => {
    const quoted = { message: `prompt: too long: "${message}"` };
    const error = await failure(answering(400, { error: quoted }));
    expect(error.code).toBe("invalid_value");
  });

  it("or by the type of a detail (fal)", async () => {
    const msg = "The content could not be processed because it was flagged by a content checker.";
    const detail = [{ loc: ["body", "prompt"], type: "content_policy_violation", msg }];
    expect(await failure(answering(422, { detail }))).toMatchObject({
      code: "content_blocked",
      message: `the model server refused the request: prompt: ${msg}`,
    });
    const missing = [{ loc: ["body", "prompt"], type: "missing", msg: "Field required" }];
    expect(await failure(answering(422, { detail: missing }))).toMatchObject({
      code: "invalid_value",
    });
  });
});
