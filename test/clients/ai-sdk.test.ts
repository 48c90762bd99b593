/** The Vercel AI SDK with its providers for OpenAI and for OpenAI-compatible servers, unmodified. */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateImage, generateText, streamText } from "ai";
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { type Setting, serve } from "../doors/serve.js";
import { breaksAfter, paints, png, says, scripted } from "../support/scripted.js";

/** A provider's models, of a server. */
const providers = {
  "@ai-sdk/openai": (baseURL: string) => {
    const openai = createOpenAI({ baseURL, apiKey: "me" });
    return { chat: openai.chat("chat-1"), image: openai.image("image-1") };
  },
  "@ai-sdk/openai-compatible": (baseURL: string) => {
    const apiKey = "me";
    const lintel = createOpenAICompatible({ name: "lintel", baseURL, apiKey, includeUsage: true });
    return { chat: lintel("chat-1"), image: lintel.imageModel("image-1") };
  },
};

const prompt = "Hello";
const maxRetries = 0;

describe.each(Object.entries(providers))("Vercel AI SDK: %s", (_name, provider) => {
  const models = async (chat: Handle<"chat"> = says("Hi", " there"), setting?: Setting) => {
    const { url } = await serve(scripted({ chat, streamTextToImage: paints() }), setting);
    return provider(`${url}/v1`);
  };

  test("generateText", async () => {
    const { chat: model } = await models();
    const { text, finishReason, usage } = await generateText({ model, prompt, maxRetries });
    expect(text).toBe("Hi there");
    expect(finishReason).toBe("stop");
    expect(usage.totalTokens).toBe(9);
  });

  test("streamText", async () => {
    const { chat: model } = await models();
    const result = streamText({ model, prompt, maxRetries });
    const parts: string[] = [];
    for await (const part of result.textStream) parts.push(part);
    expect(parts).toEqual(["Hi", " there"]);
    expect(await result.finishReason).toBe("stop");
    expect((await result.usage).totalTokens).toBe(9);
  });

  test("a failure in mid-stream is an error with its message", async () => {
    const broken = breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi");
    const { chat: model } = await models(broken);
    const errors: unknown[] = [];
    const result = streamText({
      model,
      prompt,
      maxRetries,
      onError: ({ error }) => {
        errors.push(error);
      },
    });
    for await (const _ of result.textStream);
    expect(JSON.stringify(errors)).toMatch("it broke");
    expect(await result.finishReason).toBe("error");
  });

  test("generateImage", async () => {
    const { image: model } = await models();
    const { image } = await generateImage({ model, prompt: "a cat", size: "64x64", maxRetries });
    expect(image.mediaType).toBe("image/png");
    expect(Buffer.from(image.uint8Array).subarray(0, 8)).toEqual(png(0).subarray(0, 8));
  });

  test("a validation error and a wrong token", async () => {
    const { chat: model } = await models();
    await expect(generateText({ model, prompt, temperature: 9, maxRetries })).rejects.toThrow(
      /temperature: must be/,
    );
    const refused = await models(says("Hi"), { core: { auth: { mode: "token", tokens: [] } } });
    await expect(generateText({ model: refused.chat, prompt, maxRetries })).rejects.toThrow(
      /token/,
    );
  });
});

test("OpenAI's own provider does not ask gpt-image for the image's bytes, and gets them", async () => {
  const { url } = await serve(scripted({ streamTextToImage: paints() }), {
    core: { models: [{ name: "image-1", aliases: ["gpt-image-1"] }] },
  });
  const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: "me" }).image("gpt-image-1");
  const { image } = await generateImage({ model, prompt: "a cat", size: "64x64", maxRetries });
  expect(Buffer.from(image.uint8Array).subarray(0, 8)).toEqual(png(0).subarray(0, 8));
});
