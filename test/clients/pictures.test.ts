/** Clients of vendors, unmodified, before a model that draws in its answers: they find its pictures where their vendor has them, and hand them back. */
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { GoogleGenAI, Modality } from "@google/genai";
import { generateText } from "ai";
import OpenAI from "openai";
import type { ResponseInput } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { drawnImage } from "../../src/core/drawn.js";
import { serve } from "../doors/serve.js";
import { say } from "../support/messages.js";
import { drawsOnce, png, scripted } from "../support/scripted.js";

const [first, second] = [png(1), png(2)].map((bytes) => bytes.toString("base64")) as [
  string,
  string,
];
const urlOf = (data: string) => `data:image/png;base64,${data}`;
const extra = '{"google":{"thought_signature":"c2ln"}}';
const pictures = [drawnImage(urlOf(first), extra), drawnImage(urlOf(second))];

/** A gateway before a model that draws two pictures. */
async function drawer() {
  const backend = scripted({ chat: drawsOnce("Here ", pictures, "they are.") });
  return { backend, ...(await serve(backend)) };
}

/** What the model was told again. */
const again = [say("assistant", "Here they are.", { images: pictures }), say("user", "More.")];

test("openai: chat completions, whole and streamed, as OpenRouter has them", async () => {
  const { url, backend } = await drawer();
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Draw." }];
  const asked = { model: "chat-1", messages, modalities: ["text", "image"] as never };
  const { choices } = await client.chat.completions.create(asked);
  const message = choices[0]?.message as OpenAI.ChatCompletionMessage & { images: object[] };
  expect(message.images).toMatchObject([
    { image_url: { url: urlOf(first) } },
    { image_url: { url: urlOf(second) } },
  ]);
  const more = { role: "user" as const, content: "More." };
  const next = await client.chat.completions.create({
    ...asked,
    messages: [...messages, message, more],
  });
  expect(next.choices[0]?.message.content).toBe("2 seen");
  expect(backend.asked[1]).toMatchObject({ messages: [say("user", "Draw."), ...again] });
  const stream = client.chat.completions.stream(asked);
  const seen: unknown[] = [];
  for await (const { choices } of stream) {
    const { images = [] } = (choices[0]?.delta ?? {}) as {
      images?: { image_url: { url: string } }[];
    };
    seen.push(...images.map(({ image_url }) => image_url.url));
  }
  expect(seen).toEqual([urlOf(first), urlOf(second)]);
  expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe("Here they are.");
});

test("openai: responses, whole and streamed", async () => {
  const { url, backend } = await drawer();
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
  const results = (output: readonly OpenAI.Responses.ResponseOutputItem[]) =>
    output.flatMap((item) => (item.type === "image_generation_call" ? [item.result] : []));
  const whole = await client.responses.create({ model: "chat-1", input: "Draw." });
  expect([whole.output_text, results(whole.output)]).toEqual(["Here they are.", [first, second]]);
  const streamed = client.responses.stream({ model: "chat-1", input: "Draw." });
  const { output } = await streamed.finalResponse();
  expect(results(output)).toEqual([first, second]);
  const input = [
    { role: "user", content: "Draw." },
    ...whole.output,
    { role: "user", content: "More." },
  ] as ResponseInput;
  const next = await client.responses.create({ model: "chat-1", input });
  expect(next.output_text).toBe("2 seen");
  expect(backend.asked[2]).toMatchObject({ messages: [say("user", "Draw."), ...again] });
});

test("@google/genai: whole, streamed, and in a chat that goes on", async () => {
  const { url, backend } = await drawer();
  const client = new GoogleGenAI({ apiKey: "me", httpOptions: { baseUrl: url } });
  const config = {
    responseModalities: [Modality.TEXT, Modality.IMAGE],
    imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
  };
  const chat = client.chats.create({ model: "chat-1", config });
  const whole = await chat.sendMessage({ message: "Draw." });
  const parts = whole.candidates?.[0]?.content?.parts ?? [];
  expect(parts.map(({ text, inlineData }) => text ?? inlineData?.data)).toEqual([
    ...["Here they are.", first, second],
  ]);
  expect((await chat.sendMessage({ message: "More." })).text).toBe("2 seen");
  expect(backend.asked).toMatchObject([
    { ...{ modalities: ["text", "image"] }, imageConfig: { aspectRatio: "16:9", imageSize: "2K" } },
    { messages: [say("user", "Draw."), ...again] },
  ]);
  const stream = await client.models.generateContentStream({ model: "chat-1", contents: "Draw." });
  const seen: unknown[] = [];
  for await (const { data } of stream) if (data !== undefined) seen.push(data);
  expect(seen).toEqual([first, second]);
});

test("AI SDK: files of the provider of Google, and nothing that the one of OpenAI fails at", async () => {
  const { url } = await drawer();
  const google = createGoogleGenerativeAI({ apiKey: "me", baseURL: `${url}/v1beta` });
  const prompt = "Draw.";
  const { text, files } = await generateText({ model: google("chat-1"), prompt });
  expect([text, files.map(({ base64, mediaType }) => [mediaType, base64])]).toEqual([
    "Here they are.",
    [
      ["image/png", first],
      ["image/png", second],
    ],
  ]);
  const openai = createOpenAI({ apiKey: "me", baseURL: `${url}/v1` });
  for (const model of [openai.chat("chat-1"), openai.responses("chat-1")]) {
    expect((await generateText({ model, prompt })).text).toBe("Here they are.");
  }
});
