/** Tokens of prompts, by every way in that has a word for it. */
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { tokenCount } from "../../src/core/chat-messages.js";
import { connect, grpc, grpcWeb } from "../contract/transports.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { codeIn, json, serve } from "./serve.js";

const counter = (tokens = 17, estimated = false) =>
  scripted({
    chat: says("Hi"),
    async *countTokens() {
      yield [tokenCount(tokens, estimated)];
    },
  });

const system = { role: "system", content: "Be brief." };
const user = { role: "user", content: "Hello" };
const parameters = { type: "object", properties: { city: { type: "string" } } };
const contents = [{ parts: [{ text: "Hello" }] }];
const generate = {
  contents,
  systemInstruction: { parts: [{ text: "Be brief." }] },
  tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: parameters }] }],
};

/** Each with the same conversation and tool, in its own words, and how it tells of 17 tokens. */
const forms = [
  [
    "/v1/chat/completions/input_tokens",
    {
      messages: [system, user],
      tools: [{ type: "function", function: { name: "weather", parameters } }],
    },
    { object: "response.input_tokens", input_tokens: 17 },
  ],
  [
    "/v1/responses/input_tokens",
    {
      instructions: "Be brief.",
      input: "Hello",
      tools: [{ type: "function", name: "weather", parameters }],
    },
    { object: "response.input_tokens", input_tokens: 17 },
  ],
  [
    "/v1/messages/count_tokens",
    {
      system: "Be brief.",
      messages: [user],
      tools: [{ name: "weather", input_schema: parameters }],
    },
    { input_tokens: 17 },
  ],
  ["/v1/models/chat-1:countTokens", generate, { totalTokens: 17 }],
  ["/v1beta/models/chat-1:countTokens", generate, { totalTokens: 17 }],
  [
    "/v1beta/models/chat-1:countTokens",
    { generateContentRequest: { model: "models/chat-1", ...generate } },
    { totalTokens: 17 },
  ],
] as const;

describe.each(forms)("POST %s", (path, body, told) => {
  test("tells them, and has nothing answered", async () => {
    const backend = counter();
    const server = await serve(backend);
    const answer = await server.post(path, { model: "chat-1", ...body });
    expect(answer.status).toBe(200);
    expect(await json(answer)).toEqual(told);
    expect(backend.asked).toHaveLength(1);
    expect(backend.asked[0]).toMatchObject({
      model: "chat-1",
      messages: [say("system", "Be brief."), say("user", "Hello")],
      tools: [{ function: { name: "weather", parameters: JSON.stringify(parameters) } }],
    });
  });

  test("is no stream, whatever is asked for", async () => {
    const server = await serve(counter());
    const answer = await server.post(path, { model: "chat-1", ...body, stream: true });
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await json(answer)).toEqual(told);
  });

  test("refuses as an answer is refused: a token, a body, a model", async () => {
    const server = await serve(counter(), {
      core: { auth: { mode: "token", tokens: [] } },
    });
    expect((await server.post(path, body)).status).toBe(401);
    const open = await serve(counter());
    expect((await open.post(path, "{")).status).toBe(400);
    const none = path.replace("chat-1", "nope");
    const answer = await open.post(none, { ...body, model: "nope" });
    expect([answer.status, codeIn(await json(answer))]).toEqual([404, "model_not_found"]);
  });
});

test.each([
  ["/v1/chat/completions/input_tokens", { messages: [{ role: "usr" }] }, "messages[0].role"],
  ["/v1/responses/input_tokens", { input: [{ role: "usr", content: "" }] }, "input[0].role"],
  ["/v1/messages/count_tokens", { messages: [{ role: "usr", content: "" }] }, "messages[0].role"],
  [
    "/v1beta/models/chat-1:countTokens",
    { contents: [{ parts: [{ text: 1 }] }] },
    "contents[0].parts[0].text",
  ],
  [
    "/v1beta/models/chat-1:countTokens",
    { generateContentRequest: { contents: [{ role: "usr", parts: [{ text: "a" }] }] } },
    "generateContentRequest.contents[0].role",
  ],
])("POST %s names the field at fault by the client's name", async (path, body, field) => {
  const server = await serve(counter());
  const answer = await server.post(path, body);
  expect(answer.status).toBe(422);
  expect((await json(answer)).error.message).toContain(field);
});

test.each(["/v1/chat/completions/input_tokens", "/v1/responses/input_tokens"])(
  "%s tells that they are an estimate",
  async (path) => {
    const server = await serve(counter(9, true));
    const answer = await server.post(path, { messages: [user], input: "Hello" });
    expect(await json(answer)).toMatchObject({ input_tokens: 9, estimated: true });
  },
);

test.each([
  ["gRPC", grpc],
  ["gRPC-Web", grpcWeb],
  ["Connect", connect("JSON", "1.1")],
])("over %s they come with the model's name and warnings", async (_, transport) => {
  const backend = scripted(
    {
      async *countTokens() {
        yield [tokenCount(17)];
      },
    },
    [chatModel("chat-1", { supports: [] })],
  );
  const { url } = await serve(backend);
  const client = createClient(ChatService, transport(url));
  const headers = { authorization: "Bearer me" };
  const request = create(LLMRequestSchema, { messages: [user], topK: 7 });
  expect(await client.countTokens(request, { headers })).toMatchObject({
    model: "chat-1",
    promptTokens: 17,
    estimated: false,
    warnings: ["top_k: not supported by this model, ignored"],
  });
  const wrong = create(LLMRequestSchema, { messages: [user], temperature: 3 });
  await expect(client.countTokens(wrong, { headers })).rejects.toThrow("temperature");
});

test("what was dropped of what is counted stands in the header", async () => {
  const server = await serve(counter());
  const asked = { model: "chat-1", max_tokens: 5, messages: [user], container: "c" };
  const answer = await server.post("/v1/messages/count_tokens", asked);
  expect(await json(answer)).toEqual({ input_tokens: 17 });
  expect(answer.headers.get("x-lintel-warnings")).toBe("container: not supported, ignored");
});
