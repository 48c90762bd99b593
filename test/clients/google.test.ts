/** Google's own SDK, and the AI SDK's provider for it, unmodified. */
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import {
  ApiError,
  FunctionCallingConfigMode,
  type GenerateContentParameters,
  GoogleGenAI,
  type Part,
} from "@google/genai";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { tokenCount } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { serve } from "../doors/serve.js";
import { filePart, imagePart } from "../support/messages.js";
import { breaksAfter, type Scripted, says, scripted } from "../support/scripted.js";
import { thinker, toldThoughts } from "./thinker.js";
import { citySchema, toldWeather, weatherBackend } from "./weather.js";

const model = "chat-1";
const asked = { model, contents: "Hello" };
const weather = {
  name: "weather",
  description: "The weather in a city.",
  parametersJsonSchema: citySchema,
};
const pdf = Buffer.from("%PDF-1.7 and so on").toString("base64");

async function sdk(chat: Handle<"chat"> | Scripted = says("Hi", " there"), apiKey = "me") {
  const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat);
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } });
}

describe("@google/genai", () => {
  test("generateContent", async () => {
    const { text, usageMetadata, modelVersion } = await (await sdk()).models.generateContent(asked);
    expect([text, modelVersion]).toEqual(["Hi there", model]);
    expect(usageMetadata?.totalTokenCount).toBe(9);
  });

  test("generateContentStream", async () => {
    const stream = await (await sdk()).models.generateContentStream(asked);
    const texts: unknown[] = [];
    let total: number | undefined;
    for await (const { text, usageMetadata } of stream) {
      texts.push(text);
      total = usageMetadata?.totalTokenCount;
    }
    expect([texts, total]).toEqual([["Hi", " there", ""], 9]);
  });

  test("countTokens", async () => {
    const backend = scripted({
      async *countTokens() {
        yield [tokenCount(17)];
      },
    });
    const { totalTokens } = await (await sdk(backend)).models.countTokens(asked);
    expect(totalTokens).toBe(17);
    expect(backend.asked).toMatchObject([{ messages: [{ role: "user", content: "Hello" }] }]);
  });

  test("a chat sends what was said in a stream", async () => {
    const backend = scripted({ chat: says("Hi", " there") });
    const chat = (await sdk(backend)).chats.create({ model });
    for await (const _ of await chat.sendMessageStream({ message: "Hello" }));
    await chat.sendMessage({ message: "And?" });
    expect(backend.asked.at(-1)).toMatchObject({
      messages: [{ content: "Hello" }, { content: "Hi there" }, { content: "And?" }],
    });
  });

  test.each([false, true])("functions, in a stream: %s", async (streams) => {
    const backend = weatherBackend();
    const { models } = await sdk(backend);
    const config = { tools: [{ functionDeclarations: [weather] }] };
    const ask = async (contents: GenerateContentParameters["contents"]): Promise<Part[]> => {
      const body = { model, contents, config };
      if (!streams) {
        return (await models.generateContent(body)).candidates?.[0]?.content?.parts ?? [];
      }
      const parts: Part[] = [];
      for await (const { candidates } of await models.generateContentStream(body)) {
        parts.push(...(candidates?.[0]?.content?.parts ?? []));
      }
      return parts;
    };
    const user = { role: "user", parts: [{ text: "Hello" }] };
    const said = await ask([user]);
    const call = said.find(({ functionCall }) => functionCall)?.functionCall;
    expect(call).toEqual({ id: "c1", name: "weather", args: { city: "Rome" } });
    const functionResponse = { id: call?.id ?? "", name: "weather", response: { output: "sunny" } };
    const second = await ask([
      user,
      { role: "model", parts: said },
      { role: "user", parts: [{ functionResponse }] },
    ]);
    expect(second.map(({ text }) => text).join("")).toBe("It is sunny");
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldWeather });
  });

  test("thoughts come back to the model server", async () => {
    const { backend, bodies } = await thinker();
    const { models } = await sdk(backend as Scripted);
    const config = {
      tools: [{ functionDeclarations: [weather] }],
      thinkingConfig: { includeThoughts: true },
    };
    const user = { role: "user", parts: [{ text: "Hello" }] };
    const parts: Part[] = [];
    const body = { model, contents: [user], config };
    for await (const { candidates } of await models.generateContentStream(body)) {
      parts.push(...(candidates?.[0]?.content?.parts ?? []));
    }
    const functionResponse = { id: "c1", name: "weather", response: { output: "sunny" } };
    const contents = [
      user,
      { role: "model", parts },
      { role: "user", parts: [{ functionResponse }] },
    ];
    await models.generateContent({ model, contents, config });
    expect(bodies().at(-1)?.messages.at(-2)).toMatchObject(toldThoughts);
  });

  test("an image, a PDF, and a form of the answer", async () => {
    const backend = scripted({ chat: says('{"city":"Rome"}') });
    const data = "iVBORw0KGgo=";
    const { text } = await (await sdk(backend)).models.generateContent({
      model,
      contents: [
        { inlineData: { mimeType: "image/png", data } },
        { inlineData: { mimeType: "application/pdf", data: pdf } },
      ],
      config: {
        ...{ responseMimeType: "application/json", responseJsonSchema: citySchema },
        toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.NONE } },
      },
    });
    expect(JSON.parse(text ?? "")).toEqual({ city: "Rome" });
    const parts = [
      imagePart(`data:image/png;base64,${data}`),
      filePart(`data:application/pdf;base64,${pdf}`),
    ];
    expect(backend.asked[0]).toMatchObject({
      messages: [{ parts }],
      responseFormat: { type: "json_schema", jsonSchema: { schema: JSON.stringify(citySchema) } },
    });
  });

  test("models", async () => {
    const client = await sdk();
    const names: unknown[] = [];
    for await (const { name } of await client.models.list()) names.push(name);
    expect(names).toEqual(["models/chat-1", "models/image-1"]);
    expect((await client.models.get({ model })).name).toBe("models/chat-1");
  });

  test.each([
    ["invalid_value", 400],
    ["model_not_found", 404],
    ["rate_limited", 429],
  ] as const)("an error has its status and its words: %s", async (code, status) => {
    const { models } = await sdk(async function* () {
      yield* [];
      throw new LintelError(code, "so it is", { retry: "never" });
    });
    const failed = models.generateContent(asked).catch((thrown) => thrown);
    expect(await failed).toBeInstanceOf(ApiError);
    expect(await failed).toMatchObject({ status, message: expect.stringContaining("so it is") });
  });

  test("a failure in mid-stream is one, too", async () => {
    const { models } = await sdk(breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi"));
    const texts: unknown[] = [];
    const read = async () => {
      for await (const { text } of await models.generateContentStream(asked)) texts.push(text);
    };
    await expect(read()).rejects.toThrow("it broke");
  });

  test("a wrong key", async () => {
    const { url } = await serve(scripted({ chat: says("Hi") }), {
      core: { auth: { mode: "token", tokens: [] } },
    });
    const client = new GoogleGenAI({ apiKey: "no", httpOptions: { baseUrl: url } });
    await expect(client.models.generateContent(asked)).rejects.toMatchObject({ status: 401 });
  });
});

describe("AI SDK: @ai-sdk/google", () => {
  const provider = async (chat: Handle<"chat"> | Scripted = says("Hi", " there")) => {
    const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat);
    return createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: "me" })(model);
  };
  const prompt = "Hello";
  const maxRetries = 0;

  test("generateText and streamText", async () => {
    const { text, usage, finishReason } = await generateText({
      model: await provider(),
      prompt,
      maxRetries,
    });
    expect([text, usage.totalTokens, finishReason]).toEqual(["Hi there", 9, "stop"]);
    const result = streamText({ model: await provider(), prompt, maxRetries });
    const texts: string[] = [];
    for await (const part of result.textStream) texts.push(part);
    expect(texts.join("")).toBe("Hi there");
    expect((await result.usage).totalTokens).toBe(9);
  });

  test.each([false, true])("tools, in a stream: %s", async (streams) => {
    const backend = weatherBackend();
    const input = {
      model: await provider(backend),
      ...{ prompt, maxRetries, stopWhen: stepCountIs(2) },
      tools: {
        weather: tool({
          inputSchema: jsonSchema<{ city: string }>({ ...citySchema, required: ["city"] }),
          execute: () => "sunny",
        }),
      },
    };
    const text = streams ? await streamText(input).text : (await generateText(input)).text;
    expect(text).toBe("It is sunny");
    expect(backend.asked.at(-1)).toMatchObject({
      messages: [{}, { content: "I look" }, { role: "tool" }],
    });
  });

  test("an object", async () => {
    const backend = scripted({ chat: says('{"city":"Rome"}') });
    const schema = jsonSchema<{ city: string }>({ ...citySchema, required: ["city"] });
    const output = Output.object({ schema });
    const result = await generateText({
      model: await provider(backend),
      prompt,
      maxRetries,
      output,
    });
    expect(result.output).toEqual({ city: "Rome" });
    expect(backend.asked[0]).toHaveProperty("responseFormat.type", "json_schema");
  });

  test("thoughts, and a failure in mid-stream", async () => {
    const { backend } = await thinker();
    const google = { thinkingConfig: { includeThoughts: true } };
    const thinking = await provider(backend as Scripted);
    const { reasoningText } = await generateText({
      ...{ model: thinking, prompt, maxRetries, providerOptions: { google } },
    });
    expect(reasoningText).toBe("I should look");
    const broken = breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi");
    const errors: unknown[] = [];
    const result = streamText({
      ...{ model: await provider(broken), prompt, maxRetries },
      onError: ({ error }) => void errors.push(error),
    });
    await result.consumeStream();
    expect(errors.length).toBeGreaterThan(0);
  });
});
