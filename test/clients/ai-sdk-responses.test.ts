/** The Vercel AI SDK with OpenAI's own provider as it is by default, which is the Responses API; unmodified. */
import { createOpenAI, openai } from "@ai-sdk/openai";
import {
  generateObject,
  generateText,
  jsonSchema,
  type ModelMessage,
  stepCountIs,
  streamText,
  type ToolSet,
  tool,
} from "ai";
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { invalidValue, LintelError, overflow } from "../../src/core/errors.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { type Setting, serve } from "../doors/serve.js";
import { breaksAfter, callsTools, type Scripted, says, scripted } from "../support/scripted.js";
import { citySchema, patchBackend, toldPatch, toldWeather, weatherBackend } from "./weather.js";

async function modelOf(chat: Handle<"chat"> | Scripted = says("Hi", " there"), setting?: Setting) {
  const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat, setting);
  return createOpenAI({ baseURL: `${url}/v1`, apiKey: "me" })("chat-1");
}

const prompt = "Hello";
const maxRetries = 0;

/** Nothing is kept: the provider sends what was said, and no references to it. */
const providerOptions = { openai: { store: false } };

/** A model that calls the first tool that is left to be called: a search, or what that finds. */
function searching() {
  const outer = scripted({
    chat: async function* (call) {
      const { messages, tools: offered } = call.request;
      const names = offered.map(({ function: it }) => it?.name ?? "");
      const called = messages.flatMap(({ toolCalls }) => toolCalls).map((it) => it.function?.name);
      const next = names.find((name) => !called.includes(name));
      const answer = next
        ? callsTools([toolCall(0, `call_${called.length}`, next, '{"city":"Rome"}')])
        : says("It is sunny");
      yield* answer(call);
    },
  });
  const weather = tool({
    inputSchema: jsonSchema<{ city: string }>(citySchema),
    providerOptions: { openai: { deferLoading: true } },
    execute: async () => "sunny",
  });
  const found = { type: "function", name: "weather", parameters: { type: "object" } };
  const execute = async () => ({ tools: [found] });
  const asked = () =>
    outer.asked.map((it) => (it as LLMRequest).tools.map(({ function: called }) => called?.name));
  return { outer, asked, search: { execute, weather } };
}

const tools = {
  weather: tool({
    description: "The weather in a city.",
    inputSchema: jsonSchema<{ city: string }>(citySchema),
    execute: async () => "sunny",
  }),
};

describe("Vercel AI SDK: responses", () => {
  test("generateText", async () => {
    const result = await generateText({ model: await modelOf(), prompt, maxRetries });
    expect(result.text).toBe("Hi there");
    expect(result.finishReason).toBe("stop");
    expect(result.usage.totalTokens).toBe(9);
    expect(result.warnings).toEqual([]);
  });

  test("streamText", async () => {
    const result = streamText({ model: await modelOf(), prompt, maxRetries });
    const parts: string[] = [];
    for await (const part of result.textStream) parts.push(part);
    expect(parts).toEqual(["Hi", " there"]);
    expect(await result.finishReason).toBe("stop");
    expect((await result.usage).totalTokens).toBe(9);
  });

  test("tools, whole and in streams", async () => {
    const backend = weatherBackend();
    const model = await modelOf(backend);
    const asking = { model, prompt, maxRetries, tools, providerOptions, stopWhen: stepCountIs(2) };
    expect((await generateText(asking)).text).toBe("It is sunny");
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldWeather });
    expect(await streamText(asking).text).toBe("It is sunny");
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldWeather });
  });

  test("custom tools, whole and in streams", async () => {
    const backend = patchBackend();
    const model = await modelOf(backend);
    const written: unknown[] = [];
    const patch = openai.tools.customTool({
      ...{ name: "patch", format: { type: "text" } },
      execute: async (input) => {
        written.push(input);
        return "done";
      },
    });
    // The types of this SDK's own tools are not those that it takes.
    const customTools = { patch } as unknown as ToolSet;
    const stopWhen = stepCountIs(2);
    const asking = { model, prompt, maxRetries, tools: customTools, providerOptions, stopWhen };
    expect((await generateText(asking)).text).toBe("It is done");
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldPatch });
    expect(await streamText(asking).text).toBe("It is done");
    expect(backend.asked.at(-1)).toMatchObject({ messages: toldPatch });
    expect(written).toEqual(["a\nb", "a\nb"]);
  });

  test.each([
    [{ execution: "client" as const }, ["tool_search"], ["tool_search", "weather"]],
    [{}, ["weather"], ["weather"]],
  ])("a search for tools, by the client or not: %j", async (of, first, second) => {
    const { outer, asked, search } = searching();
    const { execute, weather } = search;
    const model = await modelOf(outer);
    const toolSearch = openai.tools.toolSearch({ ...of, parameters: citySchema, execute });
    const asking = { model, prompt, maxRetries, providerOptions, stopWhen: stepCountIs(3) };
    const { text } = await generateText({ ...asking, tools: { toolSearch, weather } as ToolSet });
    expect(text).toBe("It is sunny");
    expect(asked()[0]).toEqual(first);
    expect(asked().at(-1)).toEqual(second);
  });

  test("generateObject", async () => {
    const backend = scripted({ chat: says('{"city":', '"Rome"}') });
    const { object } = await generateObject({
      ...{ model: await modelOf(backend), prompt, maxRetries },
      schema: jsonSchema(citySchema),
    });
    expect(object).toEqual({ city: "Rome" });
    expect(backend.asked[0]).toMatchObject({ responseFormat: { type: "json_schema" } });
  });

  test("a conversation goes on without references, and with them it is told how", async () => {
    const model = await modelOf();
    const { response } = await generateText({ model, prompt, maxRetries });
    const messages: ModelMessage[] = [
      { role: "user", content: prompt },
      ...response.messages,
      { role: "user", content: "And?" },
    ];
    const { text } = await generateText({ model, messages, maxRetries, providerOptions });
    expect(text).toBe("Hi there");
    await expect(generateText({ model, messages, maxRetries })).rejects.toThrow(
      /item_reference is not supported: nothing is kept here/,
    );
  });

  test("a failure in mid-stream is one error with its message", async () => {
    const broken = breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi");
    const errors: unknown[] = [];
    const result = streamText({
      ...{ model: await modelOf(broken), prompt, maxRetries },
      onError: ({ error }) => {
        errors.push(error);
      },
    });
    for await (const _ of result.textStream);
    expect(errors).toHaveLength(1);
    expect(String(errors[0]) + JSON.stringify(errors)).toMatch("it broke");
    expect(await result.finishReason).toBe("error");
  });

  test("a conversation that is too long is a 400, and not asked again", async () => {
    const handle = breaksAfter(invalidValue("messages", `too long (${overflow})`));
    const backend = scripted({ chat: handle });
    const errors: unknown[] = [];
    const result = streamText({
      ...{ model: await modelOf(backend), prompt, maxRetries: 2 },
      onError: ({ error }) => {
        errors.push(error);
      },
    });
    for await (const _ of result.textStream);
    expect(errors).toMatchObject([
      { message: "input: too long (context_length_exceeded)", statusCode: 400, isRetryable: false },
    ]);
    expect(backend.asked).toHaveLength(1);
  });

  test("a validation error and a wrong token", async () => {
    const model = await modelOf();
    await expect(generateText({ model, prompt, temperature: 9, maxRetries })).rejects.toThrow(
      /temperature: must be/,
    );
    const refused = await modelOf(says("Hi"), { core: { auth: { mode: "token", tokens: [] } } });
    await expect(generateText({ model: refused, prompt, maxRetries })).rejects.toThrow(/token/);
  });
});
