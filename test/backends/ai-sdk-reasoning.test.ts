/** What models think, out of answers and back into messages, by the APIs of vendors. */
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
import { asked, bodies, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import {
  claude,
  compatible,
  gemini,
  googleAt,
  type Method,
  message,
  responses,
  roundTrip,
  thought,
} from "./ai-sdk-thoughts.js";
import { chatRequest } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";

const methods: readonly Method[] = ["chat", "complete"];
const tools = [weatherTools[1]];
const question = { role: "user", content: "How is the weather?" };

describe.each(methods)("thoughts in the text of a compatible server: %s", (method) => {
  const script = compatible({ content: "<think>\nIt may rain.\n</think>\n\nRain." });

  it.each([
    [{}, { reasoningContent: "It may rain." }, "Rain."],
    [{ think_tags: "never" }, {}, "<think>\nIt may rain.\n</think>\n\nRain."],
  ])("with %o", async (config, reasoning, text) => {
    const server = await serve(script);
    const backend = opened(compatibleAt(server.url, config));
    const answer = await thought(backend, method, { messages: [question] });
    expect(answer.reasoning).toEqual(reasoning);
    expect(answer.text).toBe(text);
  });
});

describe.each(methods)("Anthropic: %s", (method) => {
  const models = [{ id: "claude-sonnet-4-5" }];
  const at = (url: string) => anthropicAt(url, { models });
  const request = { model: "claude-sonnet-4-5", tools };
  const blocks = [
    { type: "thinking", thinking: "It may rain.", signature: "sig-1" },
    { type: "redacted_thinking", data: "secret-1" },
    { type: "thinking", thinking: "I look.", signature: "sig-2" },
    { type: "text", text: "Let me look." },
    { type: "tool_use", id: "a1", name: "get_time", input: {} },
  ];

  it("thinks in blocks, and sees each of them again ahead of its call", async () => {
    const { answer, second, body } = await roundTrip(claude(...blocks), at, method, request);
    expect(answer.reasoning.reasoningContent).toBe("It may rain.\n\nI look.");
    const format = "anthropic-claude-v1";
    expect(answer.details).toEqual([
      { type: "reasoning.text", text: "It may rain.", signature: "sig-1", format, index: 0 },
      { type: "reasoning.encrypted", data: "secret-1", format, index: 1 },
      { type: "reasoning.text", text: "I look.", signature: "sig-2", format, index: 2 },
    ]);
    expect(answer.text).toBe("Let me look.");
    expect(answer.tokens).toEqual([7, 2, 20]);
    expect(second.warnings).toEqual([]);
    expect(body.messages[1].content).toEqual(blocks);
  });

  it("may keep what it thinks to itself, and sees its signature again", async () => {
    const hidden = [{ type: "thinking", thinking: "", signature: "sig" }, blocks.at(-1) as never];
    const { answer, body } = await roundTrip(claude(...hidden), at, method, request);
    expect(answer.reasoning.reasoningContent).toBeUndefined();
    expect(answer.details).toMatchObject([{ text: "", signature: "sig" }]);
    expect(body.messages[1].content).toEqual(hidden);
  });
});

describe.each(methods)("Gemini: %s", (method) => {
  const request = { model: "gemini-3-pro", tools };

  it("sees the signatures of its calls again, and of thoughts those that have one", async () => {
    const call = { functionCall: { name: "get_time", args: {} }, thoughtSignature: "of-call" };
    const parts = [
      { text: "It may rain.", thought: true },
      { text: " I look.", thought: true, thoughtSignature: "of-thought" },
      call,
    ];
    const { answer, second, body } = await roundTrip(gemini(...parts), googleAt, method, request);
    const whole = method === "complete";
    expect(answer.reasoning.reasoningContent).toBe(`It may rain.${whole ? "\n\n" : ""} I look.`);
    const text = whole ? " I look." : "It may rain. I look.";
    expect(answer.details).toEqual([
      {
        ...{ type: "reasoning.text", text, signature: "of-thought" },
        ...{ format: "google-gemini-v1", index: 0 },
      },
    ]);
    expect(answer.tokens).toEqual([4, undefined, 6]);
    expect(second.warnings).toEqual([]);
    expect(body.contents[1].parts).toMatchObject([
      { text, thought: true, thoughtSignature: "of-thought" },
      { functionCall: { name: "get_time", args: {} }, thoughtSignature: "of-call" },
    ]);
  });

  it.each([
    ["behind it", [{ text: "Rain." }, { text: "", thoughtSignature: "of-text" }]],
    ["with it", [{ text: "Rain.", thoughtSignature: "of-text" }]],
  ])("sees the signature of its text again, that comes %s", async (_, text) => {
    const parts = [{ text: "It may rain.", thought: true }, ...text];
    const { answer, body } = await roundTrip(gemini(...parts), googleAt, method, request);
    expect(answer.reasoning.reasoningContent).toBe("It may rain.");
    expect(answer.details).toEqual([
      { type: "reasoning.encrypted", data: "of-text", format: "google-gemini-v1", index: 0 },
    ]);
    expect(body.contents[1].parts).toEqual([{ text: "Rain.", thoughtSignature: "of-text" }]);
  });

  it("sees the signature that stands with a call's id in OpenRouter's form", async () => {
    const server = await serve(gemini({ text: "Rain." }));
    const toolCalls = [{ id: "a1", function: { name: "get_time", arguments: "{}" } }];
    const reasoningDetails = JSON.stringify([
      { type: "reasoning.encrypted", data: "of-call", id: "a1", format: "google-gemini-v1" },
    ]);
    const messages = [
      question,
      { role: "assistant", toolCalls, reasoningDetails },
      { role: "tool", toolCallId: "a1", content: "noon" },
    ];
    await asked(opened(googleAt(server.url)), method, { ...request, messages });
    expect(bodies(server)[0].contents[1].parts).toMatchObject([
      { functionCall: { name: "get_time" }, thoughtSignature: "of-call" },
    ]);
  });
});

describe.each(methods)("OpenAI's Responses API: %s", (method) => {
  const config = { models: [{ id: "gpt-5" }] };
  const at = (url: string) => openaiAt(url, config);
  const request = { model: "gpt-5", tools };
  const item = (id: string, ...texts: string[]) => ({
    ...{ type: "reasoning", id, encrypted_content: `secret of ${id}` },
    summary: texts.map((text) => ({ type: "summary_text", text })),
  });
  const call = {
    ...{ type: "function_call", id: "fc_1", call_id: "a1", name: "get_time" },
    ...{ arguments: "{}", status: "completed" },
  };

  it("summarizes its thoughts, and sees those again that are encrypted", async () => {
    const output = [item("rs_1", "It may rain.", "I look."), item("rs_2"), call];
    const { answer, second, body, bodies } = await roundTrip(
      responses(...output),
      at,
      method,
      request,
    );
    expect(answer.reasoning.reasoningContent).toBe("It may rain.\n\nI look.");
    const format = "openai-responses-v1";
    expect(answer.details).toEqual([
      { type: "reasoning.summary", summary: "It may rain.", id: "rs_1", format, index: 0 },
      { type: "reasoning.summary", summary: "I look.", id: "rs_1", format, index: 1 },
      { type: "reasoning.encrypted", data: "secret of rs_1", id: "rs_1", format, index: 2 },
      { type: "reasoning.encrypted", data: "secret of rs_2", id: "rs_2", format, index: 3 },
    ]);
    expect(answer.tokens).toEqual([4, 3, 8]);
    expect(second.warnings).toEqual([]);
    expect(bodies[0]).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    expect(body.input.slice(1, 4)).toEqual([
      ...output.slice(0, 2),
      { type: "function_call", call_id: "a1", name: "get_time", arguments: "{}" },
    ]);
  });

  it("gets nothing back where the operator has answers stored, which another account lacks", async () => {
    const stored = { ...config, provider_options: { openai: { store: true } } };
    const storing = (url: string) => openaiAt(url, stored);
    const { body } = await roundTrip(
      responses(item("rs_1", "Hm."), call),
      storing,
      method,
      request,
    );
    expect(
      body.input.map(({ type, role }: { type?: string; role?: string }) => type ?? role),
    ).toEqual([...["user", "function_call", "function_call_output"]]);
  });
});

describe.each(methods)("a server of OpenAI's form: %s", (method) => {
  it.each(["reasoning_content", "reasoning"])("thinks in %s, and sees it again", async (name) => {
    const script = compatible({ [name]: "It may rain.", content: "Rain." });
    const { answer, body } = await roundTrip(script, compatibleAt, method);
    expect(answer.reasoning).toEqual({ reasoningContent: "It may rain." });
    expect(answer.text).toBe("Rain.");
    expect(body.messages[1]).toEqual({
      ...{ role: "assistant", content: "Rain.", reasoning_content: "It may rain." },
    });
  });

  it("sees its details again, of which the provider does not know", async () => {
    const reasoning_details = [{ type: "reasoning.text", text: "Hm.", signature: "s", index: 0 }];
    const script = compatible({ reasoning: "Hm.", reasoning_details, content: "Rain." });
    const { answer, body } = await roundTrip(script, compatibleAt, method);
    expect(answer.details).toEqual(reasoning_details);
    expect(body.messages[1]).toMatchObject({ reasoning_content: "Hm.", reasoning_details });
  });

  it("tells of tokens in a cache, written to one, and of thoughts, or does not", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 };
    const details = {
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 0 },
    };
    const tokens = async (more: object) => {
      const server = await serve(compatible({ content: "Rain." }, { ...usage, ...more }));
      return (await thought(opened(compatibleAt(server.url)), method, {})).tokens;
    };
    expect(await tokens(details)).toEqual([3, 1, 0]);
    expect(await tokens({})).toEqual([undefined, undefined, undefined]);
  });

  it("that refuses thoughts in messages is asked without, and then always", async () => {
    const server = await serve((exchange) => {
      const { messages } = exchange.json();
      const has = messages.some((it: object) => "reasoning_content" in it);
      const message = "property 'messages.1.reasoning_content' is unsupported";
      return has
        ? exchange.sendJson(400, { error: { message, type: "invalid_request_error" } })
        : compatible({ content: "Rain." })(exchange);
    });
    const backend = opened(compatibleAt(server.url));
    const messages = [
      question,
      { role: "assistant", content: "Rain.", reasoningContent: "Hm." },
      question,
    ];
    for (const requests of [2, 3]) {
      expect(await asked(backend, method, { messages })).toMatchObject({
        code: "ok",
        warnings: [],
      });
      expect(server.requests).toHaveLength(requests);
    }
  });

  it("that misses thoughts in messages gets some", async () => {
    const server = await serve((exchange) => {
      const { messages } = exchange.json();
      const has = "reasoning_content" in messages[1];
      const message = "thinking is enabled but reasoning_content is missing in assistant message";
      return has
        ? compatible({ content: "Rain." })(exchange)
        : exchange.sendJson(400, { error: { message, type: "invalid_request_error" } });
    });
    const messages = [question, { role: "assistant", content: "Rain." }, question];
    const { code } = await asked(opened(compatibleAt(server.url)), method, { messages });
    expect(code).toBe("ok");
    expect(bodies(server)[1].messages[1].reasoning_content).toBe(" ");
  });
});

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
