import { RE2JS } from "re2js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import type { ResponseFormat } from "../../gen/lintel/v1/chat_pb.js";
import { createLlamaBackend } from "../../src/backends/llama/index.js";
import { llamaSchema } from "../../src/backends/llama/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { silent } from "../../src/core/log.js";
import type { Served } from "../doors/serve.js";
import { jsonObject, jsonSchema, textForm } from "../support/formats.js";
import { choicesOf, serveFile } from "./llama-gateway.js";
import { answer, backendFor, chatRequest, tiny, trained } from "./llama-subject.js";

/** Schemas, by what they are about. */
const schemas: Record<string, object> = {
  "members, some of which may be missing": {
    type: "object",
    properties: {
      name: { type: "string", maxLength: 5 },
      mood: { enum: ["calm", 'so "so"', 1, null, "é\\"] },
      awake: { type: "boolean" },
    },
    required: ["name"],
    additionalProperties: false,
  },
  "numbers within bounds": {
    type: "object",
    properties: {
      a: { type: "integer", minimum: -17, maximum: 123 },
      b: { type: "number", minimum: 0, maximum: 1 },
      c: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 3 },
      d: { type: "integer", exclusiveMinimum: 950, maximum: 1203 },
      e: { type: "number", minimum: -2.5, maximum: 3.5 },
      f: { type: "integer", maximum: -3, minimum: -1003 },
    },
    required: ["a", "b", "c", "d", "e", "f"],
  },
  "a list": { type: "array", items: { type: "integer" }, minItems: 2, maxItems: 5 },
  "a list of given items": {
    type: "array",
    prefixItems: [{ const: "a" }, { type: "boolean" }],
    items: { type: "null" },
    minItems: 1,
    maxItems: 4,
  },
  "what refers to itself": {
    $ref: "#/$defs/node",
    $defs: {
      node: {
        type: "object",
        properties: {
          on: { type: "boolean" },
          next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
        },
        required: ["on", "next"],
        additionalProperties: false,
      },
    },
  },
  "one of several": {
    oneOf: [
      {
        type: "object",
        properties: { kind: { const: "a" }, count: { type: "integer", minimum: 1, maximum: 5 } },
        required: ["kind", "count"],
      },
      { type: "object", properties: { kind: { const: "b" } }, required: ["kind"] },
    ],
  },
  "further members beside named ones": {
    type: "object",
    properties: { ab: { const: 1 }, abc: { const: 2 } },
    required: ["abc"],
    additionalProperties: { type: "boolean" },
    maxProperties: 4,
  },
  "all of several": {
    allOf: [
      { type: "object", properties: { a: { type: "boolean" } }, required: ["a"] },
      { type: "object", properties: { b: { type: "null" } }, required: ["b"] },
    ],
  },
  "at least one member": {
    type: "object",
    properties: { a: { const: 1 }, b: { const: 2 } },
    minProperties: 1,
    additionalProperties: false,
  },
  "a tree of two kinds of nodes": {
    $ref: "#/$defs/node",
    $defs: {
      node: { anyOf: [{ $ref: "#/$defs/leaf" }, { $ref: "#/$defs/branch" }] },
      leaf: {
        type: "object",
        properties: { kind: { const: "leaf" }, value: { type: "boolean" } },
        required: ["kind", "value"],
      },
      branch: {
        type: "object",
        properties: {
          kind: { const: "branch" },
          children: { type: "array", items: { $ref: "#/$defs/node" }, maxItems: 2 },
        },
        required: ["kind", "children"],
      },
    },
  },
  "a text of a length": { type: "string", minLength: 3, maxLength: 6 },
  "a text or nothing": { type: ["string", "null"], maxLength: 3 },
  "a moment": { type: "string", format: "date-time" },
  "an identifier": { type: "string", format: "uuid" },
  "an address of mail": { type: "string", format: "email" },
  "nothing in it": { type: "object", additionalProperties: false },
  "required, and not described": { type: "object", required: ["any"] },
};

/** What a gateway with the embedded model answers; the texts of a stream as one. */
async function completion(server: Served, stream: boolean): Promise<string> {
  const format = { type: "json_schema", json_schema: { name: "x", schema: schemas["a list"] } };
  const body = { messages: [{ role: "user", content: "Hello" }], response_format: format, stream };
  const choices = await choicesOf(server, body);
  return choices.map(({ delta, message }) => (delta ?? message).content ?? "").join("");
}

/** The value of an answer, if it fits. */
function fitting(schema: object, text: string): unknown {
  const value: unknown = JSON.parse(text);
  z.fromJSONSchema(schema as never).parse(value);
  return value;
}

describe("a model of random weights", () => {
  let backend: Backend;
  beforeAll(() => {
    backend = backendFor(tiny, { context_size: 1024, sequences: 4 });
  });
  afterAll(() => backend.close());
  const ask = (responseFormat: ResponseFormat, more: object = {}) =>
    answer(
      backend,
      chatRequest("hello", { responseFormat, maxTokens: 600, ...more }),
      new AbortController().signal,
    );

  it.each(Object.entries(schemas))("answers with what fits: %s", async (_, schema) => {
    // Hot enough for bytes that are no characters, which a grammar of llama.cpp alone lets through.
    const heats = [0, 1, 2, 5];
    const seeds = [1n, 2n, 3n];
    const asked = heats.flatMap((temperature) => seeds.map((seed) => ({ temperature, seed })));
    const answers = await Promise.all(asked.map((more) => ask(jsonSchema(schema), more)));
    const whole = answers.filter(({ finishReason }) => finishReason === "stop");
    expect(whole.length).toBeGreaterThan(asked.length / 2);
    for (const { text } of whole) {
      fitting(schema, text);
      expect(text).not.toContain("\uFFFD");
    }
    for (const { finishReason } of answers) expect(["stop", "length"]).toContain(finishReason);
  });

  it("answers with some object where that is all that is asked for", async () => {
    const seeds = [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n];
    for (const format of [jsonObject, jsonSchema({}), jsonSchema("")]) {
      const answers = await Promise.all(
        seeds.map((seed) => ask(format, { temperature: 1.5, seed })),
      );
      const whole = answers.filter(({ finishReason }) => finishReason === "stop");
      expect(whole.length).toBeGreaterThan(0);
      for (const { text } of whole) expect(JSON.parse(text)).toBeTypeOf("object");
      for (const { text } of answers) expect(text[0]).toBe("{");
    }
  });

  it("is cut where max_tokens are reached", async () => {
    const schema = { type: "string", minLength: 50 };
    const { text, finishReason, completion } = await ask(jsonSchema(schema), { maxTokens: 20 });
    expect({ finishReason, completion }).toEqual({ finishReason: "length", completion: 20 });
    expect(text).toMatch(/^"/);
    expect(() => JSON.parse(text)).toThrow();
  });

  it("answers as ever to others at the same time, and where the form is text", async () => {
    const words = ["one", "two", "three", "four", "five", "six"];
    const free = (word: string, responseFormat?: ResponseFormat) =>
      answer(backend, chatRequest(word, { maxTokens: 40, responseFormat }));
    const alone: string[] = [];
    for (const word of words) alone.push((await free(word)).text);
    const text = { ...jsonObject, type: "text" };
    const schema = schemas["numbers within bounds"] as object;
    const forms = words.map((_, i) => ask(jsonSchema(schema), { temperature: 2, seed: BigInt(i) }));
    const together = await Promise.all(
      words.map((word, i) => free(word, i % 2 ? text : undefined)),
    );
    expect(together.map((it) => it.text)).toEqual(alone);
    for (const form of await Promise.all(forms)) fitting(schema, form.text);
  });

  it("answers alike whether a grammar is new, known or forgotten", async () => {
    const texts: string[] = [];
    const schema = { type: "array", items: { type: "integer" }, minItems: 3, maxItems: 3 };
    for (let turn = 0; turn < 2; turn++) {
      texts.push((await ask(jsonSchema(schema))).text, (await ask(jsonSchema(schema))).text);
      for (let i = 0; i < 20; i++) {
        expect((await ask(jsonSchema({ const: `no. ${i}` }))).text).toBe(`"no. ${i}"`);
      }
    }
    expect(new Set(texts).size).toBe(1);
  });

  it.each<[string, object, string]>([
    ["an expression", { type: "string", pattern: "^a" }, '"pattern"'],
    ["what is nested", { type: "array", items: { not: {} } }, '"not"'],
    ["conditions", { if: {}, type: "object" }, '"if"'],
    ["different items", { type: "array", uniqueItems: true }, '"uniqueItems"'],
    ["names by an expression", { type: "object", patternProperties: { a: {} } }, '"patternProp'],
    ["multiples", { type: "integer", multipleOf: 5 }, '"multipleOf"'],
    ["formats that are hard", { type: "string", format: "regex" }, 'the format "regex"'],
    ["alternatives that overlap", { oneOf: [{ type: "integer" }, { minimum: 5 }] }, '"oneOf"'],
    ["other documents", { $ref: "https://example.com/a" }, '"$ref" to "https://example.com/a"'],
    ["what is not there", { $ref: "#/$defs/a" }, '"$ref" to "#/$defs/a"'],
    ["endless references", { $ref: "#" }, "parts that refer to each other without end"],
    ["endless parts", { allOf: [{ $ref: "#" }] }, "so many levels"],
    [
      "alternatives that begin alike, without end",
      {
        $ref: "#/$defs/a",
        $defs: {
          a: {
            anyOf: [
              { type: "array", items: { $ref: "#/$defs/a" }, minItems: 1 },
              { type: "array", items: { $ref: "#/$defs/a" }, minItems: 2 },
            ],
          },
        },
      },
      "begin alike",
    ],
    [
      "the same, very deep",
      {
        type: "array",
        // From the innermost on.
        prefixItems: Array.from({ length: 21 }, (_, i) => ({ $ref: `#/$defs/d${20 - i}` })),
        $defs: Object.fromEntries(
          Array.from({ length: 21 }, (_, i) => {
            const items = i === 20 ? { type: "null" } : { $ref: `#/$defs/d${i + 1}` };
            const both = [1, 2].map((minItems) => ({ type: "array", items, minItems }));
            return [`d${i}`, { anyOf: both }];
          }),
        ),
      },
      "begin alike",
    ],
    ["a type that there is not", { type: "date" }, 'the type "date"'],
    ["what nothing fits", { type: "string", enum: [1] }, "a part that nothing fits"],
    ["narrow bounds", { type: "number", minimum: 0.1, maximum: 0.2 }, "bounds of numbers"],
    ["too much", { type: "string", minLength: 1e9 }, "a length of at least"],
    [
      "many long texts",
      { type: "array", prefixItems: Array(20).fill({ type: "string", maxLength: 9000 }) },
      "so many bounds of lengths",
    ],
    [
      "thousands of names",
      { enum: Array.from({ length: 60_000 }, (_, i) => `name ${i}`) },
      "so many parts",
    ],
  ])("refuses %s, and says what it does not do", async (_, schema, why) => {
    await expect(ask(jsonSchema(schema))).rejects.toMatchObject({
      code: "unsupported_parameter",
      param: "response_format",
      message: expect.stringContaining(why),
    });
  });

  it("says that it does forms", () => {
    const config = llamaSchema.parse({ type: "llama", name: "x", path: tiny, load: "lazy" });
    const [model] = createLlamaBackend(config, { log: silent }).models();
    expect(model?.supports).toEqual(expect.arrayContaining(["response_format", "choice", "regex"]));
    // Some of a stranger's bring the engine to a halt.
    expect(model?.supports).not.toContain("grammar");
  });

  it.each([
    ["of some texts", textForm("choice", ["yes", 'a "no"', "line\nline", "\\"])],
    ["of one", textForm("choice", ["ab"])],
  ])("answers with one %s", async (_, form) => {
    for (const seed of [1n, 2n, 3n]) {
      const { text } = await ask(form, { seed, temperature: 2 });
      expect(form.choice).toContain(text);
    }
  });

  it.each(["[0-9]{4}-[0-9]{2}", "(?i)yes|no", "(?:ab|[^\\x00-\\x{ffff}])+"])(
    "answers with what matches %s",
    async (expression) => {
      for (const seed of [1n, 2n, 3n]) {
        const { text } = await ask(textForm("regex", expression), { seed, maxTokens: 200 });
        // Of what may go on for ever a part may be cut.
        expect(RE2JS.compile(`^(?:${expression})`).matcher(text).find()).toBe(true);
      }
    },
  );

  it.each([
    [textForm("regex", "\\ba"), "unsupported_parameter", "held to a regex with bounds of words"],
    [textForm("choice", ["a", "b\0"]), "unsupported_parameter", "held to a choice with U+0000"],
    [textForm("regex", "["), "invalid_fields", "must be a regular expression in RE2's syntax"],
    [
      textForm(
        "choice",
        Array.from({ length: 1024 }, (_, i) => `${i}`.repeat(100)),
      ),
      "unsupported_parameter",
      "held to a choice with so many parts",
    ],
  ])("refuses what no grammar says", async (form, code, why) => {
    await expect(ask(form)).rejects.toMatchObject({
      ...{ code, param: `response_format.${form.type}` },
      message: expect.stringContaining(why),
    });
  });
});

describe("the embedded model", () => {
  let backend: Backend;
  beforeAll(() => {
    backend = backendFor(trained);
  });
  afterAll(() => backend.close());

  it("answers in forms, several at once, beside answers in words", async () => {
    const chosen = ["numbers within bounds", "a list", "one of several", "what refers to itself"];
    const words = answer(backend, chatRequest("Hello", { maxTokens: 200 }));
    const forms = chosen.map(async (name) => {
      const schema = schemas[name] as object;
      const request = { responseFormat: jsonSchema(schema), maxTokens: 400 };
      const { text, finishReason } = await answer(backend, chatRequest("What is 2 + 2?", request));
      expect(finishReason).toBe("stop");
      return fitting(schema, text);
    });
    expect(await Promise.all(forms)).toHaveLength(chosen.length);
    expect((await words).text).toMatch(/^[A-Z][ -~]+[.!?]$/);
  });

  it("does so through a gateway, whole and in a stream, in a process of its own", async () => {
    const server = await serveFile(trained);
    for (const stream of [false, true]) {
      fitting(schemas["a list"] as object, await completion(server, stream));
    }
  });
});
