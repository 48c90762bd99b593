/** LangChain.js, unmodified. */
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { type Setting, serve } from "../doors/serve.js";
import { breaksAfter, says, scripted } from "../support/scripted.js";

async function model(
  chat: Handle<"chat"> = says("Hi", " there"),
  setting?: Setting,
  temperature?: number,
) {
  const { url } = await serve(scripted({ chat }), setting);
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

  test("structured output is refused in words that its users see", async () => {
    const schema = { title: "answer", type: "object", properties: { text: { type: "string" } } };
    for (const [method, field] of [
      ["jsonSchema", "response_format"],
      ["functionCalling", "tool_choice"],
    ] as const) {
      const asking = (await model()).withStructuredOutput(schema, { method }).invoke("Hello");
      await expect(asking).rejects.toThrow(new RegExp(`${field}: this gateway supports only`));
    }
  });

  test("a validation error and a wrong token", async () => {
    const wrong = await model(says("Hi"), {}, 9);
    await expect(wrong.invoke("Hello")).rejects.toThrow(/temperature: must be/);
    const refused = await model(says("Hi"), { core: { auth: { mode: "token", tokens: [] } } });
    await expect(refused.invoke("Hello")).rejects.toThrow(/token/);
  });
});
