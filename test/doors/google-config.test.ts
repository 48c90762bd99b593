/** `generationConfig` of Google's Gemini API, and what becomes of it. */
import { describe, expect, test } from "vitest";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { asked, config, hello, path, requestOf } from "./google-request.js";
import { json, serve } from "./serve.js";

describe("generationConfig", () => {
  test("says how to answer", async () => {
    const request = await requestOf(
      config({
        ...{ temperature: 0.5, topP: 0.9, topK: 40, maxOutputTokens: 99, seed: 7 },
        ...{ stopSequences: ["."], candidateCount: 1, responseModalities: ["TEXT"] },
        ...{ presencePenalty: 0.5, frequencyPenalty: -0.5, responseLogprobs: true, logprobs: 3 },
      }),
    );
    expect(request).toMatchObject({
      ...{ model: "chat-1", temperature: 0.5, topP: 0.9, topK: 40, maxTokens: 99, seed: 7n },
      ...{ stop: ["."], includeReasoning: false, reasoningEffort: "" },
      ...{ presencePenalty: 0.5, frequencyPenalty: -0.5, logprobs: true, topLogprobs: 3 },
    });
    expect(request.responseFormat).toBeUndefined();
    const spelled = hello({
      generation_config: { top_k: 3, max_output_tokens: 4, response_logprobs: true, logprobs: "2" },
    });
    expect(await requestOf(spelled)).toMatchObject({
      ...{ topK: 3, maxTokens: 4, logprobs: true, topLogprobs: 2 },
    });
  });

  test("has numbers as texts, too, as protobuf's JSON does", async () => {
    const request = await requestOf(
      config({
        ...{ temperature: "0.5", topP: "9e-1", topK: "40", maxOutputTokens: "1e2", seed: "7" },
        ...{ candidateCount: "1", thinkingConfig: { thinkingBudget: "2048" } },
        ...{ presencePenalty: "0", responseMimeType: "application/json" },
        responseSchema: { type: "NUMBER", minimum: "0.5", maxLength: "3" },
      }),
    );
    expect(request).toMatchObject({
      ...{ temperature: 0.5, topP: 0.9, topK: 40, maxTokens: 100, seed: 7n },
      reasoningEffort: "low",
    });
    expect(JSON.parse(request.responseFormat?.jsonSchema?.schema ?? "")).toEqual({
      ...{ type: "number", minimum: 0.5, maxLength: 3 },
    });
    const spelled = hello({ generation_config: { max_output_tokens: "9" } });
    expect(await requestOf(spelled)).toMatchObject({ maxTokens: 9 });
  });

  test("above the model's cap is cut to it, with a warning", async () => {
    const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { maxTokens: 50 })]);
    const server = await serve(backend);
    const answer = await server.post(path, config({ maxOutputTokens: 65536 }));
    expect((await json(answer)).warnings).toEqual([
      "generationConfig.maxOutputTokens: cut to 50, the most for this model",
    ]);
    expect(backend.asked[0]).toMatchObject({ maxTokens: 50 });
  });

  test.each([
    [{ thinkingBudget: 0 }, "none"],
    [{ thinkingBudget: 2048 }, "low"],
    [{ thinkingBudget: 8192 }, "medium"],
    [{ thinkingBudget: 24576 }, "high"],
    [{ thinkingBudget: -1 }, ""],
    [{ thinkingLevel: "HIGH", thinkingBudget: 0 }, "high"],
    [{ thinking_level: "low" }, "low"],
    [{ thinkingLevel: "THINKING_LEVEL_UNSPECIFIED" }, ""],
  ])("asks by %j for the effort %j", async (thinkingConfig, effort) => {
    expect(await requestOf(config({ thinkingConfig }))).toMatchObject({ reasoningEffort: effort });
  });

  test("asks for thoughts", async () => {
    const request = await requestOf(config({ thinkingConfig: { includeThoughts: true } }));
    expect(request.includeReasoning).toBe(true);
  });

  const schema = {
    ...{ type: "OBJECT", required: ["a"], propertyOrdering: ["a", "b"] },
    properties: {
      a: { type: "STRING", enum: ["x", "y"], nullable: true },
      b: {
        type: "ARRAY",
        minItems: "1",
        items: { anyOf: [{ type: "INTEGER" }, { type: "NULL" }] },
      },
      c: { type: "NUMBER", minimum: 0, nullable: true, description: "so many" },
    },
  };
  const written = {
    type: "object",
    required: ["a"],
    properties: {
      a: { type: ["string", "null"], enum: ["x", "y", null] },
      b: { type: "array", minItems: 1, items: { anyOf: [{ type: "integer" }, { type: "null" }] } },
      c: { type: ["number", "null"], description: "so many", minimum: 0 },
    },
  };

  test.each([
    [{ responseMimeType: "text/plain", responseSchema: schema }, undefined],
    [{ responseMimeType: "application/json" }, { type: "json_object" }],
    [{ responseFormat: [{ text: { mimeType: "APPLICATION_JSON" } }] }, { type: "json_object" }],
    [
      { response_format: { text: { mime_type: "application/json", schema: { type: "array" } } } },
      { type: "array" },
    ],
    [{ responseFormat: { text: { mimeType: "text/plain" } } }, undefined],
    [{ responseMimeType: "application/json", responseSchema: schema }, written],
    [{ response_mime_type: "application/json", response_schema: schema }, written],
    [
      { responseMimeType: "application/json", responseJsonSchema: { type: "array" } },
      { type: "array" },
    ],
  ])("asks for a form of the answer: %#", async (form, expected) => {
    const { responseFormat } = await requestOf(config(form));
    const { type, jsonSchema } = responseFormat ?? {};
    const said = jsonSchema ? JSON.parse(jsonSchema.schema) : type && { type };
    expect(said).toEqual(expected);
  });

  test.each([
    { responseMimeType: "text/x.enum", responseSchema: { type: "STRING", enum: ["yes", "no"] } },
    { response_mime_type: "text/x.enum", response_schema: { enum: ["yes", "no"] } },
    { responseMimeType: "text/x.enum", responseJsonSchema: { enum: ["yes", "no"] } },
    { responseFormat: { text: { mimeType: "text/x.enum", schema: { enum: ["yes", "no"] } } } },
  ])("asks for one of some texts: %j", async (form) => {
    const { responseFormat } = await requestOf(config(form));
    expect(responseFormat).toMatchObject({ type: "choice", choice: ["yes", "no"] });
  });

  /** A schema of a function as the model gets it. */
  async function parametersOf(parameters: object) {
    const functionDeclarations = [{ name: "f", parameters }];
    const { tools } = await requestOf(hello({ tools: [{ functionDeclarations }] }));
    return JSON.parse(tools[0]?.function?.parameters ?? "");
  }

  test("keeps what clients write into schemas besides Google's own", async () => {
    const branch = { type: "OBJECT", properties: { k: { const: "a" } } };
    const theirs = { type: "object", properties: { k: { const: "a" } } };
    const parameters = {
      ...{ type: "object", additional_properties: { type: "INTEGER" }, not: { type: "NULL" } },
      properties: {
        one: { oneOf: [branch, { type: "STRING" }] },
        all: { allOf: [branch], items: [{ type: "STRING" }], uniqueItems: true },
        closed: { type: ["OBJECT", "STRING"], additionalProperties: false },
        there: { ref: "#/defs/D" },
      },
      ...{ defs: { D: branch }, $defs: { E: { $ref: "#/$defs/E" } } },
    };
    expect(await parametersOf(parameters)).toEqual({
      ...{ type: "object", additionalProperties: { type: "integer" }, not: { type: "null" } },
      properties: {
        one: { oneOf: [theirs, { type: "string" }] },
        all: { allOf: [theirs], items: [{ type: "string" }], uniqueItems: true },
        closed: { type: ["object", "string"], additionalProperties: false },
        there: { $ref: "#/$defs/D" },
      },
      $defs: { D: theirs, E: { $ref: "#/$defs/E" } },
    });
  });

  const ofNull = { type: "null" };
  const text = { type: "string" };
  test.each([
    [{ anyOf: [text] }, { anyOf: [text, ofNull] }],
    [{ oneOf: [text] }, { oneOf: [text, ofNull] }],
    [
      { type: "STRING", anyOf: [{ minLength: 1 }] },
      { type: ["string", "null"], anyOf: [{ minLength: 1 }, ofNull] },
    ],
    [{ $ref: "#/$defs/D" }, { anyOf: [{ $ref: "#/$defs/D" }, ofNull] }],
    [{ allOf: [text] }, { anyOf: [{ allOf: [text] }, ofNull] }],
    [{ enum: ["a"] }, { enum: ["a", null] }],
    [{ description: "all" }, { description: "all" }],
    [{ type: ["STRING", "NUMBER"] }, { type: ["string", "number", "null"] }],
  ])("null fits what is nullable: %o", async (one, expected) => {
    const parameters = { type: "OBJECT", properties: { a: { ...one, nullable: true } } };
    expect((await parametersOf(parameters)).properties.a).toEqual(expected);
  });

  test("has schemas of functions likewise", async () => {
    const functionDeclarations = [
      { name: "f", description: "does", parameters: schema, response: {} },
      {
        name: "g",
        parametersJsonSchema: {
          type: "OBJECT",
          properties: { type: { type: ["STRING", "NULL"], default: { type: "OBJECT" } } },
          anyOf: [{ type: "object", additionalProperties: { type: "INTEGER" } }],
          required: ["OBJECT"],
        },
      },
      { name: "h" },
    ];
    const { tools } = await requestOf(hello({ tools: [{ functionDeclarations }] }));
    expect(tools).toMatchObject([
      { function: { name: "f", description: "does" } },
      { function: { name: "g" } },
      { function: { name: "h", parameters: "" } },
    ]);
    expect(JSON.parse(tools[0]?.function?.parameters ?? "")).toEqual(written);
    expect(JSON.parse(tools[1]?.function?.parameters ?? "")).toEqual({
      type: "object",
      properties: { type: { type: ["string", "null"], default: { type: "OBJECT" } } },
      anyOf: [{ type: "object", additionalProperties: { type: "integer" } }],
      required: ["OBJECT"],
    });
  });

  test.each([
    [{ speechConfig: { languageCode: "de-DE" } }, ["speechConfig"]],
    [{ responseLogprobs: false, frequencyPenalty: 0, logprobs: 0 }, []],
    [{ audio_transcription_config: {} }, ["audioTranscriptionConfig"]],
    [{ translationConfig: { targetLanguageCode: "fr" } }, ["translationConfig"]],
  ])("warns of what nobody does: %j", async (more, names) => {
    const said = names.map((name) => `generationConfig.${name}: not supported, ignored`);
    expect((await asked(config(more))).warnings).toEqual(said);
  });
});
