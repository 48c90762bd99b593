/** Requests that are refused by the first event of a stream, with status 200, as LM Studio and LocalAI do. */
import { describe, expect, it } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { say } from "../support/messages.js";
import { functionTool } from "../support/tools.js";
import { bodies } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Exchange } from "./upstream.js";

const answer = [chunk({ content: "hi" }), chunk({}, "stop"), "data: [DONE]\n\n"];
const error = (message: string, more: object = {}) => ({ error: { message, ...more } });

/** What comes of a request. */
async function streamed(url: string, more: Partial<LLMRequest>) {
  const backend = opened(backendFor(url));
  const messages: LLMResponse[] = [];
  const call = callOf("chat", chatRequest(more));
  for await (const batch of backend.handlers.chat?.(call) ?? []) messages.push(...batch);
  return {
    text: messages.map(({ choices }) => choices[0]?.delta?.content ?? "").join(""),
    warnings: [...call.warnings],
  };
}

const tools = [functionTool("find", { type: "object", properties: { a: { pattern: "^\\d" } } })];
const grammar = "Failed to initialize samplers: failed to parse grammar";

const streaming = (script: (exchange: Exchange) => (string | object)[]) =>
  serve(async (exchange) => {
    await exchange.stream(...script(exchange));
    await exchange.end();
  });

describe("a request that is refused in its stream", () => {
  it("is sent again without what was refused, and what follows reads as any other", async () => {
    const server = await streaming((exchange) =>
      JSON.stringify(exchange.json().tools).includes("pattern")
        ? [error(grammar), error("Channel Error")]
        : answer,
    );
    expect(await streamed(server.url, { tools })).toEqual({
      text: "hi",
      warnings: ["tools: pattern in schemas is not supported by this model, ignored"],
    });
    expect(bodies(server)).toHaveLength(2);
  });

  it.each([
    ["with a status", error("System message must be at the beginning.", { code: 500 })],
    ["without one", error("System message must be at the beginning.")],
    ["in words alone", { error: "System message must be at the beginning." }],
  ])("has its turns in another order: %s", async (_, refusal) => {
    const messages = [say("user", "a"), say("system", "b"), say("user", "c")];
    const server = await streaming((exchange) => {
      const [, ...later] = exchange.json().messages as { role: string }[];
      return later.some(({ role }) => role === "system") ? [refusal] : answer;
    });
    expect((await streamed(server.url, { messages })).text).toBe("hi");
    expect(bodies(server)).toHaveLength(2);
  });

  it.each([
    ["what it can't go without", [error("The model crashed")]],
    ["more each time", [error(grammar)]],
    ["something behind a text", [chunk({ content: "a" }), error(grammar)]],
  ])("fails where the error is about %s", async (name, told) => {
    const server = await streaming(() => told);
    await expect(streamed(server.url, { tools })).rejects.toMatchObject({
      name: "LintelError",
    });
    expect(bodies(server)).toHaveLength(name === "more each time" ? 2 : 1);
  });
});
