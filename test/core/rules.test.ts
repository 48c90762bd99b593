import { create, createRegistry } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import { multiple_of } from "../../gen/lintel/v1/rules_pb.js";
import type { Violation } from "../../src/core/errors.js";
import { compileRules } from "../../src/core/rules.js";

const validator = createValidator({ registry: createRegistry(multiple_of) });
const chat = { messages: [{ role: "user", content: "hi" }] };
const image = { prompt: "a cat" };

/** Values at, just inside and just outside of every bound of the proto. */
const numbers = [
  -1e12,
  -2,
  -1,
  -0.5,
  0,
  1e-9,
  0.5,
  1,
  2,
  2.0001,
  8,
  30,
  30.5,
  150,
  151,
  Number.NaN,
];
const integers = [-5, -2, -1, 0, 1, 8, 9, 56, 63, 64, 65, 72, 150, 151, 2048, 2056];
const users = ["", "u-1", "ü 🌍", "a".repeat(256), "🌍".repeat(256), "🌍".repeat(257)];
const wrongUsers = [
  "a".repeat(257),
  "a".repeat(600),
  "a\nb",
  "a\n",
  "\0",
  "\x7f",
  "\x85",
  "\u2028",
];
const biases = [
  {},
  { 0: -100, 2147483647: 100 },
  { 5: -100.5 },
  { 5: 100.01, 6: 0, 7: Number.NaN },
  { [-1]: 1 },
  { [-1]: 101 },
];
const seeds = [-2n, -1n, 0n, 42n, 4294967295n, 4294967296n];

describe("the compiled rules and protovalidate give the same verdict", () => {
  const cases = [
    ...["temperature", "topP"].flatMap((key) =>
      numbers.map((v) => [LLMRequestSchema, chat, { [key]: v }] as const),
    ),
    ...["maxTokens", "topK"].flatMap((key) =>
      integers.map((v) => [LLMRequestSchema, chat, { [key]: v }] as const),
    ),
    ...seeds.map((seed) => [LLMRequestSchema, chat, { seed }] as const),
    ...[[], ["a"], ["a", ""], ["a", "b", "c", "d", "e"]].map(
      (stop) => [LLMRequestSchema, chat, { stop }] as const,
    ),
    ...[[], [{ role: "king" }], [{ role: "" }], [{ role: "tool" }, { role: "x" }]].map(
      (messages) => [LLMRequestSchema, chat, { messages }] as const,
    ),
    ...["width", "height", "numInferenceSteps", "numImagesPerPrompt"].flatMap((key) =>
      integers.map((v) => [TextToImageRequestSchema, image, { [key]: v }] as const),
    ),
    ...numbers.map((v) => [TextToImageRequestSchema, image, { guidanceScale: v }] as const),
    ...seeds.map((seed) => [TextToImageRequestSchema, image, { seed }] as const),
    ...[...users, ...wrongUsers].flatMap((user) => [
      [LLMRequestSchema, chat, { user }] as const,
      [TextToImageRequestSchema, image, { user }] as const,
    ]),
    ...biases.map((logitBias) => [LLMRequestSchema, chat, { logitBias }] as const),
    [
      LLMRequestSchema,
      chat,
      { logitBias: Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 1])) },
    ] as const,
    [TextToImageRequestSchema, image, { prompt: undefined }] as const,
    [TextToImageRequestSchema, image, { prompt: "" }] as const,
  ];
  it.each(cases.map(([schema, base, change]) => ({ schema, base, change })))(
    "$schema.name $change",
    ({ schema, base, change }) => {
      // biome-ignore lint/suspicious/noExplicitAny: one table for both schemas
      const message = create(schema as any, { ...base, ...change } as any);
      const found: Violation[] = [];
      compileRules(schema, {})(message, "", found);
      const reference = validator.validate(schema, message as never);
      if (reference.kind === "error") throw reference.error;
      expect(found.length > 0).toBe(reference.kind === "invalid");
      if (reference.kind !== "invalid") return;
      const paths = reference.violations.map((v) =>
        v.field
          .map((f) => {
            if ("name" in f) return f.name;
            return f.kind === "list_sub" ? f.index : f.kind === "map_sub" ? f.key : "";
          })
          .join("."),
      );
      expect(found.map((v) => v.field.replace(/\["?(-?\d+)"?\]/g, ".$1")).sort()).toEqual(
        [...new Set(paths)].sort(),
      );
    },
  );
});

describe("an operator's bounds replace the contract's", () => {
  const violations = (bounds: Parameters<typeof compileRules>[1], change: object) => {
    const found: Violation[] = [];
    compileRules(LLMRequestSchema, bounds)(
      create(LLMRequestSchema, { ...chat, ...change }),
      "",
      found,
    );
    return found;
  };
  it("upwards and downwards, and says what is allowed", () => {
    expect(violations({ temperature: { max: 5 } }, { temperature: 4 })).toEqual([]);
    expect(violations({ temperature: { max: 1 } }, { temperature: 1.5 })).toEqual([
      { field: "temperature", message: "must be from 0 to 1" },
    ]);
    expect(violations({ top_p: { min: 0 } }, { topP: 0 })).toEqual([]);
    // A default counts as not set: real clients send every one of them.
    expect(violations({ max_tokens: { max: 100 } }, { maxTokens: 256 })).toEqual([]);
    expect(violations({ max_tokens: { max: 100 } }, { maxTokens: 257 })).toHaveLength(1);
    expect(
      violations({ messages: { max: 1 } }, { messages: [chat.messages[0], chat.messages[0]] }),
    ).toEqual([{ field: "messages", message: "number of items must be from 1 to 1" }]);
    const logitBias = { 5: 1, 6: 101, [-7]: 1 };
    expect(violations({ logit_bias: { max: 2 } }, { logitBias })).toEqual([
      { field: "logit_bias", message: "number of items must be at most 2" },
      { field: 'logit_bias["6"]', message: "must be from -100 to 100" },
      { field: 'logit_bias["-7"]', message: "its key must be at least 0" },
    ]);
  });
});

it("names what is allowed", () => {
  const found: Violation[] = [];
  compileRules(TextToImageRequestSchema, {})(
    create(TextToImageRequestSchema, {
      ...{ width: 100, guidanceScale: 31, numInferenceSteps: 0, user: "a\tb" },
    }),
    "",
    found,
  );
  expect(found).toEqual([
    { field: "prompt", message: "is required" },
    { field: "width", message: "must be a multiple of 8 from 64 to 2048" },
    { field: "guidance_scale", message: "must be from 0 to 30" },
    { field: "num_inference_steps", message: "must be from 1 to 150" },
    { field: "user", message: "must be of at most 256 characters, without control characters" },
  ]);
});
