/** The table: what is asked, and what comes of it, whatever the door. */
import type { ErrorCode } from "../../src/core/error-table.js";

/** What comes of a chat request. */
export interface ChatOutcome {
  /** The text; what was streamed before the error, if there is one. */
  readonly text?: string;
  /** What the model thought. */
  readonly thoughts?: string;
  readonly finishReason?: string;
  /** The text of `stop` that ended it; empty: none is told. */
  readonly stopSequence?: string;
  readonly totalTokens?: number;
  readonly model?: string;
  /** Some warning that holds these words. */
  readonly warning?: string;
  readonly error?: Failure;
}

/** What comes of an image request. */
export interface ImageOutcome {
  readonly seeds?: readonly number[];
  /** Of each image, as `WIDTHxHEIGHT`. */
  readonly sizes?: readonly string[];
  readonly nsfw?: readonly boolean[];
  /** What was made of the prompt of each; empty: nobody tells. */
  readonly revised?: readonly string[];
  readonly warning?: string;
  readonly error?: Failure;
}

/** An error as every door tells it. */
export interface Failure {
  readonly code: ErrorCode;
  /** The fields at fault, or the one parameter. */
  readonly fields?: readonly string[];
  readonly retryAfter?: number;
}

/** A row. Requests are written as in REST; their names are those of the proto. */
export interface Case<Outcome> {
  readonly name: string;
  readonly request: Record<string, unknown>;
  /** Bearer token; `null`: none. Default: one that may do all. */
  readonly token?: string | null;
  readonly expected: Outcome;
  /** What comes of it where a `max_tokens` above the model's cap is cut to that; absent: the same. */
  readonly whereCut?: Outcome;
}

const user = (content: string) => [{ role: "user", content }];
const hello = { messages: user("Hello") };
const answer = { text: "Hello, wörld 🌍", finishReason: "stop", totalTokens: 10, model: "chat-1" };
const wrong = (...fields: string[]) => ({ error: { code: "invalid_fields", fields } }) as const;
const failed = (code: ErrorCode, ...fields: string[]) =>
  ({ error: { code, ...(fields.length > 0 && { fields }) } }) as const;

/** Chat. The model's name says what the scripted backend does. */
export const chatCases: readonly Case<ChatOutcome>[] = [
  { name: "a greeting", request: hello, expected: answer },
  { name: "an empty model name", request: { ...hello, model: "" }, expected: answer },
  { name: "a named model", request: { ...hello, model: "chat-1" }, expected: answer },
  {
    name: "every default said",
    request: {
      ...{ ...hello, model: "", temperature: 0.7, max_tokens: 256, top_p: 1, top_k: -1 },
      ...{ frequency_penalty: 0, presence_penalty: 0, repetition_penalty: 1, min_p: 0 },
      ...{ logprobs: false, top_logprobs: 0, verbosity: "", service_tier: "", logit_bias: {} },
    },
    expected: answer,
  },
  {
    name: "penalties, and how likely the tokens are",
    request: {
      ...{ ...hello, model: "tells", frequency_penalty: 0.5, presence_penalty: -2 },
      ...{ logprobs: true, top_logprobs: 3 },
    },
    expected: { text: "0.5 -2 1 0 true 3", finishReason: "stop" },
  },
  {
    name: "nothing of them",
    request: { ...hello, model: "tells" },
    expected: { text: "0 0 1 0 false 0", finishReason: "stop" },
  },
  {
    name: "every value at its bound",
    request: { ...hello, temperature: 2, max_tokens: 1, top_p: 1e-9, top_k: 0, seed: 4294967295 },
    expected: answer,
  },
  {
    name: "a conversation",
    request: {
      messages: [
        { role: "system", content: "be brief" },
        ...user("a"),
        { role: "assistant", content: "b" },
        ...user("c"),
      ],
    },
    expected: answer,
  },
  { name: "a user of the caller's", request: { ...hello, user: "u-1" }, expected: answer },
  { name: "an empty message", request: { messages: user("") }, expected: answer },
  { name: "an unknown field", request: { ...hello, surprise: { deep: [1] } }, expected: answer },
  {
    name: "a stop at max_tokens",
    request: { ...hello, model: "short" },
    expected: { text: "cut", finishReason: "length" },
  },
  {
    name: "a text of stop that the model server names",
    request: { ...hello, model: "stopped", stop: ["END", '".'] },
    expected: { text: "say", finishReason: "stop", stopSequence: '".' },
  },
  {
    name: "a text that ended it, and that nobody asked for",
    request: { ...hello, model: "stopped", stop: ["END"] },
    expected: { text: "say", finishReason: "stop", stopSequence: "" },
  },
  {
    name: "a text of stop of an answer that was cut",
    request: { ...hello, model: "stopped-short", stop: ["END", '".'] },
    expected: { text: "say", finishReason: "length", stopSequence: "" },
  },
  {
    name: "a model that reports no usage",
    request: { ...hello, model: "uncounted" },
    expected: { text: "hi", finishReason: "stop", totalTokens: 7 },
  },
  {
    name: "a warning that comes at the end",
    request: { ...hello, model: "warned" },
    expected: { text: "warned", finishReason: "stop", warning: "said so at the end" },
  },
  {
    name: "a model that thinks",
    request: { ...hello, model: "thinks" },
    expected: { text: "42", thoughts: "Hm, 6 × 7.", finishReason: "stop", totalTokens: 10 },
  },
  {
    name: "thoughts that nobody wants",
    request: { ...hello, model: "thinks", include_reasoning: false },
    expected: { text: "42", thoughts: "", finishReason: "stop", totalTokens: 10 },
  },
  {
    name: "an effort that does not exist",
    request: { ...hello, reasoning_effort: "huge" },
    expected: wrong("reasoning_effort"),
  },
  {
    name: "a parameter that only tunes, unsupported",
    request: { ...hello, model: "plain", top_k: 5 },
    expected: { text: "plain", finishReason: "stop", warning: "top_k" },
  },
  {
    name: "a parameter that changes the result, unsupported",
    request: { ...hello, model: "plain", stop: ["x"] },
    expected: failed("unsupported_parameter", "stop"),
  },
  {
    name: "a penalty, unsupported",
    request: { ...hello, model: "plain", frequency_penalty: 1 },
    expected: { text: "plain", finishReason: "stop", warning: "frequency_penalty" },
  },
  {
    name: "logprobs, unsupported",
    request: { ...hello, model: "plain", logprobs: true, top_logprobs: 2 },
    expected: failed("unsupported_parameter", "logprobs"),
  },
  {
    name: "top_logprobs without logprobs",
    request: { ...hello, model: "plain", top_logprobs: 2 },
    expected: wrong("top_logprobs"),
  },
  {
    name: "too many top_logprobs, and penalties beyond their bounds",
    request: {
      ...{ ...hello, logprobs: true, top_logprobs: 21 },
      ...{ frequency_penalty: -2.1, presence_penalty: 2.1 },
    },
    expected: wrong("frequency_penalty", "presence_penalty", "top_logprobs"),
  },
  { name: "no messages", request: { messages: [] }, expected: wrong("messages") },
  {
    name: "a role that does not exist",
    request: { messages: [{ role: "king", content: "" }] },
    expected: wrong("messages[0].role"),
  },
  {
    name: "temperature above",
    request: { ...hello, temperature: 2.01 },
    expected: wrong("temperature"),
  },
  {
    name: "temperature below",
    request: { ...hello, temperature: -0.01 },
    expected: wrong("temperature"),
  },
  { name: "top_p of 0", request: { ...hello, top_p: 0 }, expected: wrong("top_p") },
  { name: "top_p above", request: { ...hello, top_p: 1.01 }, expected: wrong("top_p") },
  { name: "top_k below", request: { ...hello, top_k: -2 }, expected: wrong("top_k") },
  { name: "max_tokens of 0", request: { ...hello, max_tokens: 0 }, expected: wrong("max_tokens") },
  {
    name: "max_tokens above the model's cap",
    request: { ...hello, model: "short", max_tokens: 5000 },
    expected: wrong("max_tokens"),
    whereCut: { text: "cut", finishReason: "length", warning: "max_tokens: cut to 100" },
  },
  { name: "seed above", request: { ...hello, seed: 4294967296 }, expected: wrong("seed") },
  {
    name: "all wrong at once",
    request: { messages: [], temperature: 9, top_p: 0, max_tokens: -1 },
    expected: wrong("messages", "temperature", "max_tokens", "top_p"),
  },
  {
    name: "an unknown model",
    request: { ...hello, model: "nope" },
    expected: failed("model_not_found", "model"),
  },
  {
    name: "a model that makes images",
    request: { ...hello, model: "image-1" },
    expected: failed("model_not_found", "model"),
  },
  { name: "no token", request: hello, token: null, expected: failed("invalid_token") },
  {
    name: "a token that is not known",
    request: hello,
    token: "stranger",
    expected: failed("invalid_token"),
  },
  {
    name: "no token, and a wrong field",
    request: { messages: [] },
    token: null,
    expected: failed("invalid_token"),
  },
  {
    name: "a token that may be used elsewhere, and a wrong field",
    request: { messages: [] },
    token: "elsewhere",
    expected: failed("address_not_allowed"),
  },
  {
    name: "a token that may not use the model",
    request: hello,
    token: "limited",
    expected: failed("model_not_allowed", "model"),
  },
  {
    name: "a model server that fails",
    request: { ...hello, model: "broken" },
    expected: failed("upstream_failed"),
  },
  {
    name: "a model server that can't be reached",
    request: { ...hello, model: "unreachable" },
    expected: failed("upstream_unreachable"),
  },
  {
    name: "a model server that is slow",
    request: { ...hello, model: "slow" },
    expected: failed("timeout"),
  },
  {
    name: "a model server at its limit",
    request: { ...hello, model: "busy" },
    expected: { error: { code: "rate_limited", retryAfter: 7 } },
  },
  {
    name: "no model server now",
    request: { ...hello, model: "away" },
    expected: { error: { code: "unavailable", retryAfter: 3 } },
  },
  {
    name: "a model server that refuses the request",
    request: { ...hello, model: "picky" },
    expected: failed("invalid_value"),
  },
  {
    name: "a fault of the gateway's own",
    request: { ...hello, model: "faulty" },
    expected: failed("internal"),
  },
  {
    name: "a failure in mid-stream",
    request: { ...hello, model: "half" },
    expected: { text: "half of ", error: { code: "upstream_failed" } },
  },
];

const painted = { seeds: [7], nsfw: [false], warning: "safety_check" };
const picture = { prompt: "a red circle", seed: 7 };

/** Images. */
export const imageCases: readonly Case<ImageOutcome>[] = [
  { name: "a picture", request: picture, expected: painted },
  { name: "an empty model id", request: { ...picture, model_id: "" }, expected: painted },
  {
    name: "every default said",
    request: {
      ...picture,
      model_id: "",
      loras: "",
      height: 576,
      width: 1024,
      guidance_scale: 7.5,
      negative_prompt: "",
      safety_check: true,
      num_inference_steps: 50,
      num_images_per_prompt: 1,
    },
    expected: painted,
  },
  {
    name: "several images",
    request: { ...picture, num_images_per_prompt: 3 },
    expected: { seeds: [7, 8, 9] },
  },
  {
    name: "several prompts",
    request: { prompt: "a|b", seed: 4294967295, num_images_per_prompt: 2 },
    expected: { seeds: [4294967295, 0, 1, 2] },
  },
  { name: "loras", request: { ...picture, loras: '{"style": 0.5}' }, expected: painted },
  {
    name: "a prompt that the model server made another of",
    request: { ...picture, model_id: "revising", num_images_per_prompt: 2 },
    expected: { seeds: [7, 8], revised: ['a "röd" circle', 'a "röd" circle'] },
  },
  { name: "a prompt that it drew", request: picture, expected: { revised: [""] } },
  {
    name: "no safety check",
    request: { ...picture, safety_check: false },
    expected: { seeds: [7], nsfw: [false] },
  },
  { name: "no prompt", request: {}, expected: wrong("prompt") },
  {
    name: "a blank prompt",
    request: { prompt: " | " },
    expected: failed("invalid_value", "prompt"),
  },
  { name: "too many prompts", request: { prompt: "a|b|c|d|e" }, expected: wrong("prompt") },
  {
    name: "negative prompts that don't match",
    request: { prompt: "a|b|c", negative_prompt: "x|y" },
    expected: failed("invalid_value", "negative_prompt"),
  },
  {
    name: "a width that is no multiple of 8",
    request: { ...picture, width: 100 },
    expected: wrong("width"),
  },
  { name: "a height above", request: { ...picture, height: 2056 }, expected: wrong("height") },
  {
    name: "guidance above",
    request: { ...picture, guidance_scale: 30.5 },
    expected: wrong("guidance_scale"),
  },
  {
    name: "no steps",
    request: { ...picture, num_inference_steps: 0 },
    expected: wrong("num_inference_steps"),
  },
  {
    name: "too many images",
    request: { ...picture, num_images_per_prompt: 9 },
    expected: wrong("num_images_per_prompt"),
  },
  { name: "a seed below", request: { ...picture, seed: -2 }, expected: wrong("seed") },
  {
    name: "loras that are no object",
    request: { ...picture, loras: "[1]" },
    expected: failed("invalid_value", "loras"),
  },
  {
    name: "no size, of a model with one of its own",
    request: { ...picture, model_id: "small" },
    expected: { sizes: ["128x64"] },
  },
  {
    name: "the contract's size, of a model with one of its own",
    request: { ...picture, model_id: "small", width: 1024, height: 576 },
    expected: { sizes: ["128x64"] },
  },
  {
    name: "one side, of a model with a size of its own",
    request: { ...picture, model_id: "small", height: 72 },
    expected: { sizes: ["128x72"] },
  },
  {
    name: "a size with one side as in the contract's",
    request: { ...picture, model_id: "small", width: 1024, height: 64 },
    expected: { sizes: ["1024x64"] },
  },
  {
    name: "a size that the model does not support",
    request: { ...picture, model_id: "fixed", width: 512 },
    expected: failed("unsupported_parameter", "width"),
  },
  {
    name: "guidance that the model does not support",
    request: { ...picture, model_id: "fixed", guidance_scale: 3 },
    expected: { seeds: [7], warning: "guidance_scale" },
  },
  {
    name: "an unknown model",
    request: { ...picture, model_id: "nope" },
    expected: failed("model_not_found", "model_id"),
  },
  {
    name: "a model that chats",
    request: { ...picture, model_id: "chat-1" },
    expected: failed("model_not_found", "model_id"),
  },
  { name: "no token", request: picture, token: null, expected: failed("invalid_token") },
  {
    name: "a token that may not use the model",
    request: picture,
    token: "limited",
    expected: failed("model_not_allowed", "model_id"),
  },
  {
    name: "a model server that fails",
    request: { ...picture, model_id: "no-brush" },
    expected: failed("upstream_failed"),
  },
];
