/** Clients of vendors, unmodified: what they say of how tokens are chosen and told reaches the model. */
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { GoogleGenAI } from "@google/genai";
import { generateText } from "ai";
import OpenAI, { BadRequestError } from "openai";
import { expect, test } from "vitest";
import { serve } from "../doors/serve.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";

/** A gateway before a model. @param supports what it does; default: all */
async function before(supports?: string[]) {
  const model = chatModel("chat-1", supports && { supports });
  const backend = scripted({ chat: says("Hi") }, [model]);
  return { backend, ...(await serve(backend)) };
}

const penalties = { frequency_penalty: 0.5, presence_penalty: -0.5 };
const told = { frequencyPenalty: 0.5, presencePenalty: -0.5 };

test("openai: chat completions, with what vLLM's clients add", async () => {
  const { url, backend } = await before();
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Hello" }];
  const extra = { min_p: 0.05, repetition_penalty: 1.1 };
  await client.chat.completions.create({
    ...{ model: "chat-1", messages, ...penalties, logprobs: true, top_logprobs: 2 },
    ...{ verbosity: "low", ...extra },
  });
  expect(backend.asked).toMatchObject([
    {
      ...{ ...told, logprobs: true, topLogprobs: 2 },
      ...{ verbosity: "low", minP: 0.05, repetitionPenalty: 1.1 },
    },
  ]);
});

test("openai: responses", async () => {
  const { url, backend } = await before();
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
  await client.responses.create({
    ...{ model: "chat-1", input: "Hello", top_logprobs: 2, text: { verbosity: "high" } },
    include: ["message.output_text.logprobs"],
  });
  expect(backend.asked).toMatchObject([{ logprobs: true, topLogprobs: 2, verbosity: "high" }]);
});

test("openai: logprobs that a model can't tell are an error that names them", async () => {
  const { url } = await before(["max_tokens"]);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Hello" }];
  const asked = { model: "chat-1", messages, logprobs: true };
  const thrown = await client.chat.completions.create(asked).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(BadRequestError);
  expect(thrown).toMatchObject({ code: "unsupported_parameter", param: "logprobs" });
  const { choices } = await client.chat.completions.create({ ...asked, logprobs: false });
  expect(choices[0]?.message.content).toBe("Hi");
});

test("@google/genai", async () => {
  const { url, backend } = await before();
  const client = new GoogleGenAI({ apiKey: "me", httpOptions: { baseUrl: url } });
  await client.models.generateContent({
    ...{ model: "chat-1", contents: "Hello" },
    config: { ...told, responseLogprobs: true, logprobs: 2 },
  });
  expect(backend.asked).toMatchObject([{ ...told, logprobs: true, topLogprobs: 2 }]);
});

test("AI SDK: providers of OpenAI's form, of OpenAI and of Google", async () => {
  const { url, backend } = await before();
  const prompt = "Hello";
  const baseURL = `${url}/v1`;
  const compatible = createOpenAICompatible({ name: "lintel", baseURL, apiKey: "me" });
  await generateText({
    ...{ model: compatible("chat-1"), prompt, ...told },
    providerOptions: { lintel: { min_p: 0.05, textVerbosity: "low" } },
  });
  const openai = createOpenAI({ baseURL, apiKey: "me" });
  await generateText({
    ...{ model: openai("chat-1"), prompt },
    providerOptions: { openai: { logprobs: 2, textVerbosity: "low" } },
  });
  const google = createGoogleGenerativeAI({ apiKey: "me", baseURL: `${url}/v1beta` });
  await generateText({ model: google("chat-1"), prompt, ...told });
  expect(backend.asked).toMatchObject([
    { ...told, minP: 0.05, verbosity: "low" },
    { logprobs: true, topLogprobs: 2, verbosity: "low" },
    told,
  ]);
});
