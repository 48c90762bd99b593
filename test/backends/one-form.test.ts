/** Models that answer in one form only, and callers who want the other. */
import { describe, expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { optionalFields } from "../../src/backends/completions/refusals/asking.js";
import { streams, wholeAnswers } from "../../src/backends/completions/refusals/one-form.js";
import { refusedField } from "../../src/backends/completions/refusals/refusal.js";
import { chatted, thrownBy } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script, Upstream } from "./upstream.js";

const verify =
  "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.";
const onlyFalse =
  "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported.";
const onlyStreams =
  "This model only support stream mode, please enable the stream parameter to access the model. ";

/** Refuses one of the forms, and answers in the other. */
const refusing =
  (form: boolean, message: string): Script =>
  async (exchange) => {
    const { stream } = exchange.json();
    if (stream !== form) return echo(exchange);
    const error = { message, type: "invalid_request_error", param: "stream", code: "x" };
    await exchange.sendJson(400, { error });
  };

const forms = ({ requests }: Upstream) =>
  requests.map(({ body }) => JSON.parse(String(body))).map(({ stream }) => stream);

describe("a model that does not stream", () => {
  it.each([verify, onlyFalse])(
    "is asked for a whole answer, and that is what comes: %s",
    async (message) => {
      const server = await serve(refusing(true, message));
      const backend = opened(backendFor(server.url));
      for (const _ of [1, 2]) {
        const { text, last, warnings } = await chatted(backend);
        expect(text.trim()).toBe("you said hello");
        expect(last?.choices[0]).toMatchObject({ finishReason: "stop", delta: { content: "" } });
        expect(last?.usage?.totalTokens).toBe(6);
        expect(warnings).toEqual([]);
      }
      expect(forms(server)).toEqual([true, false, false]);
      for (const { body } of server.requests.slice(1)) {
        expect(JSON.parse(String(body))).not.toHaveProperty("stream_options");
      }
    },
  );
});

it("a model that only streams is asked for a stream, which whole answers are made of", async () => {
  const server = await serve(refusing(false, onlyStreams));
  const backend = opened(backendFor(server.url));
  for (const _ of [1, 2]) {
    const messages: LLMResponse[] = [];
    const call = callOf("complete", chatRequest());
    for await (const step of backend.handlers.complete?.(call) ?? []) messages.push(...step);
    expect(messages).toMatchObject([
      { choices: [{ finishReason: "stop", message: {} }], usage: { totalTokens: 6 } },
    ]);
    expect(messages[0]?.choices[0]?.message?.content.trim()).toBe("you said hello");
  }
  expect(forms(server)).toEqual([false, true, true]);
  await chatted(backend);
  expect(forms(server).at(-1)).toBe(true);
});

it("a refusal of both forms is told, and nothing is remembered of it", async () => {
  const server = await serve((exchange) =>
    exchange.sendJson(400, { error: { message: onlyFalse } }),
  );
  const backend = opened(backendFor(server.url));
  for (const _ of [1, 2]) {
    expect(await thrownBy(chatted(backend))).toMatchObject({ code: "invalid_value" });
  }
  expect(forms(server)).toEqual([true, false, true, false]);
});

it.each([
  ["`stream` is not supported for this model", streams],
  ["This model does not support streaming.", streams],
  ["stream_options is only allowed when stream is enabled", "stream_options"],
  ["the stream of consciousness in messages[0] is too long", undefined],
  [onlyStreams, undefined],
])("of streams: %s", (message, field) => {
  const body = JSON.stringify({ error: { message } });
  expect(refusedField(400, body, [...optionalFields, streams])).toBe(field);
  expect(refusedField(500, body, [...optionalFields, streams])).toBeUndefined();
});

it("of whole answers only the words for them", () => {
  const fields = [...optionalFields, wholeAnswers];
  for (const message of [verify, onlyFalse]) {
    expect(refusedField(400, JSON.stringify({ error: { message } }), fields)).toBeUndefined();
  }
});
