/** What models think, as real clients show it and send it back; unmodified. */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import type { ResponseInput } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import { serve } from "../doors/serve.js";
import { thinker, toldThoughts } from "./thinker.js";
import { citySchema } from "./weather.js";

/** A gateway before a model server that thinks, and what the server was sent. */
async function gateway() {
  const { backend, bodies } = await thinker();
  const { url } = await serve(backend);
  return { baseURL: `${url}/v1`, bodies };
}

/** The assistant's message in the last request that the server was sent. */
const toldLast = (bodies: { messages: object[] }[]) => bodies.at(-1)?.messages.at(-2);

const question = { role: "user" as const, content: "Hello" };
const parameters: Record<string, unknown> = citySchema;

describe("openai", () => {
  const weather = {
    ...({ type: "function", name: "weather", description: null } as const),
    ...{ parameters, strict: true },
  };
  const asked = {
    ...{ model: "chat-1", tools: [weather], store: false },
    ...{ reasoning: { effort: "high" as const, summary: "auto" as const } },
  };

  test("responses: items of thoughts, whole and from the stream helper, come back as they went", async () => {
    const { baseURL, bodies } = await gateway();
    const { responses } = new OpenAI({ baseURL, apiKey: "me", maxRetries: 0 });
    const input: ResponseInput = [question];
    const shown: string[] = [];
    const stream = responses
      .stream({ ...asked, input })
      .on("response.reasoning_summary_text.delta", ({ delta }) => shown.push(delta));
    const first = [await responses.create({ ...asked, input }), await stream.finalResponse()];
    expect(shown).toEqual(["I", " should", " look"]);
    for (const { output, usage } of first) {
      expect(output.map(({ type }) => type)).toEqual(["reasoning", "function_call"]);
      expect(output[0]).toMatchObject({ summary: [{ text: "I should look" }] });
      expect(usage).toMatchObject({
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        output_tokens_details: { reasoning_tokens: 3 },
      });
      const second = await responses.create({
        ...asked,
        input: [
          ...input,
          ...(output as ResponseInput),
          { type: "function_call_output", call_id: "c1", output: "sunny" },
        ],
      });
      expect(second.output_text).toBe("It is sunny");
      expect(toldLast(bodies())).toMatchObject(toldThoughts);
    }
    for (const body of bodies()) expect(body).toMatchObject({ reasoning_effort: "high" });
  });

  test("chat: messages of a whole answer come back as they went", async () => {
    const { baseURL, bodies } = await gateway();
    const { chat } = new OpenAI({ baseURL, apiKey: "me", maxRetries: 0 });
    const request = {
      ...{ model: "chat-1", reasoning_effort: "low" as const },
      tools: [{ type: "function" as const, function: { name: "weather", parameters } }],
    };
    const { choices } = await chat.completions.create({ ...request, messages: [question] });
    const message = choices[0]?.message as OpenAI.ChatCompletionMessage;
    expect(message).toMatchObject({ reasoning_content: "I should look" });
    const result = { role: "tool" as const, tool_call_id: "c1", content: "sunny" };
    const messages = [question, message, result];
    const stream = await chat.completions.create({ ...request, messages, stream: true });
    let shown = "";
    for await (const { choices } of stream) {
      const { reasoning_content = "" } = (choices[0]?.delta ?? {}) as {
        reasoning_content?: string;
      };
      shown += reasoning_content;
    }
    expect(shown).toBe("Now I know");
    expect(toldLast(bodies())).toMatchObject(toldThoughts);
    expect(bodies()[0]).toMatchObject({ reasoning_effort: "low" });
  });
});

describe("Vercel AI SDK", () => {
  const tools = {
    weather: tool({
      inputSchema: jsonSchema<{ city: string }>(citySchema),
      execute: async () => "sunny",
    }),
  };
  const asking = { prompt: "Hello", maxRetries: 0, tools, stopWhen: stepCountIs(2) };
  /** Nothing is kept. */
  const stateless = { store: false };

  test.each([
    ["whose name it does not know", stateless, undefined],
    [
      "that is said to think",
      { ...stateless, forceReasoning: true, reasoningEffort: "high", reasoningSummary: "auto" },
      "high",
    ],
  ])(
    "responses: thoughts of a model %s are shown, and come back",
    async (_name, openai, effort) => {
      const { baseURL, bodies } = await gateway();
      const model = createOpenAI({ baseURL, apiKey: "me" })("chat-1");
      const providerOptions = { openai };

      const whole = await generateText({ ...asking, model, providerOptions });
      expect(whole.text).toBe("It is sunny");
      expect(whole.steps.map(({ reasoningText }) => reasoningText)).toEqual([
        ...["I should look", "Now I know"],
      ]);
      // Of the whole the AI SDK 6 tells of the last step, and 7 the sum.
      const usage = whole.steps.at(-1)?.usage;
      expect(usage?.outputTokenDetails.reasoningTokens).toBe(3);
      expect(usage?.inputTokenDetails).toMatchObject({
        ...{ cacheReadTokens: 4, cacheWriteTokens: 2 },
      });
      expect(toldLast(bodies())).toMatchObject(toldThoughts);

      const shown: string[] = [];
      const stream = streamText({ ...asking, model, providerOptions });
      for await (const part of stream.fullStream) {
        if (part.type === "reasoning-delta") shown.push(part.text);
      }
      expect(shown).toEqual(["I", " should", " look", "Now", " I", " know"]);
      expect(await stream.text).toBe("It is sunny");
      for (const { warnings } of [...whole.steps, ...(await stream.steps)]) {
        expect(warnings).toEqual([]);
      }
      expect(toldLast(bodies())).toMatchObject(toldThoughts);
      for (const body of bodies()) {
        if (effort) expect(body).toMatchObject({ reasoning_effort: effort });
        else expect(body).not.toHaveProperty("reasoning_effort");
      }
    },
  );

  test("chat, by @ai-sdk/openai-compatible: thoughts are shown, and their text comes back", async () => {
    const { baseURL, bodies } = await gateway();
    const model = createOpenAICompatible({ name: "lintel", baseURL, apiKey: "me" })("chat-1");
    const providerOptions = { lintel: { reasoningEffort: "low" } };
    const { reasoning_details: _, ...told } = toldThoughts;
    const whole = await generateText({ ...asking, model, providerOptions });
    expect(whole.steps.map(({ reasoningText }) => reasoningText)).toEqual([
      ...["I should look", "Now I know"],
    ]);
    expect(toldLast(bodies())).toMatchObject(told);
    const stream = streamText({ ...asking, model, providerOptions });
    expect(await stream.reasoningText).toBe("Now I know");
    expect(toldLast(bodies())).toMatchObject(told);
    for (const body of bodies()) expect(body).toMatchObject({ reasoning_effort: "low" });
  });
});

describe("LangChain.js", () => {
  test("responses: thoughts are shown, and come back", async () => {
    const { baseURL, bodies } = await gateway();
    const model = new ChatOpenAI({
      ...{ model: "chat-1", apiKey: "me", maxRetries: 0, useResponsesApi: true },
      configuration: { baseURL },
    }).bindTools([{ type: "function", function: { name: "weather", parameters } }]);
    const whole = await model.invoke([new HumanMessage("Hello")]);
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await model.stream([new HumanMessage("Hello")])) {
      streamed = streamed?.concat(chunk) ?? chunk;
    }
    for (const first of [whole, streamed as AIMessageChunk]) {
      const shown = first.contentBlocks.flatMap((it) =>
        it.type === "reasoning" ? it.reasoning : [],
      );
      expect(shown.join("")).toBe("I should look");
      const result = new ToolMessage({ tool_call_id: "c1", content: "sunny" });
      const second = await model.invoke([new HumanMessage("Hello"), first, result]);
      expect(second.text).toBe("It is sunny");
      expect(toldLast(bodies())).toMatchObject({ reasoning_content: "I should look" });
    }
  });
});
