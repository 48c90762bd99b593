/** Messages of a gRPC stream: the shorter way to their bytes ends where the library's does. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LLMResponseSchema } from "../../gen/lintel/v1/chat_pb.js";
import { ListModelsResponseSchema } from "../../gen/lintel/v1/models_pb.js";
import { envelopesOf } from "../../src/doors/rpc/edge/envelopes.js";

type Init = MessageInitShape<typeof LLMResponseSchema>;

const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

const piece = (content: string, more: Init = {}) =>
  create(LLMResponseSchema, {
    id: "chatcmpl-1",
    model: "tiny",
    created: 1_763_000_000,
    choices: [{ delta: { role: "assistant", content } }],
    ...more,
  });

/** As gRPC has it: not compressed, four bytes of length, the message. */
function plainly(messages: readonly ReturnType<typeof piece>[]): Buffer {
  const parts = messages.flatMap((message) => {
    const bytes = toBinary(LLMResponseSchema, message);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(bytes.length, 1);
    return [prefix, bytes];
  });
  return Buffer.concat(parts);
}

const delta = { role: "assistant", content: "b" };
const streams: Record<string, ReturnType<typeof piece>[]> = {
  "pieces of ASCII": [piece("Hello"), piece(", "), piece("world")],
  "other scripts": [piece("é"), piece("漢字"), piece("👩‍👩‍👧 \ud800 alone"), piece("\u0000")],
  "lengths about the steps of a varint": [
    0, 1, 40, 100, 113, 115, 117, 120, 122, 126, 127, 128, 200, 16_360, 16_383, 16_384, 40_000,
  ].flatMap((length) => [piece("x".repeat(length)), piece("é".repeat(length))]),
  "a last message": [
    piece("a"),
    piece("", {
      choices: [{ finishReason: "stop", delta: { role: "assistant" } }],
      usage: { promptTokens: 3, completionTokens: 300, totalTokens: 303 },
      warnings: ["seed: not supported by this model, ignored"],
      usageEstimated: true,
    }),
  ],
  "messages that are no pieces": [
    piece("a", { choices: [] }),
    piece("a", { choices: [{ delta }, { index: 1, delta }] }),
    piece("a", { choices: [{ index: 2, delta }] }),
    piece("a", { choices: [{ finishReason: "length", delta }] }),
    piece("a", { choices: [{ message: delta }] }),
    piece("a", { choices: [{ delta, message: delta }] }),
    piece("a", { choices: [{}] }),
  ],
  "pieces that differ in more than the text": [
    piece("a"),
    piece("b", { id: "chatcmpl-2" }),
    piece("b", { model: "other" }),
    piece("b", { created: 5 }),
    piece("b", { usage }),
    piece("b", { warnings: ["w"] }),
    piece("b", { usageEstimated: true }),
    piece("b", { choices: [{ delta: { ...delta, role: "tool" } }] }),
    piece("b", { choices: [{ delta: { ...delta, toolCalls: [{ id: "a" }] } }] }),
    piece("b", { choices: [{ delta: { ...delta, toolCallId: "a" } }] }),
    piece("b", { choices: [{ delta: { ...delta, parts: [{ type: "text" }] } }] }),
    piece("c"),
  ],
  "fields that nobody knows": [
    piece("a"),
    Object.assign(piece("b"), {
      $unknown: [{ no: 77, wireType: 2, data: new Uint8Array([1, 65]) }],
    }),
    piece("c"),
  ],
};

describe("envelopes", () => {
  for (const [name, messages] of Object.entries(streams)) {
    it(`${name}: as the library encodes them`, () => {
      const together = envelopesOf(LLMResponseSchema);
      expect(together(messages).equals(plainly(messages))).toBe(true);
      // Each batch begins with what the ones before have taught.
      const alone = envelopesOf(LLMResponseSchema);
      for (const message of [...messages, ...messages]) {
        expect(alone([message]).equals(plainly([message]))).toBe(true);
      }
    });
  }

  it("one usage for all pieces, as the core has it", () => {
    const shared = piece("a", { usage }).usage;
    const messages = ["a", "bc", "d"].map((text) => {
      const message = piece(text);
      if (shared) message.usage = shared;
      return message;
    });
    expect(envelopesOf(LLMResponseSchema)(messages).equals(plainly(messages))).toBe(true);
  });

  it("messages of other types, and none at all", () => {
    const models = create(ListModelsResponseSchema, { models: [{ id: "tiny" }] });
    const bytes = toBinary(ListModelsResponseSchema, models);
    const envelopes = envelopesOf(ListModelsResponseSchema);
    expect(envelopes([models]).subarray(5).equals(bytes)).toBe(true);
    expect(envelopes([]).length).toBe(0);
  });
});
