/** What was dropped of a request is told in `x-lintel-warnings` by the client's names, also where it fails: on every door. */
import { ConnectError, createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageService } from "../../gen/lintel/v1/image_pb.js";
import { LintelError } from "../../src/core/errors.js";
import { grpc, grpcWeb } from "../contract/transports.js";
import { type Lintel, startLintel } from "../support/lintel.js";
import { chatModel, imageModel } from "../support/models.js";
import { scripted } from "../support/scripted.js";

let lintel: Lintel;
const fails = async function* (): AsyncGenerator<never[]> {
  yield* [];
  throw new LintelError("invalid_value", "the model server refused the request");
};

beforeAll(async () => {
  const models = [chatModel("m", { supports: [] }), imageModel("draw", { supports: [] })];
  lintel = await startLintel([scripted({ chat: fails, streamTextToImage: fails }, models)]);
});
afterAll(() => lintel.close());

const chat = { model: "m", messages: [{ role: "user", content: "hello" }], top_k: 5 };
const image = { model_id: "draw", prompt: "a circle", guidance_scale: 3 };
const openaiImage = { model: "draw", prompt: "a circle", guidance_scale: 3 };
const predicted = { prediction: { type: "content", content: "hello" } };
const { model, messages } = chat;
const anthropic = { model, messages, max_tokens: 9 };
const thinking = { type: "enabled", budget_tokens: 2000 };
const google = "/v1beta/models/m";
const contents = [{ parts: [{ text: "hello" }] }];

describe.each<[string, object, RegExp]>([
  ["/llm", chat, /^top_k:/],
  ["/llm", { ...chat, stream: true }, /^top_k:/],
  ["/text-to-image", image, /^guidance_scale:/],
  ["/text-to-image", { ...image, stream: true }, /^guidance_scale:/],
  ["/v1/chat/completions", { ...chat, ...predicted }, /^prediction: .*; top_k:/],
  ["/v1/chat/completions", { ...chat, ...predicted, stream: true }, /^prediction: .*; top_k:/],
  [
    "/v1/chat/completions",
    { model, messages, reasoning: { effort: "low" } },
    /^reasoning\.effort:/,
  ],
  ["/v1/images/generations", { ...openaiImage, complexity: 1 }, /^complexity: .*; guidance_scale:/],
  ["/v1/responses", { model, input: "hello", reasoning: { effort: "low" } }, /^reasoning\.effort:/],
  ["/v1/messages", { ...anthropic, thinking }, /; thinking:/],
  ["/v1/messages", { ...anthropic, output_config: { effort: "low" } }, /; output_config\.effort:/],
  [
    `${google}:generateContent`,
    { contents, generationConfig: { topK: 5 } },
    /^generationConfig\.topK:/,
  ],
  [
    `${google}:streamGenerateContent`,
    { contents, generationConfig: { topK: 5 } },
    /^generationConfig\.topK:/,
  ],
  ["/lintel.v1.ChatService/Complete", chat, /^top_k:/],
  ["/lintel.v1.TextToImageService/TextToImage", image, /^guidance_scale:/],
])("POST %s", (path, body, warning) => {
  it(`fails with its warnings: ${JSON.stringify(body)}`, async () => {
    const answer = await fetch(lintel.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer me" },
      body: JSON.stringify(body),
    });
    expect(answer.ok).toBe(false);
    expect(answer.headers.get("x-lintel-warnings")).toMatch(warning);
    expect(answer.headers.get("x-lintel-attempts")).toBe("1");
  });
});

describe.each(Object.entries({ gRPC: grpc, "gRPC-Web": grpcWeb }))("%s", (_, transport) => {
  const said = async (call: Promise<unknown>) => {
    const error = ConnectError.from(await call.catch((thrown) => thrown));
    return error.metadata.get("x-lintel-warnings");
  };
  const all = async (stream: AsyncIterable<unknown>) => {
    for await (const _ of stream);
  };
  const options = { headers: { authorization: "Bearer me" } };

  it("fails with its warnings", async () => {
    const chats = createClient(ChatService, transport(lintel.url));
    const images = createClient(TextToImageService, transport(lintel.url));
    const asked = { model, messages, topK: 5 };
    expect(await said(chats.complete(asked, options))).toMatch(/^top_k:/);
    expect(await said(all(chats.chat(asked, options)))).toMatch(/^top_k:/);
    const drawn = { modelId: "draw", prompt: "a circle", guidanceScale: 3 };
    expect(await said(images.textToImage(drawn, options))).toMatch(/^guidance_scale:/);
  });
});
