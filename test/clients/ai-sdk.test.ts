/** The Vercel AI SDK with its providers for OpenAI and for OpenAI-compatible servers, unmodified. */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  generateImage,
  generateObject,
  generateText,
  Output,
  stepCountIs,
  streamObject,
  streamText,
  tool,
} from "ai";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { type Setting, serve } from "../doors/serve.js";
import {
  breaksAfter,
  callsTools,
  paints,
  png,
  type Scripted,
  says,
  scripted,
  usesTool,
} from "../support/scripted.js";

/** A provider's models, of a server. */
const providers = {
  "@ai-sdk/openai": (baseURL: string) => {
    const openai = createOpenAI({ baseURL, apiKey: "me" });
    return { chat: openai.chat("chat-1"), image: openai.image("image-1") };
  },
  "@ai-sdk/openai-compatible": (baseURL: string) => {
    // Without these it does not ask for usage, nor tells of schemas.
    const asks = { includeUsage: true, supportsStructuredOutputs: true };
    const lintel = createOpenAICompatible({ name: "lintel", baseURL, apiKey: "me", ...asks });
    return { chat: lintel("chat-1"), image: lintel.imageModel("image-1") };
  },
};

const prompt = "Hello";
const maxRetries = 0;

describe.each(Object.entries(providers))("Vercel AI SDK: %s", (_name, provider) => {
  const models = async (
    chat: Handle<"chat"> | Scripted = says("Hi", " there"),
    setting?: Setting,
  ) => {
    const backend =
      typeof chat === "function" ? scripted({ chat, streamTextToImage: paints() }) : chat;
    const { url } = await serve(backend, setting);
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

  const city = z.object({ city: z.string() });
  const tools = {
    weather: tool({ inputSchema: city, execute: (it: { city: string }) => `sunny in ${it.city}` }),
  };
  const stopWhen = stepCountIs(3);

  test("generateText with tools", async () => {
    const backend = scripted({ chat: usesTool("weather") });
    const { chat: model } = await models(backend);
    const { steps, text } = await generateText({ model, prompt, maxRetries, tools, stopWhen });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(steps[0]?.toolCalls.map(({ input }) => input)).toEqual([
      { city: "Rome" },
      { city: "Oslo" },
    ]);
    expect(text).toBe("sunny in Romesunny in Oslo");
    expect(backend.asked[1]).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", toolCalls: [{ id: "a" }, { id: "b" }] },
        { role: "tool", toolCallId: "a" },
        { role: "tool", toolCallId: "b" },
      ],
    });
  });

  test("streamText with tools", async () => {
    const { chat: model } = await models(usesTool("weather"));
    const result = streamText({ model, prompt, maxRetries, tools, stopWhen });
    const called: unknown[] = [];
    for await (const part of result.fullStream) {
      if (part.type === "tool-call") called.push(part.input);
    }
    expect(called).toEqual([{ city: "Rome" }, { city: "Oslo" }]);
    expect(await result.text).toBe("sunny in Romesunny in Oslo");
    expect((await result.totalUsage).outputTokens).toBe(5);
  });

  test("calls that their server gave one id have their own arguments, and results", async () => {
    const cities = ["Rome", "Oslo"];
    const calls = cities.map((it, i) => toolCall(i, "a", "weather", JSON.stringify({ city: it })));
    const backend = scripted({
      chat: (call) => (call.request.messages.length > 1 ? says("Done") : callsTools(calls))(call),
    });
    const { chat: model } = await models(backend);
    const { steps } = await generateText({ model, prompt, maxRetries, tools, stopWhen });
    expect(steps[0]?.toolCalls.map(({ input }) => input)).toEqual(
      cities.map((it) => ({ city: it })),
    );
    const [, said, ...results] = (backend.asked[1] as LLMRequest).messages;
    expect(said?.toolCalls.map(({ id }) => id)).toEqual(results.map((it) => it.toolCallId));
    expect(results.map(({ content }) => content)).toEqual(cities.map((it) => `sunny in ${it}`));
  });

  test("a tool that must be called", async () => {
    const backend = scripted({ chat: usesTool("weather") });
    const { chat: model } = await models(backend);
    const toolChoice = { type: "tool", toolName: "weather" } as const;
    await generateText({ model, prompt, maxRetries, tools, toolChoice });
    expect(backend.asked[0]).toMatchObject({
      toolChoice: { type: "function", function: { name: "weather" } },
    });
  });

  test("answers by a schema, whole and streamed", async () => {
    const backend = scripted({ chat: says('{"city":', '"Rome"}') });
    const { chat: model } = await models(backend);
    const asking = { model, prompt, maxRetries };
    const rome = { city: "Rome" };
    expect((await generateObject({ ...asking, schema: city })).object).toEqual(rome);
    const streamed = streamObject({ ...asking, schema: city });
    for await (const _ of streamed.partialObjectStream);
    expect(await streamed.object).toEqual(rome);
    const output = Output.object({ schema: city });
    expect((await generateText({ ...asking, output })).output).toEqual(rome);
    expect(backend.asked).toHaveLength(3);
    for (const request of backend.asked) {
      expect(request).toMatchObject({
        responseFormat: {
          type: "json_schema",
          jsonSchema: { schema: expect.stringContaining('"city"'), strict: true },
        },
      });
    }
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
