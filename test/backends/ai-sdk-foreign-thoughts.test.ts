/** Thoughts that somebody else made, or that a package tells in a form of its own: what of them is handed on. */
import { ReadableStream } from "node:stream/web";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { chat, complete } from "../../src/backends/ai-sdk/chat.js";
import { optionsOf } from "../../src/backends/ai-sdk/request.js";
import { Thoughts } from "../../src/core/reasoning.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { never } from "../support/calls.js";
import { say } from "../support/messages.js";
import { asked, bodies } from "./ai-sdk-calls.js";
import { anthropicAt, openaiAt } from "./ai-sdk-subject.js";
import { claude, gemini, googleAt, type Method, message, responses } from "./ai-sdk-thoughts.js";
import { chatRequest } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";

const methods: readonly Method[] = ["chat", "complete"];

const question = { role: "user", content: "How is the weather?" };

describe("thoughts of another vendor", () => {
  const openais = {
    type: "reasoning.encrypted",
    data: "x",
    id: "rs_1",
    format: "openai-responses-v1",
  };
  const claudes = {
    type: "reasoning.text",
    text: "Hm.",
    signature: "s",
    format: "anthropic-claude-v1",
  };
  const conversation = (...details: object[]) => [
    question,
    {
      ...{ role: "assistant", content: "Rain.", reasoningContent: "Hm." },
      ...(details.length > 0 && { reasoningDetails: JSON.stringify(details) }),
    },
    { role: "user", content: "Sure?" },
  ];

  it.each([
    ["details", conversation(openais)],
    [
      "details in no form",
      conversation({ type: "reasoning.text", text: "Hm.", format: "unknown" }),
    ],
    ["a text alone", conversation()],
  ])("are not handed to Anthropic, which would drop them: %s", async (_, messages) => {
    const server = await serve(claude({ type: "text", text: "Yes." }));
    const { code, warnings } = await asked(opened(anthropicAt(server.url)), "chat", { messages });
    expect([code, warnings]).toEqual(["ok", []]);
    expect(bodies(server)[0].messages[1].content).toEqual([{ type: "text", text: "Rain." }]);
  });

  it("that name no form are Anthropic's, as OpenRouter's once were", async () => {
    const server = await serve(claude({ type: "text", text: "Yes." }));
    const { format: _, ...unnamed } = claudes;
    await asked(opened(anthropicAt(server.url)), "chat", { messages: conversation(unnamed) });
    expect(bodies(server)[0].messages[1].content[0]).toEqual({
      ...{ type: "thinking", thinking: "Hm.", signature: "s" },
    });
  });

  it.each([
    ["details", conversation(claudes)],
    ["a text alone", conversation()],
  ])("are not handed to OpenAI, nor to Google: %s", async (_, messages) => {
    const openai = await serve(responses(message("Yes.")));
    const atOpenai = opened(openaiAt(openai.url));
    expect(await asked(atOpenai, "chat", { messages })).toMatchObject({ code: "ok", warnings: [] });
    expect(bodies(openai)[0].input.map(({ role }: { role: string }) => role)).toEqual([
      ...["user", "assistant", "user"],
    ]);
    const google = await serve(gemini({ text: "Yes." }));
    const toGoogle = { model: "gemini-3-pro", messages };
    const { code, warnings } = await asked(opened(googleAt(google.url)), "chat", toGoogle);
    expect([code, warnings]).toEqual(["ok", []]);
    expect(bodies(google)[0].contents[1].parts).toEqual([{ text: "Rain." }]);
  });

  it.each([
    ["messages.1.content.0: Invalid `signature` in `thinking` block", undefined],
    ["The encrypted content gAAA could not be verified.", "invalid_encrypted_content"],
    ["Corrupted thought signature.", undefined],
  ])(
    "that are refused are left out for that one caller, who is told: %s",
    async (message, code) => {
      const server = await serve((exchange) =>
        exchange.request.body.includes("thinking")
          ? exchange.sendJson(400, { error: { type: "invalid_request_error", message, code } })
          : claude({ type: "text", text: "Yes." })(exchange),
      );
      const backend = opened(anthropicAt(server.url));
      for (const requests of [2, 4]) {
        const result = await asked(backend, "chat", { messages: conversation(claudes) });
        expect(result.code).toBe("ok");
        expect(result.warnings).toEqual([
          "reasoning_details in messages: not supported by this model, ignored",
        ]);
        expect(server.requests).toHaveLength(requests);
      }
    },
  );
});

describe("a package that nobody knows", () => {
  const blocks = [
    { text: "It may rain.", providerMetadata: { own: { token: "t-1", unsaid: null } } },
    { text: "I look.", providerMetadata: { anthropic: { signature: "s" }, own: { n: 1 } } },
    { text: "Hm.", providerMetadata: undefined },
  ];
  const details = [
    {
      ...{ type: "reasoning.text", text: "It may rain.", format: "unknown" },
      ...{ provider_metadata: { own: { token: "t-1" } }, index: 0 },
    },
    {
      ...{ type: "reasoning.text", text: "I look.", signature: "s", format: "anthropic-claude-v1" },
      ...{ provider_metadata: { own: { n: 1 } }, index: 1 },
    },
  ];
  const none = { total: undefined, text: undefined, noCache: undefined };
  const usage = {
    inputTokens: { ...none, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { ...none, reasoning: undefined },
  };
  const finishReason = { unified: "stop", raw: "stop" } as const;

  /** A model whose blocks run side by side in a stream. */
  const model = {
    ...{ specificationVersion: "v3", provider: "own", modelId: "m", supportedUrls: {} },
    async doGenerate() {
      const content = blocks.map((block) => ({ type: "reasoning", ...block }));
      return { content, finishReason, usage, warnings: [] };
    },
    async doStream() {
      const parts = [
        { type: "reasoning-start", id: "a" },
        { type: "reasoning-delta", id: "a", delta: "It may" },
        { type: "reasoning-start", id: "b", providerMetadata: blocks[1]?.providerMetadata },
        { type: "reasoning-delta", id: "a", delta: " rain." },
        { type: "reasoning-end", id: "a", providerMetadata: blocks[0]?.providerMetadata },
        { type: "reasoning-delta", id: "b", delta: "I look." },
        { type: "reasoning-end", id: "b" },
        { type: "reasoning-start", id: "c" },
        { type: "reasoning-delta", id: "c", delta: "Hm." },
        { type: "reasoning-end", id: "c" },
        { type: "finish", finishReason, usage },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  } as unknown as LanguageModelV3;
  const known = {
    ...{ model, package: "own-provider", providerOptions: {} },
    ...{ refused: new Set<string>(), learn() {} },
  };

  it.each(methods)("has what it says of blocks handed back: %s", async (method) => {
    const call = callOf(method, chatRequest()) as never;
    const steps = method === "chat" ? chat(known, call, never) : complete(known, call, never);
    const thoughts = new Thoughts();
    for await (const [answer] of steps) {
      const [choice] = answer?.choices ?? [];
      thoughts.add(choice?.delta ?? choice?.message ?? {});
    }
    const { reasoningContent, reasoningDetails = "" } = thoughts.all;
    expect(reasoningContent).toBe("It may rain.\n\nI look.\n\nHm.");
    expect(JSON.parse(reasoningDetails)).toEqual(details);
    const said = { ...say("assistant", "Rain."), reasoningContent, reasoningDetails } as LLMMessage;
    expect(await handedBack("own-provider", said)).toEqual([
      { type: "reasoning", text: "It may rain.", providerOptions: { own: { token: "t-1" } } },
      {
        ...{ type: "reasoning", text: "I look." },
        providerOptions: { own: { n: 1 }, anthropic: { signature: "s" } },
      },
      { type: "text", text: "Rain." },
    ]);
  });

  it("of which others know no more than what is everybody's", async () => {
    const reasoningDetails = JSON.stringify(details);
    const said = { ...say("assistant", "Rain."), reasoningDetails } as LLMMessage;
    const signed = (...keys: string[]) => ({
      ...{ type: "reasoning", text: "I look." },
      providerOptions: Object.fromEntries(keys.map((key) => [key, { signature: "s" }])),
    });
    const rain = { type: "text", text: "Rain." };
    expect(await handedBack("@ai-sdk/amazon-bedrock", said)).toEqual([
      signed("bedrock", "amazonBedrock"),
      rain,
    ]);
    expect(await handedBack("@ai-sdk/google-vertex/anthropic/edge", said)).toEqual([
      signed("anthropic"),
      rain,
    ]);
    expect(await handedBack("@ai-sdk/groq", said)).toEqual([
      { type: "reasoning", text: "It may rain.\n\nI look." },
      rain,
    ]);
    for (const name of ["@ai-sdk/openai", "@ai-sdk/huggingface", "@ai-sdk/cohere"]) {
      expect(await handedBack(name, said), name).toEqual([rain]);
    }
  });

  it("nor a number that JavaScript has none for, where a provider signs what our fetch would put it back into, or may not send by it", async () => {
    const toolCalls = [toolCall(0, "a", "f", '{"id":9007199254740993}')];
    const input = async (name: string) => {
      const [call] = (await handedBack(name, say("assistant", "", { toolCalls }))) as object[];
      return JSON.stringify(call);
    };
    for (const name of ["@ai-sdk/amazon-bedrock", "@ai-sdk/amazon-bedrock/anthropic", "any"]) {
      expect(await input(name)).toContain('"input":{"id":9007199254740992}');
    }
    expect(await input("@ai-sdk/anthropic")).toMatch(/"input":\{"id":"\S+:9007199254740993"\}/);
  });

  /** What a package's provider gets of a message. */
  async function handedBack(name: string, message: LLMMessage) {
    const call = callOf("chat", chatRequest({ messages: [message] }));
    const { prompt } = await optionsOf(call, { ...known, package: name }, new Set(), never);
    return prompt[0]?.content;
  }
});
