/** Pictures that a model draws in its answer, in Google's Gemini API. */
import { describe, expect, test } from "vitest";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { draws, says, scripted } from "../support/scripted.js";
import { asked, at, data, drawing, drawn } from "./drawing-model.js";
import { generateEvents, partsOf } from "./generate-events.js";
import { json, serve } from "./serve.js";

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
