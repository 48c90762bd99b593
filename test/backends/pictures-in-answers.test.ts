/** Models that draw in their answers: pictures are handed on, and told again with a conversation; of sounds and files callers are told that they were left out. */
import { describe, expect, it } from "vitest";
import { asked, bodies } from "./ai-sdk-calls.js";
import { compatibleAt } from "./ai-sdk-subject.js";
import { compatible, gemini, googleAt } from "./ai-sdk-thoughts.js";
import { backendFor, chunk, streamOf } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const png = "iVBORw0KGgo".repeat(20);
const url = `data:image/png;base64,${png}`;
const picture = { type: "image_url", image_url: { url } };
const left = (kind: string) =>
  `content: answers are text and images, left out: ${kind} of the model`;

const openaiAt = (at: string) => backendFor(at, { models: ["m"], dialect: "vllm" });

/** A model of Google's that draws. */
const drawer = (at: string) => googleAt(at, { models: [{ id: "gemini-3-pro-image" }] });

/** The pictures of an answer. */
const picturesOf = ({ messages }: Awaited<ReturnType<typeof asked>>) =>
  messages
    .flatMap(({ choices }) => choices)
    .flatMap(({ delta, message }) => (delta ?? message)?.images ?? [])
    .map(({ type, imageUrl, extraContent }) => [type, imageUrl?.url, extraContent]);
const drawn = (at = url, extra?: string) => ["image_url", at, extra];

describe.each(["chat", "complete"] as const)("%s", (method) => {
  it.each([
    ["OpenRouter, LiteLLM, Vercel, Lintel", picture],
    ["as a text", { type: "image_url", image_url: url }],
    ["older LiteLLMs", { url }],
  ])("images beside the text (%s)", async (_, image) => {
    const server = await serve(compatible({ content: "Here it is.", images: [image, picture] }));
    for (const backend of [openaiAt(server.url), compatibleAt(server.url)]) {
      const answer = await asked(opened(backend), method, {});
      expect([answer.code, answer.text, answer.warnings]).toEqual(["ok", "Here it is.", []]);
      expect(picturesOf(answer)).toEqual([drawn(), drawn()]);
    }
  });

  it.each([
    ["sounds beside the text (OpenAI)", { audio: { id: "a", data: "UklGRg==" } }, ["sounds"]],
    ["none", { images: [], audio: null }, []],
    ["no more than the name of a sound", { audio: { id: "a" } }, []],
    ["images that have none", { images: [{}, "x", { type: "image_url" }] }, ["images"]],
  ])("%s", async (_, more, kinds) => {
    const server = await serve(compatible({ content: "Here it is.", ...more }));
    for (const backend of [openaiAt(server.url), compatibleAt(server.url)]) {
      const answer = await asked(opened(backend), method, {});
      const { code, text, warnings, messages } = answer;
      expect([code, text, warnings]).toEqual(["ok", "Here it is.", kinds.map(left)]);
      expect(messages.at(-1)?.warnings).toEqual(kinds.map(left));
      expect(picturesOf(answer)).toEqual([]);
    }
  });

  it("images among the parts of the text (vLLM-Omni)", async () => {
    const content = [{ type: "text", text: "Here " }, picture, { type: "text", text: "it is." }];
    const server = await serve(compatible({ content }));
    const answer = await asked(opened(openaiAt(server.url)), method, {});
    expect([answer.text, answer.warnings]).toEqual(["Here it is.", []]);
    expect(picturesOf(answer)).toEqual([drawn()]);
  });

  it("nothing but images, and what belongs to one", async () => {
    const signed = { ...picture, extra_content: { google: { thought_signature: "c2ln" } } };
    const server = await serve(compatible({ content: null, images: [picture, signed] }));
    const answer = await asked(opened(openaiAt(server.url)), method, {});
    expect([answer.code, answer.text, answer.warnings]).toEqual(["ok", "", []]);
    const extra = '{"google":{"thought_signature":"c2ln"}}';
    expect(picturesOf(answer)).toEqual([drawn(), drawn(url, extra)]);
  });

  it("what is no picture is left out, and an address is one", async () => {
    const at = (address: string) => ({ type: "image_url", image_url: { url: address } });
    const images = [at("file:///etc/passwd"), at("https://images.example/a.png"), at("x")];
    const server = await serve(compatible({ content: "Here.", images }));
    const answer = await asked(opened(openaiAt(server.url)), method, {});
    expect(picturesOf(answer)).toEqual([drawn("https://images.example/a.png")]);
    expect(answer.warnings).toEqual([
      "images: the model server sent something that is none, left out",
    ]);
  });

  it("of Gemini, without those that it drew while it thought", async () => {
    const inlineData = { mimeType: "image/png", data: png };
    const server = await serve(
      gemini(
        { inlineData, thought: true },
        { text: "Here " },
        { inlineData, thoughtSignature: "c2ln" },
        { text: "it is." },
      ),
    );
    const answer = await asked(opened(googleAt(server.url)), method, { model: "gemini-3-pro" });
    expect([answer.text, answer.warnings]).toEqual(["Here it is.", []]);
    const extra = '{"google":{"thought_signature":"c2ln"}}';
    expect(picturesOf(answer)).toEqual([drawn(url, extra)]);
  });

  it.each([
    ["audio/wav", "sounds"],
    ["application/pdf", "files"],
  ])("%s of Gemini", async (mimeType, kind) => {
    const inlineData = { mimeType, data: "iVBORw0KGgo=" };
    const server = await serve(gemini({ text: "Here " }, { inlineData }, { text: "it is." }));
    const { text, warnings } = await asked(opened(googleAt(server.url)), method, {
      model: "gemini-3-pro",
    });
    expect([text, warnings]).toEqual(["Here it is.", [left(kind)]]);
  });

  it("pictures that came behind a text with thoughts in it", async () => {
    const content = "<think>Hm.</think>Here it is.";
    const server = await serve(compatible({ content, images: [picture] }));
    for (const backend of [openaiAt(server.url), compatibleAt(server.url)]) {
      const answer = await asked(opened(backend), method, {});
      expect(answer.text).toBe("Here it is.");
      expect(picturesOf(answer)).toEqual([drawn()]);
    }
  });
});

it("a sound in the place of text, in a stream (vLLM-Omni), is no text", async () => {
  const of = (modality: string, ...chunks: object[]) => chunks.map((it) => ({ ...it, modality }));
  const words = ["It ", "is ", "here"].map((content) => chunk({ content }));
  const script: Script = async (exchange) => {
    await exchange.stream(
      ...of("text", ...words, chunk({ content: "." }, "stop")),
      ...of("image", chunk({ content: [picture] })),
      ...of("audio", chunk({ content: "UklGRiQA" }), chunk({ content: "UklGRiQB" }, "stop")),
      "data: [DONE]\n\n",
    );
    await exchange.end();
  };
  const server = await serve(script);
  const answer = await asked(opened(openaiAt(server.url)), "chat", {});
  expect([answer.text, answer.warnings]).toEqual(["It is here.", [left("sounds")]]);
  expect(picturesOf(answer)).toEqual([drawn()]);
});

it("what stands in further choices of a whole answer (vLLM-Omni)", async () => {
  const choices = [
    { index: 0, message: { role: "assistant", content: "It is here." }, finish_reason: "stop" },
    { index: 0, message: { content: null, audio: { data: "UklGRg==" } }, finish_reason: "stop" },
    { index: 0, message: { role: "assistant", content: [picture] }, finish_reason: "stop" },
  ];
  const server = await serve((exchange) => exchange.sendJson(200, { id: "c", choices }));
  const answer = await asked(opened(openaiAt(server.url)), "complete", {});
  expect([answer.text, answer.warnings]).toEqual(["It is here.", [left("sounds")]]);
  expect(picturesOf(answer)).toEqual([drawn()]);
});

it("a picture in each of some chunks, one after the other, between pieces of the text", async () => {
  const other = { type: "image_url", image_url: { url: `${url}AAAA` } };
  const server = await serve(
    streamOf([{ content: "a" }, { images: [picture] }, { content: "b" }, { images: [other] }]),
  );
  const answer = await asked(opened(openaiAt(server.url)), "chat", {});
  expect([answer.text, answer.warnings]).toEqual(["ab", []]);
  expect(picturesOf(answer)).toEqual([drawn(), drawn(`${url}AAAA`)]);
  const order = answer.messages.map(({ choices: [choice] }) => {
    const { content = "", images = [] } = choice?.delta ?? {};
    return content || (images.length > 0 ? "picture" : "end");
  });
  expect(order).toEqual(["a", "picture", "b", "picture", "end"]);
});

it("in chunks that are alike but for their text, each with its own", async () => {
  const server = await serve(
    streamOf([
      { content: "a", images: [picture] },
      { content: "b", images: [picture] },
      { content: "c", images: [picture] },
    ]),
  );
  const answer = await asked(opened(openaiAt(server.url)), "chat", {});
  expect([answer.text, picturesOf(answer)]).toEqual(["abc", [drawn(), drawn(), drawn()]]);
});

it("of a server that answers whole where a stream was asked for", async () => {
  const message = { role: "assistant", content: "Here.", images: [picture] };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const server = await serve((exchange) => exchange.sendJson(200, { id: "c", choices }));
  for (const backend of [openaiAt(server.url), compatibleAt(server.url)]) {
    const answer = await asked(opened(backend), "chat", {});
    expect([answer.text, picturesOf(answer)]).toEqual(["Here.", [drawn()]]);
  }
});

it("of a server that streams where a whole answer was asked for", async () => {
  const server = await serve(streamOf([{ content: "a" }, { images: [picture] }]));
  const answer = await asked(opened(openaiAt(server.url)), "complete", {});
  expect([answer.text, picturesOf(answer)]).toEqual(["a", [drawn()]]);
});

describe("who asks for pictures", () => {
  const google = "@ai-sdk/google";
  const drawing = { modalities: ["text", "image"] };
  const how = { imageConfig: { aspectRatio: "16:9", imageSize: "2K" } };

  it("is heard by servers of OpenAI's form, as OpenRouter reads it", async () => {
    const server = await serve(compatible({ content: "Here.", images: [picture] }));
    const unknown = backendFor(server.url, { models: ["m"] });
    await asked(opened(unknown), "chat", { ...drawing, ...how });
    await asked(opened(unknown), "chat", { imageConfig: { aspectRatio: "1:1", imageSize: "" } });
    await asked(opened(unknown), "chat", {});
    const asks = bodies(server).filter((body) => "messages" in body);
    expect(asks.map(({ modalities, image_config: how }) => [modalities, how])).toEqual([
      [["text", "image"], { aspect_ratio: "16:9", image_size: "2K" }],
      [undefined, { aspect_ratio: "1:1" }],
      [undefined, undefined],
    ]);
  });

  it("goes without image_config where a server refuses that, and learns it", async () => {
    const server = await serve(async (exchange) => {
      if (exchange.json().image_config !== undefined) {
        return exchange.sendJson(400, {
          error: { message: "image_config: Extra inputs are not permitted" },
        });
      }
      return compatible({ content: "Here.", images: [picture] })(exchange);
    });
    const backend = opened(backendFor(server.url, { models: ["m"] }));
    for (const requests of [2, 3]) {
      const answer = await asked(backend, "chat", { ...drawing, ...how });
      expect(answer.warnings).toEqual(["image_config: not supported by this model, ignored"]);
      expect(picturesOf(answer)).toEqual([drawn()]);
      expect(server.requests).toHaveLength(requests);
    }
  });

  it("is refused by name where the server refuses it", async () => {
    const server = await serve((exchange) =>
      exchange.sendJson(400, { error: { message: "modalities is not supported by this model" } }),
    );
    const { code, error } = await asked(
      opened(backendFor(server.url, { models: ["m"] })),
      "chat",
      drawing,
    );
    expect([code, error?.param]).toEqual(["unsupported_parameter", "modalities"]);
  });

  it.each(["chat", "complete"] as const)(
    "is heard by Gemini's image models: %s",
    async (method) => {
      const server = await serve(gemini({ text: "Here." }));
      const backend = drawer(server.url);
      await asked(opened(backend), method, { model: "gemini-3-pro-image", ...drawing, ...how });
      expect(bodies(server)[0].generationConfig).toMatchObject({
        responseModalities: ["TEXT", "IMAGE"],
        imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
      });
    },
  );

  it(`hears from others of ${google} that they draw nothing`, async () => {
    const server = await serve(gemini({ text: "Here." }));
    const backend = googleAt(server.url);
    const { code, error } = await asked(opened(backend), "chat", {
      ...{ model: "gemini-3-pro", ...drawing },
    });
    expect([code, error?.param]).toEqual(["unsupported_parameter", "modalities"]);
    const words = await asked(opened(backend), "chat", {
      model: "gemini-3-pro",
      modalities: ["text"],
    });
    expect([words.code, words.warnings]).toEqual(["ok", []]);
    expect(server.requests).toHaveLength(1);
  });

  it("hears what the vendor takes for its words", async () => {
    const server = await serve(gemini({ text: "Here." }));
    const backend = drawer(server.url);
    const imageConfig = { aspectRatio: "7:3", imageSize: "" };
    const { code, error } = await asked(opened(backend), "chat", {
      ...{ model: "gemini-3-pro-image", ...drawing, imageConfig },
    });
    expect([code, error?.message]).toEqual([
      "invalid_value",
      expect.stringContaining("aspectRatio"),
    ]);
  });
});

describe("pictures that come back with a conversation", () => {
  const extraContent = '{"google":{"thought_signature":"c2ln"}}';
  const said = {
    role: "assistant",
    content: "Here it is.",
    images: [{ type: "image_url", imageUrl: { url, detail: "" }, extraContent }],
  };
  const messages = [
    { role: "user", content: "Draw." },
    said,
    { role: "user", content: "Now in blue." },
  ];

  it("reach servers of OpenAI's form as they sent them", async () => {
    const server = await serve(compatible({ content: "Here." }));
    await asked(opened(backendFor(server.url, { models: ["m"] })), "chat", { messages });
    const { messages: told } = bodies(server).at(-1);
    expect(told[1]).toEqual({
      role: "assistant",
      content: "Here it is.",
      images: [{ ...picture, extra_content: { google: { thought_signature: "c2ln" } } }],
    });
  });

  it("stay where a server refuses messages without words, and turns in a row", async () => {
    const server = await serve(async (exchange) => {
      const { messages = [] } = exchange.json();
      const roles = messages.map(({ role }: { role: string }) => role);
      const inRow = roles.some((role: string, i: number) => role === roles[i + 1]);
      const blank = messages.some((it: Record<string, unknown>) => !it.content && !it.images);
      const message = blank ? "content must not be empty" : "roles must alternate";
      if (blank || inRow) return exchange.sendJson(400, { error: { message } });
      return compatible({ content: "Here." })(exchange);
    });
    const backend = opened(backendFor(server.url, { models: ["m"] }));
    const alone = { ...said, content: "" };
    const more = [messages[0], alone, alone, { role: "assistant", content: "" }, messages[2]];
    const { code } = await asked(backend, "chat", { messages: more });
    expect(code).toBe("ok");
    const { messages: told } = bodies(server).at(-1);
    expect(told.map(({ images = [] }: { images?: object[] }) => images.length)).toEqual([0, 2, 0]);
  });

  it("reach Gemini with their signatures", async () => {
    const server = await serve(gemini({ text: "Here." }));
    const backend = opened(drawer(server.url));
    const model = "gemini-3-pro-image";
    await asked(backend, "chat", { model, messages });
    expect(bodies(server)[0].contents[1]).toEqual({
      role: "model",
      parts: [
        { text: "Here it is." },
        { inlineData: { mimeType: "image/png", data: png }, thoughtSignature: "c2ln" },
      ],
    });
    const alone = messages.with(1, { ...said, content: "" });
    await asked(backend, "chat", { model, messages: alone });
    expect(bodies(server)[1].contents[1].parts).toHaveLength(1);
  });

  it("at an address are refused before Gemini, by what takes them", async () => {
    const server = await serve(gemini({ text: "Here." }));
    const at = { type: "image_url", imageUrl: { url: "https://images.example/a.png", detail: "" } };
    const { code, error } = await asked(opened(drawer(server.url)), "chat", {
      model: "gemini-3-pro-image",
      messages: messages.with(1, { ...said, images: [at as never] }),
    });
    expect([code, error?.param]).toEqual(["unsupported_parameter", "messages"]);
    expect(server.requests).toEqual([]);
  });
});
