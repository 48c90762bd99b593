/** Models of OpenAI that do not think in chat completions where there are tools. */
import { describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { bodies } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { weather } from "./openai-tools-asked.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const gpt =
  (message: string, takesNone: boolean): Script =>
  (exchange) => {
    const { tools, reasoning_effort } = exchange.json();
    const thinks = takesNone ? reasoning_effort !== "none" : reasoning_effort !== undefined;
    const error = { message, type: "invalid_request_error", param: "reasoning_effort", code: null };
    return tools && thinks && reasoning_effort !== "none"
      ? exchange.sendJson(400, { error })
      : echo(exchange);
  };

const servers = {
  "GPT-5.4": gpt(
    "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.",
    false,
  ),
  // It thinks by default, which it does not do either.
  "GPT-5.6": gpt(
    "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    true,
  ),
};

const dropped = "reasoning_effort: not supported by this model beside tools, ignored";
const tools = [weather()];

describe.each(Object.entries(servers))("%s", (name, script) => {
  async function efforts(...requests: Partial<LLMRequest>[]) {
    const server = await serve(script);
    const backend = opened(backendFor(server.url, { dialect: "openai" }));
    const warnings: string[][] = [];
    for (const request of requests) {
      const call = callOf("chat", chatRequest(request));
      for await (const _ of backend.handlers.chat?.(call) ?? []);
      warnings.push([...call.warnings]);
    }
    return { warnings, asked: bodies(server).map(({ reasoning_effort }) => reasoning_effort) };
  }

  it("calls tools without a thought, and thinks where there are none", async () => {
    const { asked, warnings } = await efforts(
      { tools, reasoningEffort: "low" },
      { tools, reasoningEffort: "low" },
      { reasoningEffort: "low" },
      { tools },
    );
    expect(asked).toEqual(["low", "none", "none", "low", "none"]);
    expect(warnings).toEqual([[dropped], [dropped], [], []]);
  });

  it("calls tools of who says nothing of thoughts", async () => {
    const { asked, warnings } = await efforts({ tools }, { tools });
    const all = name === "GPT-5.6" ? [undefined, "none", "none"] : [undefined, undefined];
    expect(asked).toEqual(all);
    expect(warnings).toEqual([[], []]);
  });
});
