/** LangChain.js, unmodified. */
import { type AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { type Setting, serve } from "../doors/serve.js";
import { chatModel } from "../support/models.js";
import {
  breaksAfter,
  callsTools,
  type Scripted,
  says,
  scripted,
  usesTool,
} from "../support/scripted.js";

async function model(
  chat: Handle<"chat"> | Scripted = says("Hi", " there"),
  setting?: Setting,
  temperature?: number,
) {
  const { url } = await serve(typeof chat === "function" ? scripted({ chat }) : chat, setting);
  return new ChatOpenAI({
    model: "chat-1",
    apiKey: "me",
    maxRetries: 0,
    temperature,
    configuration: { baseURL: `${url}/v1` },
  });
}

describe("LangChain.js", () => {
  test("invoke", async () => {
    const answer = await (await model()).invoke("Hello");
    expect(answer.content).toBe("Hi there");
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 7, output_tokens: 2 });
    expect(answer.response_metadata).toMatchObject({ finish_reason: "stop" });
  });

  test("stream", async () => {
    const parts: string[] = [];
    let total = 0;
    for await (const chunk of await (await model()).stream("Hello")) {
      if (chunk.content !== "") parts.push(String(chunk.content));
      total += chunk.usage_metadata?.total_tokens ?? 0;
    }
    expect(parts).toEqual(["Hi", " there"]);
    expect(total).toBe(9);
  });

  test("a failure in mid-stream is thrown with its message", async () => {
    const broken = breaksAfter(new LintelError("upstream_failed", "it broke"), "Hi");
    const stream = await (await model(broken)).stream("Hello");
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow("it broke");
  });

  const schema = { title: "answer", type: "object", properties: { text: { type: "string" } } };

  test.each(["jsonSchema", "jsonMode"] as const)("structured output by %s", async (method) => {
    const backend = scripted({ chat: says('{"text":', '"Hi"}') });
    const asking = (await model(backend)).withStructuredOutput(schema, { method });
    expect(await asking.invoke("Hello")).toEqual({ text: "Hi" });
    const type = method === "jsonMode" ? "json_object" : "json_schema";
    expect(backend.asked[0]).toMatchObject({ responseFormat: { type } });
  });

  test("structured output by a forced tool", async () => {
    const backend = scripted({ chat: callsTools([toolCall(0, "1", "answer", '{"text":"Hi"}')]) });
    const asking = (await model(backend)).withStructuredOutput(schema, {
      method: "functionCalling",
    });
    expect(await asking.invoke("Hello")).toEqual({ text: "Hi" });
    expect(backend.asked[0]).toMatchObject({
      toolChoice: { type: "function", function: { name: "answer" } },
    });
  });

  test("structured output is refused in words that its users see, where a model has none", async () => {
    const plain = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);
    for (const [method, field] of [
      ["jsonSchema", "response_format"],
      ["functionCalling", "tool_choice"],
    ] as const) {
      const asking = (await model(plain)).withStructuredOutput(schema, { method }).invoke("Hello");
      await expect(asking).rejects.toThrow(`${field}: this model does not support it`);
    }
  });

  test("tools are called, in a stream and whole, and what they say comes back", async () => {
    const weather = tool(async ({ city }: { city: string }) => `sunny in ${city}`, {
      name: "weather",
      description: "The weather in a city.",
      schema: { type: "object", properties: { city: { type: "string" } } },
    });
    const backend = scripted({ chat: usesTool("weather") });
    const bound = (await model(backend)).bindTools([weather]);
    const called = { name: "weather", type: "tool_call" };
    const calls = [
      { ...called, args: { city: "Rome" }, id: "a" },
      { ...called, args: { city: "Oslo" }, id: "b" },
    ];
    const whole = await bound.invoke("Hello");
    expect(whole.tool_calls).toEqual(calls);
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await bound.stream("Hello")) {
      streamed = streamed?.concat(chunk) ?? chunk;
    }
    expect(streamed?.tool_calls).toEqual(calls);
    const said = await weather.batch(whole.tool_calls as ToolCall[]);
    const answer = await bound.invoke([new HumanMessage("Hello"), whole, ...said]);
    expect(answer.content).toBe("sunny in Romesunny in Oslo");
    expect(backend.asked.at(-1)).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", toolCalls: [{ id: "a", function: { name: "weather" } }, { id: "b" }] },
        { role: "tool", toolCallId: "a", content: "sunny in Rome" },
        { role: "tool", toolCallId: "b", content: "sunny in Oslo" },
      ],
    });
  });

  test("a validation error and a wrong token", async () => {
    const wrong = await model(says("Hi"), {}, 9);
    await expect(wrong.invoke("Hello")).rejects.toThrow(/temperature: must be/);
    const refused = await model(says("Hi"), { core: { auth: { mode: "token", tokens: [] } } });
    await expect(refused.invoke("Hello")).rejects.toThrow(/token/);
  });
});
