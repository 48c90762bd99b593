import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import { compileDecoder } from "../../src/doors/json/decode.js";
import { say } from "../support/messages.js";

const chat = compileDecoder(LLMRequestSchema);
const image = compileDecoder(TextToImageRequestSchema);
const fields = (json: string) => chat(JSON.parse(json)).violations.map((v) => v.field);

describe("JSON to messages", () => {
  test("an empty object is the message that `create` makes", () => {
    expect(chat({})).toEqual({ message: { ...create(LLMRequestSchema) }, violations: [] });
    const { message } = image({});
    expect({ ...message }).toEqual({ ...create(TextToImageRequestSchema) });
    expect(message.prompt).toBeUndefined();
  });

  test("half of a character is told as what stands for such, also in JSON that is a text", () => {
    const { message } = chat({
      messages: [{ role: "user", content: "a\ud800" }],
      tools: [{ type: "function", function: { name: "f", parameters: '{"a":"\ud800"}' } }],
    });
    expect(message.messages[0]?.content).toBe("a\ufffd");
    expect(message.tools[0]?.function?.parameters).toBe('{"a":"\ufffd"}');
  });

  test("every field arrives under its generated name", () => {
    const { message, violations } = chat({
      messages: [{ role: "user", content: "Hello" }, { role: "assistant" }],
      model: "m",
      temperature: 0,
      max_tokens: 5.0,
      top_p: 0.5,
      top_k: -1,
      seed: 4294967295,
      stop: ["a", "b"],
    });
    expect(violations).toEqual([]);
    const expected = create(LLMRequestSchema, {
      messages: [{ role: "user", content: "Hello" }, { role: "assistant" }],
      model: "m",
      temperature: 0,
      maxTokens: 5,
      topP: 0.5,
      topK: -1,
      seed: 4294967295n,
      stop: ["a", "b"],
    });
    expect(toBinary(LLMRequestSchema, message)).toEqual(toBinary(LLMRequestSchema, expected));
  });

  test("a map of numbers has its keys as texts, and each once", () => {
    const { message, violations } = chat({ logit_bias: { "50256": -100, "0": 2.5 } });
    expect(violations).toEqual([]);
    expect(message.logitBias).toEqual({ 50256: -100, 0: 2.5 });
    const key = "its key must be an integer from 0 to 2147483647";
    const long = "x".repeat(200);
    const wrong = { "05": 1, "1.5": 1, "": 1, "2147483648": 1, [long]: 1, "7": "8", "-0": 1 };
    const told = chat({ logit_bias: wrong }).violations;
    expect(new Map(told.map((v) => [v.field, v.message]))).toEqual(
      new Map([
        ...["05", "1.5", "", "2147483648", `${"x".repeat(61)}…`, "-0"].map(
          (name) => [`logit_bias["${name}"]`, key] as const,
        ),
        ['logit_bias["7"]', "must be a finite number"] as const,
      ]),
    );
    for (const none of [[[50256, -100]], "", 5, [], true]) {
      expect(chat({ logit_bias: none as never }).violations).toEqual([
        { field: "logit_bias", message: "must be an object" },
      ]);
    }
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]));
    expect(chat({ logit_bias: many(10_001) }).violations).toEqual([
      { field: "logit_bias", message: "number of items must be at most 10000" },
    ]);
    // Of what is wrong throughout the first are named.
    expect(chat({ logit_bias: many(9000) }).violations).toHaveLength(9);
  });

  test("what is beyond every number of a picture is told as any number that it does not take", () => {
    const { violations } = image({ width: 1e300, seed: -1e300, num_inference_steps: 2 ** 40 });
    expect(violations).toEqual([
      { field: "width", message: "must be a multiple of 8 from 64 to 2048" },
      { field: "seed", message: "must be from -1 to 4294967295" },
      { field: "num_inference_steps", message: "must be from 1 to 150" },
    ]);
  });

  test.each([
    ["messages", "5", "must be an array"],
    ["messages", "{}", "must be an array"],
    ["messages", '"Hello"', "must be an array"],
    ["model", "5", "must be a string"],
    ["model", "{}", "must be a string"],
    ["temperature", '"0.7"', "must be a finite number"],
    ["temperature", "1e400", "must be a finite number"],
    ["temperature", "-1e400", "must be a finite number"],
    ["temperature", "true", "must be a finite number"],
    ["max_tokens", "5.5", "must be an integer"],
    ["max_tokens", '"5"', "must be an integer"],
    ["max_tokens", "1e400", "must be an integer"],
    ["max_tokens", "[5]", "must be an integer"],
    ["max_tokens", "2147483648", "must be from 1 to 2147483647"],
    ["max_tokens", "1e300", "must be from 1 to 2147483647"],
    ["top_k", "-2147483649", "must be from -1 to 2147483647"],
    ["seed", "0.5", "must be an integer"],
    ["seed", "9007199254740993", "must be from -1 to 4294967295"],
    ["seed", "1e30", "must be from -1 to 4294967295"],
    ["stop", "5", "must be an array of strings, or a string"],
  ])("%s: %s is refused", (field, value, message) => {
    const { violations, message: decoded } = chat(JSON.parse(`{"${field}":${value}}`));
    expect(violations).toEqual([{ field, message }]);
    expect({ ...decoded }).toEqual({ ...create(LLMRequestSchema) });
  });

  test("the ends of what a field takes are in it", () => {
    for (const json of ['{"max_tokens":2147483647,"top_k":-1}', '{"max_tokens":1,"seed":-1}']) {
      expect(fields(json)).toEqual([]);
    }
  });

  test("all that is wrong is reported, with its place", () => {
    expect(
      fields(
        '{"messages":[{"role":"user"},5,{"role":1,"content":5},null,[]],"stop":["a",1],"top_p":"x","seed":[]}',
      ),
    ).toEqual([
      "messages[1]",
      "messages[2].role",
      "messages[2].content",
      "messages[3]",
      "messages[4]",
      "top_p",
      "seed",
      "stop[1]",
    ]);
  });

  test("null is not set", () => {
    const json =
      '{"messages":[{"role":null,"content":null}],"model":null,"temperature":null,"seed":null,"stop":null}';
    expect(fields(json)).toEqual([]);
  });

  test("a string is a list of strings with it alone", () => {
    expect(chat({ stop: "end" })).toMatchObject({ message: { stop: ["end"] }, violations: [] });
    expect(fields('{"messages":"Hello"}')).toEqual(["messages"]);
  });

  test("-0 is 0", () => {
    const { message } = chat(JSON.parse('{"top_k":-0,"seed":-0}'));
    expect(Object.is(message.topK, 0)).toBe(true);
    expect(message.seed).toBe(0n);
  });

  test("unknown fields are neither looked at nor copied, `__proto__` least of all", () => {
    const { message, violations } = chat(
      JSON.parse(
        '{"__proto__":{"model":"evil","temperature":"x"},"constructor":1,"maxTokens":"camel","messages":[{"role":"user","__proto__":{"content":"evil"},"toString":1}]}',
      ),
    );
    expect(violations).toEqual([]);
    expect(message).toEqual({
      ...create(LLMRequestSchema),
      messages: [say("user", "")],
    });
    expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).model).toBeUndefined();
  });

  test("deep nesting is a wrong type like any other", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(fields(`{"messages":${deep},"model":${deep},"x":${deep}}`)).toEqual([
      "messages[0]",
      "model",
    ]);
  });

  test("lone surrogates become the replacement character, as in protobuf", () => {
    const { message } = chat(JSON.parse('{"model":"a\\ud800b\\udc00","stop":["\\ud83d\\ude00"]}'));
    expect(message.model).toBe("a\ufffdb\ufffd");
    expect(message.stop).toEqual(["😀"]);
  });

  test("a field that may be embedded JSON is written out", () => {
    const { message, violations } = image(JSON.parse('{"loras":{"a/b":0.5},"prompt":"x"}'));
    expect(violations).toEqual([]);
    expect(message.loras).toBe('{"a/b":0.5}');
    expect(image({ loras: '{"a":1}' }).message.loras).toBe('{"a":1}');
    expect(image({ loras: null }).message.loras).toBe("");
    expect(image({ loras: [1] }).message.loras).toBe("[1]");
  });

  test("bools are bools", () => {
    expect(image({ safety_check: "true" }).violations).toEqual([
      { field: "safety_check", message: "must be true or false" },
    ]);
    expect(image({ safety_check: false }).message.safetyCheck).toBe(false);
  });
});
