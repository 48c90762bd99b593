/** Requests of Google's Gemini API, and what becomes of them. */
import { describe, expect, test } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { filePart, imagePart, say, soundPart, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { asked as askedAt } from "./asked.js";
import { codeIn, json, serve } from "./serve.js";

const path = "/v1beta/models/chat-1:generateContent";
const text = (said: string) => ({ text: said });
const user = (...parts: object[]) => ({ role: "user", parts });
const model = (...parts: object[]) => ({ role: "model", parts });
const ask = (...contents: object[]) => ({ contents });
const hello = (more: object = {}) => ({ ...ask(user(text("Hello"))), ...more });
const config = (generationConfig: object) => hello({ generationConfig });

/** What a backend is asked. */
const asked = (body: object) => askedAt(path, body);

const messagesOf = async (body: object) => (await asked(body)).request.messages;
const requestOf = async (body: object) => (await asked(body)).request;

describe("contents", () => {
  test("are texts in parts, behind what the model is told before anything else", async () => {
    const body = {
      ...ask({ parts: [text("a"), text("b")] }, model(text("c")), user(text("d"))),
      systemInstruction: { role: "user", parts: [text("Be brief. "), text("Be kind.")] },
    };
    const expected = [
      say("system", "Be brief. Be kind."),
      say("user", "ab"),
      say("assistant", "c"),
      say("user", "d"),
    ];
    expect(await messagesOf(body)).toEqual(expected);
    const { systemInstruction, ...rest } = body;
    expect(await messagesOf({ ...rest, system_instruction: systemInstruction })).toEqual(expected);
    expect((await messagesOf({ ...rest, systemInstruction: "Be brief." }))[0]).toEqual(
      say("system", "Be brief."),
    );
    expect(await messagesOf({ ...rest, systemInstruction: { parts: [] } })).toEqual(
      expected.slice(1),
    );
    expect(await messagesOf(ask({ parts: text("a") }))).toEqual([say("user", "a")]);
    const older = { role: "function", parts: [{ functionResponse: { name: "f", response: {} } }] };
    expect(await messagesOf(ask(user(text("a")), older))).toEqual([
      say("user", "a"),
      say("tool", "{}"),
    ]);
  });

  test("of the model that follow each other are what it said, as clients keep pieces of a stream", async () => {
    const body = ask(
      user(text("a")),
      model(text("b")),
      model(text("c")),
      model(text("")),
      user(text("d")),
    );
    expect(await messagesOf(body)).toEqual([
      say("user", "a"),
      say("assistant", "bc"),
      say("user", "d"),
    ]);
  });

  test("show images, files and sounds, in them or by their address", async () => {
    const inline = (mimeType: string, data = "AAAA", displayName?: string) => ({
      inlineData: { mimeType, data, displayName },
    });
    const file = (fileUri: string, mimeType?: string) => ({ fileData: { fileUri, mimeType } });
    const parts = [
      text("These:"),
      inline("image/PNG", "-_8="),
      { inline_data: { mime_type: "image/jpeg", data: "AAAA" } },
      inline("application/pdf", "AAAA", "a.pdf"),
      inline("image/svg+xml", Buffer.from("<svg/>").toString("base64")),
      ...["audio/wav", "audio/mpeg", "audio/mp4", "audio/ogg; codecs=opus"].map((it) => inline(it)),
      inline("audio/basic"),
      file("https://example.com/a.png", "image/png"),
      file("https://example.com/a.pdf", "application/pdf"),
      file("https://example.com/a"),
    ];
    expect(await messagesOf(ask(user(...parts)))).toEqual([
      say("user", "", {
        parts: [
          textPart("These:"),
          imagePart("data:image/png;base64,+/8="),
          imagePart("data:image/jpeg;base64,AAAA"),
          filePart("data:application/pdf;base64,AAAA", "a.pdf"),
          textPart("\n\n<file>\n<svg/>\n</file>\n\n"),
          ...["wav", "mp3", "m4a", "ogg"].map((format) => soundPart("AAAA", format)),
          filePart("data:audio/basic;base64,AAAA"),
          imagePart("https://example.com/a.png"),
          filePart("https://example.com/a.pdf"),
          filePart("https://example.com/a"),
        ],
      }),
    ]);
  });

  test("say how closely images are looked at, or the request does of all", async () => {
    const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
    const at = (level: string) => ({ ...image, mediaResolution: { level } });
    const said = async (parts: object[], mediaResolution?: string) => {
      const body = { ...ask(user(...parts)), generationConfig: { mediaResolution } };
      const { request, warnings } = await asked(body);
      const details = request.messages[0]?.parts.map(({ imageUrl }) => imageUrl?.detail);
      return [details, warnings];
    };
    const [low, medium, high, highest] = ["LOW", "MEDIUM", "HIGH", "ULTRA_HIGH"].map(
      (it) => `MEDIA_RESOLUTION_${it}`,
    ) as [string, string, string, string];
    expect(await said([at(low), at(medium), at(high), at(highest), image])).toEqual([
      ["low", "", "high", "high", ""],
      [],
    ]);
    expect(await said([image, at(high)], low)).toEqual([["low", "high"], []]);
    const { mediaResolution, inlineData } = at(low);
    const older = { inline_data: inlineData, media_resolution: mediaResolution };
    expect(await said([older], "MEDIA_RESOLUTION_UNSPECIFIED")).toEqual([["low"], []]);
    const pdf = { inlineData: { mimeType: "application/pdf", data: "AAAA" } };
    expect(await said([pdf, image], low)).toEqual([
      [undefined, "low"],
      ["contents: mediaResolution of what is no image is not supported, ignored"],
    ]);
  });

  test("have calls and what came of them, each in a message of its own, ahead of what is said", async () => {
    const body = ask(
      user(text("Rome?")),
      model(
        text("Let me look."),
        {
          functionCall: { id: "a", name: "weather", args: { city: "Rome" } },
          thoughtSignature: "s",
        },
        { function_call: { name: "now" } },
        { functionCall: { name: "weather", args: { city: "Oslo" } } },
        { functionCall: { name: "now" } },
        { functionCall: { id: "z", name: "last" } },
        { functionCall: { name: "twice" } },
        { functionCall: { id: "y", name: "twice" } },
      ),
      user(
        text("Well?"),
        { functionResponse: { id: "a", name: "weather", response: { output: "sunny" } } },
        { functionResponse: { name: "now", response: { hour: 10 } } },
        { function_response: { name: "weather", response: { name: "weather", content: "rain" } } },
        {
          functionResponse: {
            ...{ name: "now", response: { output: { minute: 5 } } },
            parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }],
          },
        },
        { functionResponse: { name: "last", response: { error: "no" } } },
        { functionResponse: { name: "nobody", response: { return_value: "x" } } },
        { functionResponse: { id: "y", name: "twice", response: { output: "second" } } },
        { functionResponse: { name: "twice", response: { output: "first" } } },
      ),
    );
    const extra = JSON.stringify({ google: { thought_signature: "s" } });
    const called = [
      toolCall(0, "a", "weather", '{"city":"Rome"}', extra),
      toolCall(0, "call_0", "now", "{}"),
      toolCall(0, "call_1", "weather", '{"city":"Oslo"}'),
      toolCall(0, "call_2", "now", "{}"),
      toolCall(0, "z", "last", "{}"),
      toolCall(0, "call_3", "twice", "{}"),
      toolCall(0, "y", "twice", "{}"),
    ];
    expect(await messagesOf(body)).toEqual([
      say("user", "Rome?"),
      say("assistant", "Let me look.", { toolCalls: called }),
      say("tool", "sunny", { toolCallId: "a" }),
      say("tool", '{"hour":10}', { toolCallId: "call_0" }),
      say("tool", "rain", { toolCallId: "call_1" }),
      say("tool", '{"output":{"minute":5}}', { toolCallId: "call_2" }),
      say("tool", '{"error":"no"}', { toolCallId: "z" }),
      say("tool", "x"),
      say("tool", "second", { toolCallId: "y" }),
      say("tool", "first", { toolCallId: "call_3" }),
      say("user", "", { parts: [textPart("Well?"), imagePart("data:image/png;base64,AAAA")] }),
    ]);
  });

  test("have what was thought, and what the model server wants to see again", async () => {
    const body = ask(
      user(text("a")),
      model(
        { text: "", thought: false },
        { text: "Hm", thought: true },
        { text: "m.", thought: true, thoughtSignature: "sig" },
      ),
      model({ text: "42", thought_signature: "end" }, { thoughtSignature: "alone" }),
      user(text("b")),
    );
    const detail = (data: string) => ({
      ...{ type: "reasoning.encrypted", data, format: "google-gemini-v1", index: 0 },
    });
    expect((await messagesOf(body))[1]).toEqual(
      say("assistant", "42", {
        reasoningContent: "Hmm.",
        reasoningDetails: JSON.stringify([detail("sig"), detail("end"), detail("alone")]),
      }),
    );
  });
});

describe("generationConfig", () => {
  test("says how to answer", async () => {
    const request = await requestOf(
      config({
        ...{ temperature: 0.5, topP: 0.9, topK: 40, maxOutputTokens: 99, seed: 7 },
        ...{ stopSequences: ["."], candidateCount: 1, responseModalities: ["TEXT"] },
      }),
    );
    expect(request).toMatchObject({
      ...{ model: "chat-1", temperature: 0.5, topP: 0.9, topK: 40, maxTokens: 99, seed: 7n },
      ...{ stop: ["."], includeReasoning: false, reasoningEffort: "" },
    });
    expect(request.responseFormat).toBeUndefined();
    const spelled = hello({ generation_config: { top_k: 3, max_output_tokens: 4 } });
    expect(await requestOf(spelled)).toMatchObject({ topK: 3, maxTokens: 4 });
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
    [{ presencePenalty: 0.5, logprobs: 3 }, ["presencePenalty", "logprobs"]],
    [{ responseLogprobs: false, frequencyPenalty: 0 }, []],
    [{ audio_transcription_config: {} }, ["audioTranscriptionConfig"]],
    [{ translationConfig: { targetLanguageCode: "fr" } }, ["translationConfig"]],
  ])("warns of what nobody does: %j", async (more, names) => {
    const said = names.map((name) => `generationConfig.${name}: not supported, ignored`);
    expect((await asked(config(more))).warnings).toEqual(said);
  });
});

describe("tools", () => {
  const tools = [
    { functionDeclarations: [{ name: "f" }, { name: "g" }] },
    { function_declarations: [{ name: "h" }] },
  ];
  const choose = (mode: string, ...allowedFunctionNames: string[]) =>
    hello({ tools, toolConfig: { functionCallingConfig: { mode, allowedFunctionNames } } });
  const choice = (type: string, name?: string) => ({ type, ...(name && { function: { name } }) });

  test.each([
    [choose("AUTO"), ["f", "g", "h"], undefined],
    [choose("VALIDATED"), ["f", "g", "h"], undefined],
    [choose("NONE"), ["f", "g", "h"], choice("none")],
    [choose("any"), ["f", "g", "h"], choice("required")],
    [choose("ANY", "g"), ["g"], choice("function", "g")],
    [choose("ANY", "g", "h"), ["g", "h"], choice("required")],
    [choose("VALIDATED", "f"), ["f"], undefined],
    [hello({ tools: tools[1] }), ["h"], undefined],
  ])("are offered, and chosen: %#", async (body, names, toolChoice) => {
    const request = await requestOf(body);
    expect(request.tools.map((tool) => tool.function?.name)).toEqual(names);
    if (toolChoice) expect(request.toolChoice).toMatchObject(toolChoice);
    else expect(request.toolChoice).toBeUndefined();
  });

  test("that Google runs itself are dropped with a warning", async () => {
    const { request, warnings } = await asked(
      hello({
        tools: [
          { googleSearch: {}, urlContext: null },
          { codeExecution: {} },
          { googleSearch: {} },
        ],
      }),
    );
    expect(warnings).toEqual([
      "tools: googleSearch is not supported, ignored",
      "tools: codeExecution is not supported, ignored",
    ]);
    expect(request.tools).toEqual([]);
  });
});

test.each([
  [true, ["toolConfig.functionCallingConfig.streamFunctionCallArguments: not supported, ignored"]],
  [false, []],
])("arguments come whole, whoever wants them in pieces: %s", async (wanted, said) => {
  const functionCallingConfig = { streamFunctionCallArguments: wanted };
  const { warnings } = await asked(hello({ toolConfig: { functionCallingConfig } }));
  expect(warnings).toEqual(said);
});

test("what asks for nothing here is ignored", async () => {
  const { warnings } = await asked(hello({ safetySettings: [{}], labels: {}, surprise: [1] }));
  expect(warnings).toEqual([]);
});

test.each<[string, object]>([
  ["contents", {}],
  ["contents", { contents: [] }],
  ["contents", { systemInstruction: { parts: [text("a")] } }],
  ["contents", { contents: "Hello" }],
  ["contents[0].parts[0].text", ask(user({ text: 5 }))],
  ["contents", ask(...Array.from({ length: 10_001 }, () => user(text("a"))))],
  ["contents[0]", { contents: ["a"] }],
  ["contents[0].role", ask({ role: "king", parts: [text("a")] })],
  ["contents[0].parts", ask({ role: "user" })],
  ["contents[0].parts", ask({ role: "user", parts: "a" })],
  ["contents[0].parts[1]", { contents: [{ parts: [text("a"), "b"] }] }],
  ["contents[0].parts[0].text", ask(user({ text: 5 }))],
  ["contents[0].parts[0].inlineData", ask(user({ inlineData: "a" }))],
  ["contents[0].parts[0].inlineData.data", ask(user({ inlineData: { mimeType: "image/png" } }))],
  ["contents[0].parts[0].inlineData.mimeType", ask(user({ inlineData: { data: "AAAA" } }))],
  ["contents[0].parts[0].fileData.fileUri", ask(user({ fileData: { mimeType: "image/png" } }))],
  ...["image/png", "application/pdf", "text/plain", "audio/wav"].map(
    (mimeType): [string, object] => [
      "contents[0].parts[0].inlineData",
      ask(user({ inlineData: { mimeType, data: "AAAA!" } })),
    ],
  ),
  [
    "contents[0].parts[1].fileData",
    ask(user(text("a"), { fileData: { fileUri: "gs://a/b", mimeType: "image/png" } })),
  ],
  ["contents[1].parts[0].functionCall", ask(user(text("a")), model({ functionCall: 5 }))],
  [
    "contents[1].parts[0].functionCall.args",
    ask(user(text("a")), model({ functionCall: { name: "f", args: 5 } })),
  ],
  [
    "contents[1].parts[1].functionCall.name",
    ask(user(text("a")), model(text("b"), { functionCall: { name: 5 } })),
  ],
  [
    "contents[1].parts[0].thoughtSignature",
    ask(user(text("a")), model({ ...text("b"), thoughtSignature: 5 })),
  ],
  ["contents[0].parts[0].functionResponse", ask(user({ functionResponse: 5 }))],
  [
    "contents[0].parts[0].functionResponse.response",
    ask(user({ functionResponse: { name: "f", response: 5 } })),
  ],
  [
    "contents[0].parts[0].functionResponse.id",
    ask(user({ functionResponse: { id: 5, name: "f" } })),
  ],
  ["systemInstruction", hello({ systemInstruction: 5 })],
  [
    "systemInstruction",
    hello({
      systemInstruction: { parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }] },
    }),
  ],
  ["generationConfig", hello({ generationConfig: 5 })],
  ["generationConfig.temperature", config({ temperature: 3 })],
  ["generationConfig.topP", config({ topP: 0 })],
  ["generationConfig.topK", config({ topK: "many" })],
  ["generationConfig.maxOutputTokens", config({ maxOutputTokens: 0 })],
  ["generationConfig.seed", config({ seed: -2 })],
  ["generationConfig.stopSequences[0]", config({ stopSequences: [""] })],
  ["generationConfig.thinkingConfig", config({ thinkingConfig: 5 })],
  ["generationConfig.thinkingConfig", config({ thinkingConfig: { thinkingLevel: "HUGE" } })],
  [
    "generationConfig.thinkingConfig.thinkingBudget",
    config({ thinkingConfig: { thinkingBudget: -2 } }),
  ],
  [
    "generationConfig.thinkingConfig.includeThoughts",
    config({ thinkingConfig: { includeThoughts: "yes" } }),
  ],
  [
    "generationConfig.responseSchema",
    config({ responseMimeType: "application/json", responseSchema: "a" }),
  ],
  ["tools[0]", hello({ tools: ["a"] })],
  ["tools[0].functionDeclarations", hello({ tools: [{ functionDeclarations: 5 }] })],
  ["tools[1].functionDeclarations[0]", hello({ tools: [{}, { functionDeclarations: [5] }] })],
  [
    "tools[1].functionDeclarations[1].name",
    hello({ tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: "f" }, {}] }] }),
  ],
  [
    "tools[0].functionDeclarations[0].parameters",
    hello({ tools: [{ functionDeclarations: [{ name: "f", parameters: 5 }] }] }),
  ],
  ["toolConfig", hello({ toolConfig: 5 })],
  ["toolConfig.functionCallingConfig", hello({ toolConfig: { functionCallingConfig: 5 } })],
  [
    "toolConfig.functionCallingConfig",
    hello({ toolConfig: { functionCallingConfig: { mode: "ANY" } } }),
  ],
  [
    "toolConfig.functionCallingConfig.mode",
    hello({ toolConfig: { functionCallingConfig: { mode: "OFTEN" } } }),
  ],
  [
    "toolConfig.functionCallingConfig.allowedFunctionNames",
    hello({ toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } } }),
  ],
])("422: %s", async (field, body) => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const answer = await server.post(path, body);
  expect(answer.status).toBe(422);
  const { error } = await json(answer);
  expect(error).toMatchObject({ code: 422, status: "INVALID_ARGUMENT" });
  expect(error.message).toContain(`${field}: `);
  expect(codeIn({ error })).toBe("invalid_fields");
  expect(error.details[1]).toMatchObject({
    "@type": "type.googleapis.com/google.rpc.BadRequest",
    fieldViolations: expect.arrayContaining([{ field, description: expect.any(String) }]),
  });
  // Of one that can't be read nothing else is said.
  const fields = error.details[1].fieldViolations.map((it: { field: string }) => it.field);
  expect(fields).toEqual([...new Set(fields)]);
});

test.each<[string, object, RegExp]>([
  [
    "contents[0].parts[1]",
    ask(user(text("a"), { executableCode: { code: "1" } })),
    /with executableCode/,
  ],
  ["cachedContent", hello({ cachedContent: "cachedContents/a" }), /nothing is kept here/],
  ["continuationToken", hello({ continuation_token: "YQ==" }), /no answer is kept here/],
  ["modelArmorConfig", hello({ modelArmorConfig: {} }), /nothing of the kind/],
  ["generationConfig.candidateCount", config({ candidateCount: 2 }), /one only/],
  [
    "generationConfig.responseModalities",
    config({ responseModalities: ["TEXT", "IMAGE"] }),
    /TEXT only/,
  ],
  [
    "generationConfig.responseModalities",
    config({ responseFormat: [{ text: {} }, { audio: {} }] }),
    /TEXT only/,
  ],
  [
    "generationConfig.responseMimeType",
    config({ responseMimeType: "text/x.enum" }),
    /only text\/plain/,
  ],
])("400: %s", async (field, body, why) => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const answer = await server.post(path, body);
  expect(answer.status).toBe(400);
  const { error } = await json(answer);
  expect(error.message).toMatch(why);
  expect(error.details[0]).toMatchObject({
    reason: "unsupported_parameter",
    metadata: { param: field },
  });
  expect(backend.asked).toEqual([]);
});

test("of several tools with one name the last is offered", async () => {
  const functionDeclarations = [
    { name: "f", description: "first" },
    { name: "f", description: "second" },
  ];
  const { request } = await asked(hello({ tools: [{ functionDeclarations }] }));
  expect(request.tools).toMatchObject([{ function: { name: "f", description: "second" } }]);
});

test("422: generationConfig.responseJsonSchema", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const form = { responseMimeType: "application/json", responseJsonSchema: "a" };
  const { error } = await json(await server.post(path, config(form)));
  expect(error.message).toContain("generationConfig.responseJsonSchema: must be a JSON object");
});

test("422: schemas that are nested too deeply", async () => {
  const deep = `${'{"type":"ARRAY","items":'.repeat(20_000)}{}${"}".repeat(20_000)}`;
  const server = await serve(scripted({ chat: says("Hi") }));
  const asks = async (more: string) => {
    const answer = await server.post(path, `{"contents":[{"parts":[{"text":"a"}]}],${more}}`);
    return (await json(answer)).error.message;
  };
  const form = `"responseMimeType":"application/json","responseSchema":${deep}`;
  expect(await asks(`"generationConfig":{${form}}`)).toBe(
    "generationConfig.responseSchema: is nested too deeply",
  );
  const plain = `"responseMimeType":"application/json","responseJsonSchema":${deep}`;
  expect(await asks(`"generationConfig":{${plain}}`)).toBe(
    "generationConfig.responseJsonSchema: is nested too deeply",
  );
  const tool = `{"functionDeclarations":[{"name":"f","parameters":${deep}}]}`;
  expect(await asks(`"tools":[${tool}]`)).toBe(
    "tools[0].functionDeclarations[0].parameters: is nested too deeply",
  );
});

test("422: more wrong parts than the stack has room for", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const ones = `${"1,".repeat(300_000)}1`;
  const google = await server.post(path, `{"contents":[{"parts":[${ones}]}]}`);
  expect([google.status, codeIn(await json(google))]).toEqual([422, "invalid_fields"]);
  const messages = `[{"role":"user","content":[${ones}]}]`;
  const anthropic = await server.post("/v1/messages", `{"max_tokens":9,"messages":${messages}}`);
  expect([anthropic.status, codeIn(await json(anthropic))]).toEqual([422, "invalid_fields"]);
  const items = `[${'{"role":"user","content":[5]},'.repeat(9999)}{}]`;
  const responses = await server.post("/v1/responses", `{"input":${items}}`);
  expect([responses.status, codeIn(await json(responses))]).toEqual([422, "invalid_fields"]);
});
