/** Tools and faults of requests of Google's Gemini API, and what becomes of them. */
import { describe, expect, test } from "vitest";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { ask, asked, config, hello, model, path, requestOf, text, user } from "./google-request.js";
import { codeIn, json, serve } from "./serve.js";

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

test.each<[object, string]>([
  [{ serviceTier: "flex" }, "flex"],
  [{ service_tier: "SERVICE_TIER_PRIORITY" }, "priority"],
  [{ serviceTier: "standard" }, ""],
])("a tier of service is asked for: %j", async (more, serviceTier) => {
  const { request, warnings } = await asked(hello(more));
  expect([request.serviceTier, warnings]).toEqual([serviceTier, []]);
});

test("a tier that a model lacks is told of by its name here", async () => {
  const lacking = chatModel("chat-1", { supports: [] });
  const server = await serve(scripted({ chat: says("x") }, [lacking]));
  const answer = await server.post(
    "/v1beta/models/chat-1:generateContent",
    hello({ serviceTier: "flex" }),
  );
  expect((await json(answer)).warnings).toContain(
    "serviceTier: not supported by this model, ignored",
  );
});

test.each<[object, readonly string[]]>([
  [{ serviceTier: "turbo" }, ["serviceTier: not supported, ignored"]],
  [{ serviceTier: {} }, ["serviceTier: not supported, ignored"]],
  [{ serviceTier: "standard" }, []],
  [{ serviceTier: "SERVICE_TIER_UNSPECIFIED" }, []],
  [{ serviceTier: null }, []],
])("another tier than the ordinary one is dropped, and said: %j", async (more, said) => {
  expect((await asked(hello(more))).warnings).toEqual(said);
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
  ["generationConfig.logprobs", config({ logprobs: 3 })],
  ["generationConfig.responseLogprobs", config({ responseLogprobs: 3 })],
  ["generationConfig.presencePenalty", config({ presencePenalty: 3 })],
  ["generationConfig.frequencyPenalty", config({ frequencyPenalty: "much" })],
  ["generationConfig.maxOutputTokens", config({ maxOutputTokens: 0 })],
  ["generationConfig.seed", config({ seed: -2 })],
  ["generationConfig.seed", config({ seed: "-2" })],
  ...["", " 1", "1 ", "+1", "0x10", "1a", "1.5", "Infinity", "1e400"].map(
    (maxOutputTokens): [string, object] => [
      "generationConfig.maxOutputTokens",
      config({ maxOutputTokens }),
    ],
  ),
  ["generationConfig.temperature", config({ temperature: "NaN" })],
  ["generationConfig.temperature", config({ temperature: "3" })],
  ["generationConfig.stopSequences[0]", config({ stopSequences: [""] })],
  ["generationConfig.thinkingConfig", config({ thinkingConfig: 5 })],
  [
    "generationConfig.thinkingConfig.thinkingLevel",
    config({ thinkingConfig: { thinkingLevel: "HUGE" } }),
  ],
  [
    "generationConfig.thinkingConfig.thinkingLevel",
    config({ thinking_config: { thinking_level: 5 } }),
  ],
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
  [
    "generationConfig.responseSchema.enum",
    config({ responseMimeType: "text/x.enum", responseSchema: { type: "STRING" } }),
  ],
  [
    "generationConfig.responseJsonSchema.enum[1]",
    config({ responseMimeType: "text/x.enum", responseJsonSchema: { enum: ["a", ""] } }),
  ],
  [
    "generationConfig.responseFormat.enum",
    config({ responseFormat: { text: { mimeType: "text/x.enum", schema: { type: "string" } } } }),
  ],
  ["tools", hello({ tools: 5 })],
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
  [
    "tools[0].functionDeclarations[1].parametersJsonSchema",
    hello({
      tools: [
        {
          functionDeclarations: [
            { name: "f", parameters: {} },
            { name: "g", parametersJsonSchema: [] },
          ],
        },
      ],
    }),
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
  ["generationConfig.candidateCount", config({ candidateCount: 0 }), /one only/],
  [
    "generationConfig.responseModalities",
    config({ responseModalities: ["TEXT", "AUDIO"] }),
    /TEXT and IMAGE only/,
  ],
  [
    "generationConfig.responseModalities",
    config({ responseFormat: [{ text: {} }, { audio: {} }] }),
    /TEXT and IMAGE only/,
  ],
  [
    "generationConfig.responseMimeType",
    config({ responseMimeType: "text/csv" }),
    /only text\/plain, application\/json and text\/x\.enum/,
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

test("of functions that are not there nothing else is said than that", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const functionCallingConfig = { mode: "ANY", allowedFunctionNames: ["g"] };
  const declared = { functionDeclarations: [{ name: "f" }] };
  for (const tools of [[declared], []]) {
    const body = hello({ tools, toolConfig: { functionCallingConfig } });
    const { error } = await json(await server.post(path, body));
    expect(error.message).toBe(
      "toolConfig.functionCallingConfig.allowedFunctionNames: must be names of declared functions",
    );
  }
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

test.each([
  ["inlineData", { mimeType: "image/png", data: "" }, "data: must not be empty"],
  ["inlineData", { mimeType: "", data: "AAAA" }, "mimeType: must not be empty"],
  ["inlineData", { data: "AAAA" }, "mimeType: is required"],
  ["fileData", { fileUri: "" }, "fileUri: must not be empty"],
  ["fileData", { fileUri: null }, "fileUri: is required"],
  ["fileData", { fileUri: 5 }, "fileUri: must be a string"],
])("422: %s %j says what is wrong of it", async (name, data, why) => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const { error } = await json(await server.post(path, ask(user({ [name]: data }))));
  expect(error.message).toBe(`contents[0].parts[0].${name}.${why}`);
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
    "generationConfig.responseSchema: must have at most 1000 objects and lists within each other",
  );
  const plain = `"responseMimeType":"application/json","responseJsonSchema":${deep}`;
  expect(await asks(`"generationConfig":{${plain}}`)).toBe(
    "generationConfig.responseJsonSchema: must have at most 1000 objects and lists within each other",
  );
  const tool = `{"functionDeclarations":[{"name":"f","parameters":${deep}}]}`;
  expect(await asks(`"tools":[${tool}]`)).toBe(
    "tools[0].functionDeclarations[0].parameters: must have at most 1000 objects and lists within each other",
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
