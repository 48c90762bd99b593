/** Pictures that a model draws in its answer, by every way in: told, and taken back. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { drawnImage, imagesChoice } from "../../src/core/drawn.js";
import { connect, grpc, grpcWeb } from "../contract/transports.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { draws, piece, png, says, scripted } from "../support/scripted.js";
import { generateEvents, partsOf } from "./generate-events.js";
import { messageEvents } from "./message-events.js";
import { responseEvents } from "./response-events.js";
import { chunks, hello, json, serve } from "./serve.js";

const data = png(7).toString("base64");
const url = `data:image/png;base64,${data}`;
const at = "https://images.example/a.jpg";
const signature = { google: { thought_signature: "c2ln" } };
const drawn = [drawnImage(url, JSON.stringify(signature)), drawnImage(at)];
const drawing = draws("Here ", drawn, "they are.");
const images = [
  { index: 0, type: "image_url", image_url: { url }, extra_content: signature },
  { index: 1, type: "image_url", image_url: { url: at } },
];
const asks = {
  modalities: ["text", "image"],
  image_config: { aspect_ratio: "16:9", image_size: "2K" },
};
const asked = {
  modalities: ["text", "image"],
  imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
};

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

describe("POST /v1/responses", () => {
  const path = "/v1/responses";
  const input = "Draw.";
  const items = [
    {
      ...{ type: "image_generation_call", status: "completed", output_format: "png", result: data },
      extra_content: signature,
    },
    { type: "image_generation_call", status: "completed", result: at },
  ];

  test("has an item for each", async () => {
    const backend = scripted({ chat: drawing });
    const server = await serve(backend);
    const { output } = await json(await server.post(path, { input, ...asks }));
    expect(output).toMatchObject([
      { type: "message", content: [{ text: "Here they are." }] },
      ...items,
    ]);
    expect(new Set(output.map(({ id }: { id: string }) => id)).size).toBe(3);
    expect(backend.asked[0]).toMatchObject(asked);
  });

  test("has no message where nothing is said; the last picture is where an answer was cut off", async () => {
    const cut = async function* () {
      for (const one of drawn) yield [{ ...piece(""), choices: [imagesChoice([one])] }];
      yield [piece("", "length", [7, 9])];
    };
    const server = await serve(scripted({ chat: cut }));
    const { output } = await json(await server.post(path, { input }));
    expect(output).toMatchObject([items[0], { ...items[1], status: "incomplete" }]);
  });

  test("streams them between messages", async () => {
    const server = await serve(scripted({ chat: drawing }));
    const events = await responseEvents(await server.post(path, { input, stream: true }));
    const { output } = events.at(-1).response;
    const told = (text: string) => ({ type: "message", content: [{ text }] });
    expect(output).toMatchObject([told("Here "), ...items, told("they are.")]);
    const ofPicture = events.filter(({ output_index }) => output_index === 1);
    expect(ofPicture.map(({ type }) => type)).toEqual([
      "response.output_item.added",
      "response.image_generation_call.in_progress",
      "response.image_generation_call.completed",
      "response.output_item.done",
    ]);
    const [begun, , , done] = ofPicture;
    expect(begun.item).toMatchObject({ status: "in_progress", result: null });
    expect(done.item).toEqual(output[1]);
  });

  test("takes them back, as one message with what is said beside", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const jpeg = { type: "image_generation_call", id: "ig_1", result: "/9j/4AAQ" };
    const empty = { type: "image_generation_call", id: "ig_2", status: "failed", result: null };
    const answer = await server.post(path, {
      input: [
        { role: "user", content: "Draw." },
        { role: "assistant", content: "Here." },
        ...[items[0], jpeg, empty],
        { role: "assistant", content: "There." },
        { role: "user", content: "More." },
        { type: "image_generation_call", result: data },
      ],
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
    const [first] = drawn;
    expect(
      backend.asked[0]?.$typeName === "lintel.v1.LLMRequest" && backend.asked[0].messages,
    ).toEqual(
      [
        say("user", "Draw."),
        say("assistant", "Here.\n\nThere.", {
          images: [first as never, drawnImage("data:image/jpeg;base64,/9j/4AAQ")],
        }),
        say("user", "More."),
        say("assistant", "", { images: [drawnImage(url)] }),
      ].map((message) => expect.objectContaining(message)),
    );
  });

  test.each([
    ["input[1].result", { result: "?" }],
    ["input[1].result", { result: 5 }],
    ["input[1].extra_content", { result: data, extra_content: 5 }],
  ])("422: %s", async (param, more) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const item = { type: "image_generation_call", ...more };
    const answer = await server.post(path, { input: [{ role: "user", content: "Draw." }, item] });
    expect([answer.status, (await json(answer)).error.param]).toEqual([422, param]);
  });
});

describe("Google's path", () => {
  const path = "/v1beta/models/chat-1";
  const contents = [{ role: "user", parts: [{ text: "Draw." }] }];
  const parts = [
    { inlineData: { mimeType: "image/png", data }, thoughtSignature: "c2ln" },
    { fileData: { fileUri: at } },
  ];

  test("has parts of them, and is asked for them", async () => {
    const backend = scripted({ chat: drawing });
    const server = await serve(backend);
    const generationConfig = {
      responseModalities: ["Text", "IMAGE"],
      imageConfig: { aspectRatio: "16:9", imageSize: "2K", personGeneration: "ALLOW_ALL" },
    };
    const answer = await json(
      await server.post(`${path}:generateContent`, { contents, generationConfig }),
    );
    expect(partsOf(answer)).toEqual([{ text: "Here they are." }, ...parts]);
    expect(answer.warnings).toEqual([
      "generationConfig.imageConfig.personGeneration: not supported, ignored",
    ]);
    expect(backend.asked[0]).toMatchObject(asked);
  });

  test.each([
    [
      { responseFormat: [{ text: {} }, { image: { aspectRatio: "16:9", imageSize: "2K" } }] },
      asked,
    ],
    [{ response_format: { image: {} } }, { modalities: ["image"] }],
    [{ responseModalities: ["MODALITY_UNSPECIFIED"] }, { modalities: [] }],
    [{ responseModalities: "IMAGE" }, { modalities: ["image"] }],
    [{ image_config: { image_size: "4K" } }, { imageConfig: { aspectRatio: "", imageSize: "4K" } }],
  ])("is asked by %j", async (generationConfig, wanted) => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const answer = await server.post(`${path}:generateContent`, { contents, generationConfig });
    expect([answer.status, (await json(answer)).warnings]).toEqual([200, undefined]);
    expect(backend.asked[0]).toMatchObject(wanted);
  });

  test("has no text where none is said", async () => {
    const server = await serve(scripted({ chat: draws("", drawn) }));
    const answer = await json(await server.post(`${path}:generateContent`, { contents }));
    expect(partsOf(answer)).toEqual(parts);
  });

  test("streams an event for each", async () => {
    const server = await serve(scripted({ chat: drawing }));
    const stream = `${path}:streamGenerateContent?alt=sse`;
    const events = await generateEvents(await server.post(stream, { contents }));
    expect(partsOf(...events)).toEqual([
      ...[{ text: "Here " }, ...parts, { text: "they are." }],
      // Many a client looks for a part in the last.
      { text: "" },
    ]);
  });

  test("takes them back", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const turn = { role: "model", parts: [{ text: "Here." }, parts[0]] };
    const more = { role: "user", parts: [{ text: "More." }] };
    await server.post(`${path}:generateContent`, { contents: [...contents, turn, more] });
    expect(backend.asked[0]).toMatchObject({
      messages: [
        say("user", "Draw."),
        say("assistant", "Here.", { images: drawn.slice(0, 1) }),
        say("user", "More."),
      ],
    });
    expect(backend.asked[0]).not.toHaveProperty("messages[1].reasoningDetails", expect.anything());
  });

  test.each([
    [
      "contents[0].parts[1].inlineData",
      {
        contents: [
          {
            role: "model",
            parts: [{ text: "a" }, { inlineData: { mimeType: "image/png", data: "?" } }],
          },
        ],
      },
    ],
    ["generationConfig.imageConfig", { contents, generationConfig: { imageConfig: 5 } }],
    [
      "generationConfig.imageConfig.aspectRatio",
      { contents, generationConfig: { imageConfig: { aspectRatio: "1".repeat(17) } } },
    ],
  ])("422: %s", async (field, body) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(`${path}:generateContent`, body);
    const { error } = await json(answer);
    expect([answer.status, error.details[1].fieldViolations]).toMatchObject([422, [{ field }]]);
  });

  test("names its own field of a model that draws nothing", async () => {
    const model = chatModel("chat-1", { supports: [] });
    const server = await serve(scripted({ chat: says("Hi") }, [model]));
    const generationConfig = { responseModalities: ["IMAGE"] };
    const { error } = await json(
      await server.post(`${path}:generateContent`, { contents, generationConfig }),
    );
    expect(error.details[0].metadata.param).toBe("generationConfig.responseModalities");
  });
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
