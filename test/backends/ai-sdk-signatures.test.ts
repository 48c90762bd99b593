/** Calls that a vendor signs, and wants to see again with the signature. */
import { describe, expect, it } from "vitest";
import { asked, bodies, chatted, weatherTools } from "./ai-sdk-calls.js";
import { compatibleAt } from "./ai-sdk-subject.js";
import { gemini, googleAt } from "./ai-sdk-thoughts.js";
import { chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const tools = [weatherTools[1]];

describe("Google's OpenAI endpoint", () => {
  const extra_content = { google: { thought_signature: "c2ln" } };
  const called = {
    ...{ id: "a", type: "function", extra_content },
    function: { name: "get_time", arguments: "{}" },
  };
  const script: Script = async (exchange) => {
    if (!exchange.json().stream) {
      const message = { role: "assistant", content: null, tool_calls: [called] };
      const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
      return exchange.sendJson(200, { id: "c", created: 1, model: "m", choices });
    }
    await exchange.stream(chunk({ tool_calls: [called] }), chunk({}, "stop"), "data: [DONE]\n\n");
    await exchange.end();
  };

  it.each(["chat", "complete"] as const)("signs calls, and gets that back: %s", async (method) => {
    const server = await serve(script);
    const backend = opened(compatibleAt(server.url));
    const { calls, signatures, finishReason } = await asked(backend, method, { tools });
    expect(calls).toEqual([["a", "get_time", "{}"]]);
    expect(signatures).toEqual([JSON.stringify(extra_content)]);
    expect(finishReason).toBe("tool_calls");
    const call = { id: "a", function: called.function, extraContent: signatures[0] };
    const messages = [
      { role: "user", content: "What time is it?" },
      { role: "assistant", toolCalls: [call, { id: "b", function: called.function }] },
      { role: "tool", toolCallId: "a", content: "noon" },
      { role: "tool", toolCallId: "b", content: "noon" },
    ];
    await asked(backend, method, { tools, messages });
    const [first, second] = bodies(server)[1].messages[1].tool_calls;
    expect(first).toEqual(called);
    expect(second).toEqual({ id: "b", type: "function", function: called.function });
  });
});

describe("Gemini", () => {
  it("signs calls in a stream where they begin, and once", async () => {
    const call = (name: string, thoughtSignature?: string) => ({
      ...{ functionCall: { name, args: { a: 1 } }, thoughtSignature },
    });
    const server = await serve(gemini(call("get_time", "c2ln"), call("get_time")));
    const { messages } = await chatted(opened(googleAt(server.url)), {
      model: "gemini-3-pro",
      tools,
    });
    const pieces = messages.flatMap(({ choices }) => choices[0]?.delta?.toolCalls ?? []);
    const begin = pieces.filter(({ id }) => id !== "");
    const signed = JSON.stringify({ google: { thought_signature: "c2ln" } });
    expect(begin.map(({ extraContent }) => extraContent)).toEqual([signed, ""]);
    expect(pieces.filter(({ extraContent }) => extraContent !== "")).toEqual([begin[0]]);
  });
});
