/** Conversations that are longer than a model holds, in the words of those who refuse them. */
import { describe, expect, it } from "vitest";
import { failureIn, failureOf } from "../../src/backends/http/failure.js";
import { overflow } from "../../src/core/errors.js";

const refused = (status: number, error: object) => failureOf(status, JSON.stringify({ error }), {});

const tooLong = {
  code: "invalid_value",
  param: "messages",
  retry: "elsewhere",
  message: expect.stringContaining(overflow),
};

describe("a conversation that is too long", () => {
  it.each([
    ["OpenAI, by its code", 400, { message: "Too much.", code: "context_length_exceeded" }],
    [
      "OpenAI, of responses",
      400,
      { message: "Your input exceeds the context window of this model." },
    ],
    [
      "vLLM",
      400,
      {
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000",
        code: 400,
      },
    ],
    [
      "vLLM, of pictures",
      400,
      {
        message:
          "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure",
        code: 400,
      },
    ],
    [
      "vLLM, of pictures, older",
      400,
      { message: "The prompt (total length 25938) is too long to fit into the model (context" },
    ],
    [
      "OpenRouter",
      400,
      {
        message: "This endpoint's maximum context length is 131072 tokens. However, you",
        code: 400,
      },
    ],
    [
      "xAI",
      400,
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    ],
    [
      "SGLang",
      400,
      {
        message: "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
      },
    ],
    [
      "llama.cpp",
      400,
      {
        message:
          "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        type: "exceed_context_size_error",
      },
    ],
    ["llama.cpp, older", 400, { message: "the request exceeds the available context size. try" }],
    ["Anthropic", 400, { message: "prompt is too long: 212345 tokens > 200000 maximum" }],
    [
      "Anthropic, with the answer",
      400,
      { message: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000" },
    ],
    [
      "Google",
      400,
      {
        message:
          "The input token count (1048580) exceeds the maximum number of tokens allowed (1048576).",
      },
    ],
    [
      "Moonshot",
      400,
      { message: "Invalid request: Your request exceeded model token limit: 131072" },
    ],
    [
      "Mistral",
      400,
      {
        message:
          "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      },
    ],
    [
      "Text Generation Inference",
      422,
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
    ],
    ["Bedrock", 400, { message: "Input is too long for requested model." }],
    ["Groq", 400, { message: "Please reduce the length of the messages or completion." }],
    [
      "LM Studio",
      400,
      "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load",
    ],
    [
      "Alibaba",
      400,
      {
        message:
          "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
      },
    ],
    ["Z.ai", 400, { message: "Prompt exceeds max length", code: "1261" }],
    ["MiniMax", 400, { message: "invalid params, context window exceeds limit" }],
    [
      "another Lintel",
      400,
      {
        message:
          "messages: they have 5000 tokens, the model holds 4095 besides its answer (context_length_exceeded)",
        code: "invalid_value",
        param: "messages",
      },
    ],
  ])("is another target's to take: %s", (_, status, error) => {
    const failure = refused(status, error as object);
    expect(failure).toMatchObject(
      failure.message.includes("they have") ? { ...tooLong, param: undefined } : tooLong,
    );
    expect(failure.message.split(overflow)).toHaveLength(2);
  });

  it("also in the middle of a stream", () => {
    const error = { message: "the request exceeds the available context size", code: 400 };
    expect(failureIn({ error })).toMatchObject(tooLong);
  });

  it("is told by its code also where that stands behind what callers are told of the words", () => {
    const message = `This model's maximum context length is 4096 tokens. ${"However. ".repeat(60)}(context_length_exceeded)`;
    expect(refused(400, { message })).toMatchObject(tooLong);
    expect(failureIn({ error: { message, code: 400 } })).toMatchObject(tooLong);
  });

  it("is told by its code also where the words are many bytes", () => {
    const message = `Prompt exceeds max length. ${"请缩短输入内容。".repeat(45)}`;
    expect(refused(400, { message, code: "1261" })).toMatchObject(tooLong);
  });

  it("is told by its code where the words are many", () => {
    const message = `This model's maximum context length is 4096 tokens. ${"However. ".repeat(200)}`;
    expect(refused(400, { message }).message).toMatch(
      /^the model server refused the request: context_length_exceeded: This model/,
    );
  });
});

it.each([
  ["that quotes the caller", 400, { message: 'unknown role "prompt is too long"' }],
  ["that has the words later on", 400, { message: "Bad input.\nprompt is too long" }],
  ["about something else", 400, { message: "max_tokens is too large" }],
  ["about a short prompt", 400, { message: "prompt is required" }],
])("a refusal %s is the request's", (_, status, error) => {
  expect(refused(status, error)).toMatchObject({ code: "invalid_value", retry: "never" });
});

it("a failure in such words is the server's", () => {
  expect(refused(500, { message: "prompt is too long" })).toMatchObject({
    code: "upstream_failed",
    retry: "doubtful",
  });
});
