/** What models think on OpenAI-compatible servers: how it comes, how it goes back, and how much there shall be. */
import { describe, expect, it } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { Thoughts } from "../../src/core/reasoning.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { against, chat, complete } from "./openai-calls.js";
import { chatRequest, echo, streamOf, wholeOf } from "./openai-subject.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const streaming = (...deltas: object[]) => streamOf(deltas);

/** What a server answered: each piece, all thoughts, all text, and the counts. */
async function answered(script: Script, method: "chat" | "complete" = "chat") {
  const server = await against(script);
  const pieces: (string | undefined)[] = [];
  const thoughts = new Thoughts();
  let text = "";
  let last: LLMResponse | undefined;
  const answer = server.backend.handlers[method]?.(callOf(method, chatRequest()) as never) ?? [];
  for await (const batch of answer as AsyncIterable<LLMResponse[]>) {
    for (const message of batch) {
      const [choice] = message.choices;
      const said = choice?.delta ?? choice?.message;
      if (said) thoughts.add(said);
      text += said?.content ?? "";
      pieces.push(said?.reasoningContent);
      last = message;
    }
  }
  const { reasoningContent, reasoningDetails = "[]" } = thoughts.all;
  const details = JSON.parse(reasoningDetails);
  return { pieces, thought: reasoningContent, details, text, usage: last?.usage };
}

const words = ["Six", " times", " sev", 'en "is"', " 42", "\n", "."];
const detail = (more: object) => ({ type: "reasoning.text", index: 0, format: "f", ...more });
const among = (text: string) => [{ type: "thinking", thinking: [{ type: "text", text }] }];

describe("streams", () => {
  it.each<[string, (word: string) => object]>([
    ["DeepSeek, Qwen", (word) => ({ content: null, reasoning_content: word })],
    ["llama.cpp, older vLLM", (word) => ({ reasoning_content: word })],
    ["Ollama", (word) => ({ role: "assistant", content: "", reasoning: word })],
    ["Groq, Cerebras, newer vLLM", (word) => ({ reasoning: word })],
    ["both names", (word) => ({ reasoning: word, reasoning_content: word })],
    ["Mistral", (word) => ({ content: among(word) })],
    [
      "OpenRouter",
      (word) => ({ content: "", reasoning: word, reasoning_details: [detail({ text: word })] }),
    ],
  ])("of %s are read, a piece for each", async (name, delta) => {
    const deltas = [{ role: "assistant", content: "" }, ...words.map(delta), { content: "Yes." }];
    const { pieces, thought, text, details } = await answered(streaming(...deltas));
    expect(pieces.filter(Boolean)).toEqual(words);
    expect([thought, text]).toEqual([words.join(""), "Yes."]);
    expect(details).toEqual(name === "OpenRouter" ? [detail({ text: words.join("") })] : []);
  });

  it("are read where thoughts and text come in turns, and in one chunk", async () => {
    const turns = [
      { reasoning_content: "a" },
      { content: "b" },
      { reasoning_content: "c" },
      { reasoning_content: "d", content: "e" },
      { content: "f" },
    ];
    const { thought, text } = await answered(streaming(...turns, ...turns));
    expect([thought, text]).toEqual(["acdacd", "befbef"]);
  });

  it("are read with a signature that comes behind the thoughts", async () => {
    const signed = { reasoning_details: [detail({ signature: "s" })] };
    const { details } = await answered(
      streaming({ reasoning: "a", reasoning_details: [detail({ text: "a" })] }, signed, {
        content: "b",
      }),
    );
    expect(details).toEqual([detail({ text: "a", signature: "s" })]);
  });
});

describe("whole answers", () => {
  it.each<[string, object]>([
    ["DeepSeek, Qwen", { content: "Yes.", reasoning_content: "Hm." }],
    ["Ollama, Groq", { content: "Yes.", reasoning: "Hm." }],
    ["both names", { content: "Yes.", reasoning: "Hm.", reasoning_content: "Hm." }],
    ["Mistral", { content: [...among("Hm."), { type: "text", text: "Yes." }] }],
  ])("of %s are read, also where a stream was asked for", async (_, message) => {
    for (const method of ["complete", "chat"] as const) {
      const { thought, text } = await answered(wholeOf(message), method);
      expect([thought, text]).toEqual(["Hm.", "Yes."]);
    }
  });

  it("have what OpenRouter wants to see again", async () => {
    const details = [detail({ text: "Hm." }), { type: "reasoning.encrypted", data: "x", index: 1 }];
    const message = { content: "Yes.", reasoning: "Hm.", reasoning_details: details };
    expect(await answered(wholeOf(message), "complete")).toMatchObject({ details });
  });

  it("that a server streamed all the same are put together", async () => {
    const deltas = [{ reasoning: "Hm, " }, { reasoning: "yes." }, { content: "Yes." }];
    const { thought, text } = await answered(streaming(...deltas), "complete");
    expect([thought, text]).toEqual(["Hm, yes.", "Yes."]);
  });

  it("have nothing to be seen again that is nested too deeply to be written out", async () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const message = `{"content":"Yes.","reasoning":"Hm.","reasoning_details":[{"a":${deep}}]}`;
    const body = `{"choices":[{"index":0,"message":${message},"finish_reason":"stop"}]}`;
    const script: Script = (it) => it.send(200, { "content-type": "application/json" }, body);
    expect(await answered(script, "complete")).toMatchObject({ thought: "Hm.", details: [] });
  });

  it("without thoughts have no members for them", async () => {
    const { thought } = await answered(wholeOf({ content: "a", reasoning: null }), "complete");
    expect(thought).toBeUndefined();
  });
});

describe("counts", () => {
  const counts = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
  it.each<[string, object, (number | undefined)[]]>([
    [
      "OpenAI, OpenRouter, xAI",
      {
        prompt_tokens_details: { cached_tokens: 16 },
        completion_tokens_details: { reasoning_tokens: 7 },
      },
      [16, undefined, 7],
    ],
    [
      "OpenAI and OpenRouter, where they write",
      { prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 18 } },
      [0, 18, undefined],
    ],
    [
      "LiteLLM",
      {
        prompt_tokens_details: { cached_tokens: 4, cache_creation_tokens: 9 },
        cache_creation_input_tokens: 9,
        cache_read_input_tokens: 4,
      },
      [4, 9, undefined],
    ],
    ["older ones of it", { cache_creation_input_tokens: 9 }, [undefined, 9, undefined]],
    ["who writes none", { cache_creation_input_tokens: 0 }, [undefined, 0, undefined]],
    ["DeepSeek", { prompt_cache_hit_tokens: 16, prompt_cache_miss_tokens: 4 }, [16]],
    ["Moonshot", { cached_tokens: 16 }, [16]],
    ["SGLang", { prompt_tokens_details: null, reasoning_tokens: 7 }, [undefined, undefined, 7]],
    ["nobody", {}, []],
    [
      "more than all of them",
      {
        prompt_tokens_details: { cached_tokens: 21, cache_write_tokens: 21 },
        completion_tokens_details: { reasoning_tokens: 11 },
      },
      [20, 0, 10],
    ],
    [
      "more than all the others",
      { prompt_tokens_details: { cached_tokens: 16, cache_write_tokens: 5 } },
      [16, 4, undefined],
    ],
    [
      "no number",
      { cached_tokens: "16", cache_creation_input_tokens: "9", reasoning_tokens: null },
      [],
    ],
  ])("of %s", async (_, more, expected) => {
    const script = wholeOf({ content: "a" }, { ...counts, ...more });
    const { usage } = await answered(script, "complete");
    const [cached, written, thoughts] = expected;
    expect([usage?.cachedTokens, usage?.cacheWriteTokens, usage?.reasoningTokens]).toEqual([
      ...[cached, written, thoughts],
    ]);
  });

  it.each<[string, object, number | undefined]>([
    ["a Lintel", { prompt_tokens_details: { cache_write_tokens: 9, cache_write_1h_tokens: 4 } }, 4],
    [
      "LiteLLM",
      {
        prompt_tokens_details: {
          cache_creation_tokens: 9,
          cache_creation_token_details: {
            ...{ ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 4 },
          },
        },
      },
      4,
    ],
    [
      "Anthropic, with what it has beside",
      {
        cache_creation_input_tokens: 9,
        cache_creation: { ephemeral_5m_input_tokens: 9, ephemeral_1h_input_tokens: 0 },
      },
      0,
    ],
    [
      "Bedrock",
      {
        cache_creation_input_tokens: 9,
        cacheDetails: [
          { ttl: "5m", inputTokens: 5 },
          { ttl: "1h", inputTokens: 4 },
        ],
      },
      4,
    ],
    ["nobody", { cache_creation_input_tokens: 9 }, undefined],
    [
      "more than were written",
      { prompt_tokens_details: { cache_write_tokens: 3, cache_write_1h_tokens: 9 } },
      3,
    ],
    ["no number", { cache_creation_input_tokens: 9, cache_creation: "4" }, undefined],
  ])("of those that are kept for an hour, of %s", async (_, more, hour) => {
    const { usage } = await answered(wholeOf({ content: "a" }, { ...counts, ...more }), "complete");
    expect(usage?.cacheWrite1hTokens).toBe(hour);
  });
});

const conversation = [
  say("user", "6 × 7?"),
  say("assistant", "42", {
    reasoningContent: "Hm.",
    reasoningDetails: JSON.stringify([detail({ text: "Hm." })]),
  }),
  say("user", "Sure?"),
];
const withCall = [
  say("user", "Rome?"),
  say("assistant", "", { toolCalls: [toolCall(0, "a", "weather", "{}")] }),
  say("tool", "sunny", { toolCallId: "a" }),
];

describe("thoughts in messages", () => {
  it("go back as they came", async () => {
    const server = await against(echo);
    await complete(server, { messages: conversation });
    expect(server.bodies()[0].messages[1]).toEqual({
      ...{ role: "assistant", content: "42", reasoning_content: "Hm." },
      reasoning_details: [detail({ text: "Hm." })],
    });
  });

  it.each(["openai", "google"])("do not go to %s, which knows none", async (dialect) => {
    const server = await against(echo, { dialect });
    await complete(server, { messages: conversation });
    expect(server.bodies()[0].messages[1]).toEqual({ role: "assistant", content: "42" });
  });

  /** Refuses messages with a member of a name, in the server's words. */
  const refusing =
    (names: readonly string[], status: number, say: (name: string) => object): Script =>
    (exchange) => {
      const message = exchange.json().messages[1];
      const found = names.find((name) => name in message);
      return found ? exchange.sendJson(status, say(found)) : echo(exchange);
    };
  const both = ["reasoning_content", "reasoning_details"];

  it.each<[string, readonly string[], number, (name: string) => object, object]>([
    [
      "Cerebras",
      both,
      400,
      (name) => ({
        message: `messages.1.assistant.${name}: property 'messages.1.assistant.${name}' is unsupported`,
        ...{ type: "invalid_request_error", param: "validation_error", code: "wrong_api_format" },
      }),
      { reasoning: "Hm." },
    ],
    [
      "Groq",
      both,
      400,
      (name) => ({
        error: {
          message: `'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property '${name}' is unsupported)]`,
          type: "invalid_request_error",
        },
      }),
      { reasoning: "Hm." },
    ],
    [
      "Mistral",
      [...both, "reasoning"],
      422,
      (name) => ({
        detail: [
          {
            ...{ type: "extra_forbidden", msg: "Extra inputs are not permitted", input: "Hm." },
            loc: ["body", "messages", 1, "assistant", name],
          },
        ],
      }),
      {},
    ],
    [
      "OpenAI",
      [...both, "reasoning"],
      400,
      (name) => ({
        error: {
          message: `Unknown parameter: 'messages[1].${name}'.`,
          ...{ type: "invalid_request_error", param: `messages[1].${name}` },
          code: "unknown_parameter",
        },
      }),
      {},
    ],
  ])("are told as %s takes them, from then on at once", async (_, names, status, words, left) => {
    const server = await against(refusing(names, status, words));
    const call = await chat(server, { messages: conversation });
    const asked = server.bodies().length;
    await complete(server, { messages: conversation });
    expect(server.bodies()).toHaveLength(asked + 1);
    const sent = server.bodies().at(-1).messages[1];
    expect(sent).toEqual({ role: "assistant", content: "42", ...left });
    expect([...call.warnings]).toEqual([]);
  });

  it.each([
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
    "Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer to the guide",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "messages[1]: assistant message with tool_calls must include reasoning_content",
  ])("that were lost are told to be none where a server wants some: %s", async (message) => {
    const server = await against((exchange) => {
      const said = exchange
        .json()
        .messages.find(({ role }: { role: string }) => role === "assistant");
      if (said.reasoning_content) return echo(exchange);
      return exchange.sendJson(400, { error: { message, type: "invalid_request_error" } });
    });
    await chat(server, { messages: withCall, reasoningEffort: "high" });
    await complete(server, { messages: withCall });
    const told = server.bodies().map(({ messages }) => messages[1].reasoning_content);
    expect(told).toEqual([undefined, " ", " "]);
    expect(server.bodies()[1].reasoning_effort).toBe("high");
    const others = server
      .bodies()[1]
      .messages.filter(({ role }: { role: string }) => role !== "assistant");
    for (const message of others) expect(message).not.toHaveProperty("reasoning_content");
    // Also where the operator chose the effort, which the error may name.
    const call = {
      ...callOf("chat", chatRequest({ messages: withCall, reasoningEffort: "low", model: "n" })),
      modelSettings: { name: "n", reasoningEffort: "low" },
    };
    for await (const _ of server.backend.handlers.chat?.(call) ?? []);
    const sent = server.bodies().at(-1);
    expect([sent.reasoning_effort, sent.messages[1].reasoning_content]).toEqual(["low", " "]);
  });
});

describe("how much to think", () => {
  const sent = async (dialect: string, effort: string) => {
    const server = await against(echo, { dialect });
    await complete(server, { reasoningEffort: effort });
    const { reasoning_effort, ...body } = server.bodies()[0];
    const { chat_template_kwargs, thinking, enable_thinking } = body;
    return { reasoning_effort, chat_template_kwargs, thinking, enable_thinking };
  };
  const kwargs = (on: boolean) => ({ enable_thinking: on, thinking: on });

  it.each<[string, string, object]>([
    ["openai", "minimal", {}],
    ["openrouter", "xhigh", {}],
    ["ollama", "none", {}],
    ["vllm", "none", { chat_template_kwargs: kwargs(false) }],
    ["sglang", "high", { chat_template_kwargs: kwargs(true) }],
    ["llamacpp", "none", { chat_template_kwargs: kwargs(false) }],
    ["zai", "none", { thinking: { type: "disabled" } }],
    ["deepseek", "low", { thinking: { type: "enabled" } }],
    ["moonshot", "none", { thinking: { type: "disabled" } }],
    ["dashscope", "none", { enable_thinking: false }],
    ["siliconflow", "high", { enable_thinking: true }],
  ])("is told in the dialect %s: %s", async (dialect, effort, more) => {
    const told = await sent(dialect, effort);
    expect(JSON.parse(JSON.stringify(told))).toEqual({ reasoning_effort: effort, ...more });
  });

  it.each(["vllm", "zai", "openai"])(
    "is not told in the dialect %s where nobody says",
    async (it) => {
      expect(JSON.parse(JSON.stringify(await sent(it, "")))).toEqual({});
    },
  );

  const refusing =
    (message: string, when: (body: Partial<Record<string, unknown>>) => boolean): Script =>
    (exchange) =>
      when(exchange.json()) ? exchange.sendJson(400, { error: { message } }) : echo(exchange);

  it.each([
    "Unrecognized request argument supplied: reasoning_effort",
    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    '"llama3.2:latest" does not support thinking',
    "chat_template_kwargs is not supported by this tokenizer",
  ])("is left out of a server that has no use for it, which callers hear: %s", async (message) => {
    const server = await against(refusing(message, (body) => "reasoning_effort" in body));
    const call = await chat(server, { reasoningEffort: "low" });
    expect([...call.warnings]).toEqual(["reasoning_effort: not supported by this model, ignored"]);
    expect(server.backend.models()[0]?.supports).not.toContain("reasoning_effort");
    await chat(server, { reasoningEffort: "low" });
    expect(server.bodies().map((body) => "reasoning_effort" in body)).toEqual([true, false, false]);
  });

  it("is no reason to ask again where a request says nothing of it", async () => {
    const server = await against(refusing('"m" does not support thinking', () => true));
    await expect(chat(server)).rejects.toMatchObject({ code: "invalid_value" });
    expect(server.bodies()).toHaveLength(1);
  });

  it("that a model does not have costs others nothing", async () => {
    const message =
      "Unsupported value: 'reasoning_effort' does not support 'max' with this model. Supported values are: 'low', 'medium', and 'high'.";
    const server = await against(
      refusing(message, ({ reasoning_effort }) => reasoning_effort === "max"),
    );
    const call = await chat(server, { reasoningEffort: "max" });
    expect([...call.warnings]).toEqual(["reasoning_effort: not supported by this model, ignored"]);
    await chat(server, { reasoningEffort: "high" });
    expect(server.bodies().map((body) => body.reasoning_effort)).toEqual([
      ...["max", undefined, "high"],
    ]);
  });

  it("that the operator chose and a model does not have is left out, and what callers choose goes on", async () => {
    const message = "Unsupported value: 'reasoning_effort' does not support 'max' with this model.";
    const server = await against(
      refusing(message, ({ reasoning_effort }) => reasoning_effort === "max"),
    );
    const ask = async (effort: string) => {
      const request: LLMRequest = chatRequest({ reasoningEffort: effort });
      const settings = { name: "m", reasoningEffort: "max" };
      const call = { ...callOf("chat", request), modelSettings: settings };
      for await (const _ of server.backend.handlers.chat?.(call) ?? []);
      return [...call.warnings];
    };
    expect(await ask("max")).toEqual([]);
    expect(await ask("max")).toEqual([]);
    expect(await ask("low")).toEqual([]);
    expect(server.bodies().map((body) => body.reasoning_effort)).toEqual([
      ...["max", undefined, undefined, "low"],
    ]);
  });
});
