/** LangChain.js on the Responses API, unmodified. */
import { ContextOverflowError } from "@langchain/core/errors";
import { type AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { invalidValue, LintelError, overflow } from "../../src/core/errors.js";
import { serve } from "../doors/serve.js";
import { breaksAfter, type Scripted, says, scripted } from "../support/scripted.js";
import { citySchema, toldWeather, weatherBackend } from "./weather.js";

async function model(chat: Handle<"chat"> | Scripted = says("Hi", " there")) {
  const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat);
  return new ChatOpenAI({
    ...{ model: "chat-1", apiKey: "me", maxRetries: 0, useResponsesApi: true },
    configuration: { baseURL: `${url}/v1` },
  });
}

describe("LangChain.js: responses", () => {
  test("invoke", async () => {
    const answer = await (await model()).invoke("Hello");
    expect(answer.text).toBe("Hi there");
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 7, output_tokens: 2 });
  });

  test("stream", async () => {
    const parts: string[] = [];
    let total = 0;
    for await (const chunk of await (await model()).stream("Hello")) {
      if (chunk.text !== "") parts.push(chunk.text);
      total += chunk.usage_metadata?.total_tokens ?? 0;
    }
    expect(parts).toEqual(["Hi", " there"]);
    expect(total).toBe(9);
  });

  test("tools are called, in a stream and whole, and what they say comes back", async () => {
    const weather = tool(async () => "sunny", {
      ...{ name: "weather", description: "The weather in a city." },
      schema: citySchema,
    });
    const backend = weatherBackend();
    const bound = (await model(backend)).bindTools([weather]);
    const whole = await bound.invoke("Hello");
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await bound.stream("Hello")) {
      streamed = streamed?.concat(chunk) ?? chunk;
    }
    for (const answer of [whole, streamed as AIMessageChunk]) {
      expect(answer.tool_calls).toMatchObject([
        { name: "weather", args: { city: "Rome" }, id: "c1" },
      ]);
      const said = await weather.invoke(answer.tool_calls?.[0] as ToolCall);
      const last = await bound.invoke([new HumanMessage("Hello"), answer, said]);
      expect(last.text).toBe("It is sunny");
      expect(backend.asked.at(-1)).toMatchObject({ messages: toldWeather });
    }
  });

  test("structured output", async () => {
    const asking = (await model(says('{"city":', '"Rome"}'))).withStructuredOutput(
      { title: "place", ...citySchema },
      { method: "jsonSchema" },
    );
    expect(await asking.invoke("Hello")).toEqual({ city: "Rome" });
  });

  test("a failure in mid-stream is thrown with its message", async () => {
    const broken = breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi");
    const stream = await (await model(broken)).stream("Hello");
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow("it broke");
  });

  test("a conversation that is too long is told by its message, and whole by its class", async () => {
    const asking = await model(breaksAfter(invalidValue("messages", `too long (${overflow})`)));
    const whole = await asking.invoke("Hello").catch((thrown: unknown) => thrown);
    expect(whole).toBeInstanceOf(ContextOverflowError);
    const read = async () => {
      for await (const _ of await asking.stream("Hello"));
    };
    const streamed = await read().catch((thrown: unknown) => thrown);
    expect(streamed).toMatchObject({ message: expect.stringContaining(overflow) });
  });
});
