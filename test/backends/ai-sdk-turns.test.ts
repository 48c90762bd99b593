/** Conversations whose order, or whose forms, a vendor or its provider does not take, behind the AI SDK. */
import { describe, expect, it } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, textPart } from "../support/messages.js";
import { asked, bodies, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, echo } from "./ai-sdk-subject.js";
import { compatible, gemini, googleAt } from "./ai-sdk-thoughts.js";
import { opened, serve } from "./serve.js";
import type { Script, Upstream } from "./upstream.js";

const rain = compatible({ content: "Rain." }, { prompt_tokens: 3, completion_tokens: 2 });

interface Told {
  readonly role: string;
  readonly content: unknown;
}

/** Refuses messages in a server's words, as long as they are of some kind. */
const refusing =
  (isOdd: (messages: readonly Told[], body: Record<string, unknown>) => boolean, message: string) =>
  (served: Script): Script =>
  (exchange) => {
    const body = exchange.json() as { messages: readonly Told[] };
    return isOdd(body.messages, { ...body })
      ? exchange.sendJson(400, { error: { message } })
      : served(exchange);
  };

/** Asks twice: the second time nothing has to be refused any more. */
async function twice(backend: Backend, server: Upstream, request: object) {
  for (const method of ["chat", "complete"] as const) {
    const { code, warnings } = await asked(backend, method, request);
    expect([code, warnings]).toEqual(["ok", []]);
  }
  return bodies(server);
}

const late = [
  { role: "system", content: "Be kind." },
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hi" },
  { role: "system", content: "Be brief." },
  { role: "user", content: "Bye" },
];

describe("system messages behind others", () => {
  it("are at the beginning for Gemini, whose provider takes them there alone", async () => {
    const server = await serve(gemini({ text: "Bye." }));
    const backend = opened(googleAt(server.url, { models: [{ id: "m" }] }));
    const all = await twice(backend, server, { messages: late });
    expect(all).toHaveLength(2);
    for (const { systemInstruction, contents } of all) {
      expect(systemInstruction.parts).toEqual([{ text: "Be kind.\n\nBe brief." }]);
      expect(contents.map(({ role }: Told) => role)).toEqual(["user", "model", "user"]);
    }
  });

  it.each([
    "role 'system' is not supported on this model",
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
  ])("are at the beginning for Claudes before 4.8: %s", async (words) => {
    const isOdd = (messages: readonly Told[]) => messages.some(({ role }) => role === "system");
    const server = await serve(refusing(isOdd, words)(echo));
    const [first, ...others] = await twice(opened(anthropicAt(server.url)), server, {
      messages: late,
    });
    expect(isOdd(first.messages)).toBe(true);
    expect(others).toHaveLength(2);
    for (const { system, messages } of others) {
      expect(system).toEqual([{ type: "text", text: "Be kind.\n\nBe brief." }]);
      expect(messages).toHaveLength(3);
    }
  });
});

describe("a server of OpenAI's form", () => {
  it("gets turns that alternate, where its model's template wants that", async () => {
    const words = "Conversation roles must alternate user/assistant/user/assistant/...";
    const isOdd = (messages: readonly Told[]) =>
      messages.some(({ role }, i) => (role === "user") !== (i % 2 === 0));
    const server = await serve(refusing(isOdd, words)(rain));
    const messages = [late[0], late[1], late[1], late[2], late[4]];
    const all = await twice(opened(compatibleAt(server.url)), server, { messages });
    const last = all.at(-1).messages;
    expect(last.map(({ role }: Told) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(last)).toContain("Be kind.\\n\\nHello");
    expect(isOdd(all.at(-2).messages)).toBe(false);
  });

  it("gets results directly behind their calls, where it takes them there alone", async () => {
    const words =
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
    const isOdd = (messages: readonly Told[]) => messages[2]?.role !== "tool";
    const server = await serve(refusing(isOdd, words)(rain));
    const messages = [
      { role: "user", content: "How is the weather?" },
      { role: "assistant", content: "", toolCalls: [toolCall(0, "a", "get_weather", "{}")] },
      { role: "user", content: "Quick!" },
      { role: "tool", toolCallId: "a", content: "rain" },
    ];
    const all = await twice(opened(compatibleAt(server.url)), server, {
      messages,
      tools: weatherTools,
    });
    expect(all).toHaveLength(3);
    expect(all.at(-1).messages.map(({ role }: Told) => role)).toEqual([
      ...["user", "assistant", "tool", "user"],
    ]);
  });

  it("gets no limit that its context has no room for, and the next one again", async () => {
    const words =
      "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 8192 tokens and your request has 900 input tokens (32000 > 8192 - 900).";
    const isOdd = (_: unknown, { max_tokens: most }: Record<string, unknown>) =>
      Number(most) > 7000;
    const server = await serve(refusing(isOdd, words)(rain));
    const all = await twice(opened(compatibleAt(server.url)), server, { maxTokens: 32_000 });
    expect(all.map(({ max_tokens }) => max_tokens)).toEqual([
      ...[32_000, undefined, 32_000, undefined],
    ]);
  });
});

it("what a tool says in parts is its words, and what it shows the user's, with the mark kept", async () => {
  const server = await serve(echo);
  const shown = imagePart("data:image/png;base64,iVBORw0KGgo=");
  const messages = [
    { role: "user", content: "Look" },
    { role: "assistant", content: "", toolCalls: [toolCall(0, "a", "get_weather", "{}")] },
    {
      ...{ role: "tool", toolCallId: "a", parts: [textPart("A "), shown, textPart("map")] },
      cacheControl: { type: "ephemeral" },
    },
    { role: "assistant", content: "", toolCalls: [toolCall(0, "b", "get_weather", "{}")] },
    { role: "tool", toolCallId: "b", parts: [textPart("in "), textPart("parts")] },
  ];
  await asked(opened(anthropicAt(server.url)), "complete", { messages, tools: weatherTools });
  const [{ messages: told }] = bodies(server);
  const [result, image] = told[2].content;
  expect([result.content, result.cache_control]).toEqual(["A map", { type: "ephemeral" }]);
  expect(image.type).toBe("image");
  expect(told[4].content[0].content).toBe("in parts");
});
