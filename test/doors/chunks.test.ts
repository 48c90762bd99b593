import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { tokenUsage } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { type ChunkForm, chunkEncoder } from "../../src/doors/json/chunks.js";
import type { EventEncoder } from "../../src/doors/json/sse.js";
import { piece } from "../support/scripted.js";
import { eventsOf } from "./serve.js";

const forms: [string, ChunkForm][] = [
  ["the contract's", { fullDelta: true, usage: "every" }],
  ["the contract's, usage asked for", { fullDelta: true, usage: "extra" }],
  ["OpenAI's", { fullDelta: false, usage: "none" }],
];
const model = 'a "model"';

describe.each(forms)("chunks in the form: %s", (_name, form) => {
  const encode = (text: string) => eventsOf(text).map((event) => JSON.parse(event));
  /** What an encoder makes of messages; how long it says that it is has to be true. */
  const messages = (encoder: EventEncoder<"chat">, batch: LLMResponse[]) => {
    let all = "";
    const add = (events: string, bytes?: number) => {
      if (bytes !== undefined) expect(bytes).toBe(Buffer.byteLength(events));
      all += events;
    };
    encoder.messages(batch, { add });
    return all;
  };

  test("content that comes with the reason is a chunk of its own, the last one is empty", () => {
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    const all = encode(messages(encoder, [piece("Hi"), piece(" there", "length", [1, 2])]));
    expect(all.map((c) => c.choices[0].delta.content ?? "")).toEqual(["Hi", " there", ""]);
    expect(all.map((c) => c.choices[0].finish_reason)).toEqual([null, null, "length"]);
  });

  test("without text the last chunk is the first one, which says the role", () => {
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    const [chunk, ...more] = encode(messages(encoder, [piece("", "stop", [1, 0])]));
    expect(more).toEqual([]);
    expect(chunk.choices[0].delta).toEqual({ role: "assistant", content: "" });
  });

  test("any text survives", () => {
    const text = '"\\\u0000\u0085\u2028\u2029\n\n data: x\r\n😀\ud800';
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    const [chunk] = encode(messages(encoder, [piece(text)]));
    expect(chunk.choices[0].delta.content).toBe(text);
  });

  test("of letters outside of ASCII the bytes are counted, also where a model has them", () => {
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    const said = ["plain", "Grüße", "~\u007f", "plain"];
    const batch = said.map((text) => ({ ...piece(text), model: "Modell für alle" }));
    const all = encode(messages(encoder, batch));
    expect(all.map(({ choices }) => choices[0].delta.content)).toEqual(said);
  });

  test("no chunk has a `message`, every one has exactly one choice", () => {
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    const all = encode(messages(encoder, [piece("Hi"), piece("", "stop", [1, 2])]));
    for (const { choices } of all) {
      expect(choices).toHaveLength(1);
      expect(choices[0]).not.toHaveProperty("message");
    }
  });

  test("counts that come ahead of the end are told there, and as what they are", () => {
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    const counted = {
      ...piece("Hi", "", [1, 2]),
      usageEstimated: true,
      usage: { ...tokenUsage(1, 2), cacheWriteTokens: 1, cacheWrite1hTokens: 1 },
    };
    const all = encode(messages(encoder, [counted, piece("", "stop")]) + encoder.end());
    const { usage, usage_estimated } = all.at(-1);
    if (form.usage === "none")
      return expect([usage, usage_estimated]).toEqual([undefined, undefined]);
    const prompt_tokens_details = { cache_write_tokens: 1, cache_write_1h_tokens: 1 };
    const told = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, prompt_tokens_details };
    expect([usage, usage_estimated]).toEqual([told, true]);
  });

  test("of nothing there are no counts", () => {
    expect(chunkEncoder(form, { model, counts: {} }, "").end()).toBe("");
  });

  test("messages without a choice make no chunk", () => {
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    expect(messages(encoder, [{ ...piece("Hi"), choices: [] }])).toBe("");
  });

  test("a failure before any message is whole", () => {
    const encoder = chunkEncoder(form, { model, counts: {} }, "");
    const [chunk] = encode(encoder.failure(new LintelError("timeout", 'too "slow"')));
    const error = { message: 'too "slow"', type: "timeout_error", param: null, code: "timeout" };
    if (!form.fullDelta) return expect(chunk).toEqual({ error });
    expect(chunk).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-[\w-]{24}$/),
      model,
      object: "chat.completion.chunk",
      created: expect.any(Number),
      choices: [{ index: 0, finish_reason: "error" }],
      error,
    });
  });
});
