/** Pictures that a model draws in its answer, by REST, OpenAI's chat path, Anthropic's and RPC: told, and taken back. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { drawnImage } from "../../src/core/drawn.js";
import { connect, grpc, grpcWeb } from "../contract/transports.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { draws, says, scripted } from "../support/scripted.js";
import { asked, asks, at, data, drawing, drawn, images, url } from "./drawing-model.js";
import { messageEvents } from "./message-events.js";
import { chunks, hello, json, serve } from "./serve.js";

describe.each(["/llm", "/v1/chat/completions"])("POST %s", (path) => {
  test("tells them whole", async () => {
    const backend = scripted({ chat: drawing });
    const server = await serve(backend);
    const { choices, warnings } = await json(await server.post(path, hello(asks)));
    expect(choices[0].message).toEqual({ role: "assistant", content: "Here they are.", images });
    expect(warnings).toBeUndefined();
    expect(backend.asked[0]).toMatchObject(asked);
  });

  test("streams each whole, with its number", async () => {
    const server = await serve(scripted({ chat: drawing }));
    const all = await chunks(await server.post(path, hello({ stream: true })));
    const full = { role: "assistant", content: "" };
    const rest = path === "/llm" ? full : {};
    expect(all.map(({ choices: [{ delta }] }) => delta)).toEqual([
      { role: "assistant", content: "Here " },
      { ...rest, images: [images[0]] },
      { ...rest, images: [images[1]] },
      { ...rest, content: "they are." },
      rest,
    ]);
  });

  test("takes them back as they came, and as a text", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend, {
      doors: {},
      core: { imageHosts: ["*.example.com", "images.example"] },
    });
    const before = { role: "assistant", content: "", images };
    const short = {
      role: "assistant",
      content: "x",
      images: [{ type: "image_url", image_url: url }],
    };
    const answer = await server.post(path, { messages: [...hello().messages, before, short] });
    expect([answer.status, (await json(answer)).warnings]).toEqual([200, undefined]);
    expect(backend.asked[0]).toMatchObject({
      messages: [
        say("user", "Hello"),
        say("assistant", "", { images: drawn }),
        say("assistant", "x", { images: [drawnImage(url)] }),
      ],
    });
  });

  const said = (...images: unknown[]) => ({
    messages: [{ role: "assistant", content: "", images }],
  });
  const field = "messages[0].images[0]";
  test.each([
    ["messages[0].images", { messages: [{ role: "user", content: "", images }] }],
    ["messages[0].images", { messages: [{ role: "assistant", content: "", images: {} }] }],
    [`${field}.image_url`, said({ type: "image_url" })],
    [`${field}.image_url.url`, said({ type: "image_url", image_url: "data:image/png;base64,?" })],
    [`${field}.image_url.url`, said({ type: "image_url", image_url: "file:///a" })],
    [`${field}.type`, said({ type: "text", text: "a" })],
    [`${field}.type`, said({ type: "picture" })],
    [`${field}.extra_content`, said({ ...images[0], extra_content: [] })],
    ["image_config", hello({ image_config: [] })],
    ["image_config.aspect_ratio", hello({ image_config: { aspect_ratio: "1".repeat(17) } })],
    ["image_config.image_size", hello({ image_config: { image_size: 5 } })],
    ["modalities", hello({ modalities: 5 })],
  ])("422: %s", async (param, body) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, body);
    expect([answer.status, (await json(answer)).error.param]).toEqual([422, param]);
  });
});

test("POST /llm says which modalities there are", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const { error } = await json(await server.post("/llm", hello({ modalities: ["text", "audio"] })));
  expect(error.message).toBe("modalities[1]: must be one of text, image");
});

test("a model that draws nothing is not asked to, and text alone asks for nothing", async () => {
  const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);
  const server = await serve(backend);
  const refused = await server.post("/llm", hello(asks));
  expect([refused.status, (await json(refused)).error.param]).toEqual([400, "modalities"]);
  const { modalities, image_config } = { ...asks, modalities: ["text"] };
  const { warnings } = await json(await server.post("/llm", hello({ modalities, image_config })));
  expect(warnings).toEqual(["image_config: not supported by this model, ignored"]);
  expect(backend.asked).toMatchObject([{ modalities: [] }]);
  expect(backend.asked[0]).not.toHaveProperty("imageConfig.aspectRatio");
});

describe("POST /v1/messages", () => {
  const told = "content: answers of this form have no images, left out: images of the model";
  const request = hello({ max_tokens: 9 });

  test("leaves them out of a whole answer, and says so", async () => {
    const server = await serve(scripted({ chat: drawing }));
    const answer = await server.post("/v1/messages", request);
    expect(answer.headers.get("x-lintel-warnings")).toBe(told);
    const { content, warnings } = await json(answer);
    expect([content, warnings]).toEqual([[{ type: "text", text: "Here they are." }], [told]]);
  });

  test("leaves them out of a stream, and says so", async () => {
    const server = await serve(scripted({ chat: draws("", drawn) }));
    const events = await messageEvents(
      await server.post("/v1/messages", { ...request, stream: true }),
    );
    expect(JSON.stringify(events)).not.toContain(data);
    const last = events.find(({ type }) => type === "message_delta");
    expect(last?.warnings).toEqual([told]);
  });
});

test.each([
  ["gRPC", grpc],
  ["gRPC-Web", grpcWeb],
  ["Connect", connect("JSON", "1.1")],
] as const)("%s tells them, and takes them back", async (_, open) => {
  const backend = scripted({ chat: drawing });
  const server = await serve(backend, { core: { imageHosts: ["images.example"] } });
  const client = createClient(ChatService, open(server.url));
  const options = { headers: { authorization: "Bearer me" } };
  const messages = [
    { role: "user", content: "Draw." },
    { role: "assistant", content: "Here.", images: drawn },
  ];
  const whole = await client.complete({ messages, ...asked }, options);
  const message = whole.choices[0]?.message;
  expect([message?.content, message?.images]).toMatchObject(["Here they are.", drawn]);
  const pieces: unknown[] = [];
  for await (const { choices } of client.chat({ messages, ...asked }, options)) {
    const { content, images } = choices[0]?.delta ?? {};
    pieces.push(images?.length ? images[0]?.imageUrl?.url : content);
  }
  expect(pieces).toEqual(["Here ", url, at, "they are.", ""]);
  for (const request of backend.asked) {
    expect(request).toMatchObject({
      ...asked,
      messages: [{}, { content: "Here.", images: drawn }],
    });
  }
});
