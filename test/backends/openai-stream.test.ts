import { describe, expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { readCompletion } from "../../src/backends/completions/completion.js";
import { EventSplitter } from "../../src/backends/completions/events.js";
import { CompletionStream } from "../../src/backends/completions/stream.js";
import { LintelError } from "../../src/core/errors.js";
import { say } from "../support/messages.js";
import { text } from "./contract-chat.js";
import { fixture, fixtureNames } from "./fixture.js";
import { cut } from "./upstream.js";

interface Outcome {
  readonly messages: LLMResponse[];
  readonly error?: LintelError;
}

function read(pieces: readonly Buffer[]): Outcome {
  const splitter = new EventSplitter();
  const stream = new CompletionStream();
  const messages: LLMResponse[] = [];
  try {
    for (const piece of pieces) {
      for (const event of splitter.push(piece)) stream.push(event, messages);
    }
    for (const event of splitter.end()) stream.push(event, messages);
    stream.finish(messages);
  } catch (error) {
    if (!(error instanceof LintelError)) throw error;
    return { messages, error };
  }
  return { messages };
}

const readText = (body: string) => read([Buffer.from(body)]);
const play = (name: string) => read([fixture(name).body]);
const sse = (...chunks: object[]) => chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`).join("");
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-1",
  created: 5,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
});

describe("streams of every server", () => {
  it.each([
    ["vllm/stream", "안녕하세요 — Grüße 👩‍👩‍👧‍👦🇺🇦 𝒳∑é!", "stop", [14, 17, 31]],
    ["vllm/stream-continuous-usage", " one two", "length", [9, 2, 11]],
    ["vllm/stream-reasoning", "Hello!", "stop", [5, 15, 20]],
    ["llamacpp/stream", "Hello wörld", "stop", [11, 6, 17]],
    ["llamacpp/stream-usage-in-last-choice", "Hi", "stop", [7, 2, 9]],
    ["moonshot/stream", "你好", "stop", [10, 3, 13]],
    ["azure/stream", "Hello", "stop", [9, 2, 11]],
    ["ollama/stream", "The sky is 🌌", "stop", [31, 4, 35]],
    ["openai/stream", "Hello there", "stop", [8, 2, 10]],
    ["sglang/stream", "Héllo", "stop", [42, 3, 45]],
    ["lmstudio/stream", "Hi you", "stop", [20, 2, 22]],
  ])("reads %s", (name, expected, finishReason, counts) => {
    const { messages, error } = play(name);
    expect(error).toBeUndefined();
    expect(text(messages)).toBe(expected);
    const last = messages.at(-1);
    expect(last?.choices).toEqual([
      {
        $typeName: "lintel.v1.LLMChoice",
        index: 0,
        finishReason,
        delta: say("assistant", ""),
      },
    ]);
    const { promptTokens, completionTokens, totalTokens } = last?.usage ?? {};
    expect([promptTokens, completionTokens, totalTokens]).toEqual(counts);
    for (const message of messages.slice(0, -1)) {
      expect(message.usage).toBeUndefined();
      expect(message.choices[0]?.finishReason).toBe("");
      const { content, reasoningContent } = message.choices[0]?.delta ?? {};
      expect(content || reasoningContent).toBeTruthy();
    }
    expect(last?.id).not.toBe("");
    expect(last?.model).not.toBe("");
    expect(last?.created).toBeGreaterThan(1.7e9);
  });

  it.each([
    ["vllm/stream-error", "Once", "upstream_failed"],
    ["vllm/stream-error-old", "", "invalid_value"],
    ["llamacpp/stream-error", "Hel", "upstream_failed"],
    ["llamacpp/stream-error-old", "Hel", "upstream_failed"],
    ["ollama/stream-error", "The sky", "upstream_failed"],
    ["openai/stream-error", "Hel", "upstream_failed"],
    ["sglang/stream-error", "", "upstream_failed"],
    ["sglang/stream-abort", "Hé", "upstream_failed"],
    ["lmstudio/stream-error", "Hi", "upstream_failed"],
  ])("reads %s up to the error", (name, expected, code) => {
    const { messages, error } = play(name);
    expect(text(messages)).toBe(expected);
    expect(error?.code).toBe(code);
    expect(messages.some((message) => message.choices[0]?.finishReason)).toBe(false);
  });

  const streams = fixtureNames().filter((name) => name.includes("/stream"));
  it.each(streams)("reads %s the same wherever its bytes are cut", (name) => {
    const { body } = fixture(name);
    const outcome = (pieces: Buffer[]) => {
      const { messages, error } = read(pieces);
      return JSON.stringify([messages, error?.code]);
    };
    const whole = outcome([body]);
    const same = (pieces: Buffer[]) => expect(outcome(pieces)).toBe(whole);
    for (let at = 1; at < body.length; at++) same([body.subarray(0, at), body.subarray(at)]);
    for (const size of [1, 3, 4, 1000]) same(cut(body, size));
  });

  it("names the source of every fixture", () => {
    for (const name of fixtureNames()) expect(fixture(name).source, name).not.toBe("");
  });
});

describe("the end of a stream", () => {
  it("is the last message, though [DONE] never comes", () => {
    const { messages, error } = readText(sse(chunk({ content: "a" }), chunk({}, "stop")));
    expect(error).toBeUndefined();
    expect(messages.map((message) => message.choices[0]?.finishReason)).toEqual(["", "stop"]);
    expect(messages.at(-1)?.usage).toBeUndefined();
  });

  it.each([
    ["[DONE]", `${sse(chunk({ content: "a" }))}data: [DONE]\n\n`],
    ["nothing", sse(chunk({ content: "a" }))],
    ["no event at all", ""],
    ["a page of HTML", "<html>\n<body>502 Bad Gateway</body>\n\n</html>"],
  ])("without a finish reason is a failure: %s", (_, body) => {
    expect(readText(body).error?.code).toBe("upstream_failed");
  });

  it.each(["data: [DONE]", "data:[DONE]", "data:   [DONE] ", "data: \t[DONE]"])(
    "is where %j stands: what comes after does not count",
    (done) => {
      const body = `${sse(chunk({ content: "a" }, "stop"))}${done}\n\n${sse(chunk({ content: "b" }))}`;
      const { messages, error } = readText(body);
      expect([text(messages), error]).toEqual(["a", undefined]);
    },
  );

  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["tool_calls", "tool_calls"],
    ["function_call", "tool_calls"],
    ["eos_token", "stop"],
    ["constructor", "stop"],
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["model_length", "length"],
    ["model_context_window_exceeded", "length"],
    ["sensitive", "content_filter"],
    ["safety", "content_filter"],
    ["content_filtered", "content_filter"],
    ["lengthy", "stop"],
    ["terror", "stop"],
  ])("for the reason %s is %s", (said, expected) => {
    const { messages } = readText(sse(chunk({}, said)));
    expect(messages.at(-1)?.choices[0]?.finishReason).toBe(expected);
  });

  it.each([...["error", "abort", "network_error", "engine_error"], "insufficient_system_resource"])(
    "for the reason %s is a failure",
    (said) => {
      expect(readText(sse(chunk({ content: "a" }), chunk({}, said))).error?.code).toBe(
        "upstream_failed",
      );
    },
  );
});

describe("odd chunks", () => {
  it.each([
    ["role only", chunk({ role: "assistant" })],
    ["null content", chunk({ role: "assistant", content: null })],
    ["reasoning that is empty", chunk({ reasoning_content: "", content: null })],
    ["no tool calls", chunk({ tool_calls: [] })],
    [
      "calls of tools of another kind",
      chunk({ tool_calls: [{ index: 0, custom: { name: "f" } }] }),
    ],
    ["no delta", { choices: [{ index: 0, finish_reason: null }] }],
    ["null choices", { choices: null, usage: null }],
    ["another choice", { choices: [{ index: 1, delta: { content: "x" }, finish_reason: "stop" }] }],
    ["a null error", { ...chunk({ content: "" }), error: null }],
  ])("brings no message: %s", (_, odd) => {
    const { messages } = readText(sse(odd, chunk({ content: "a" }), chunk({}, "stop")));
    expect(messages).toHaveLength(2);
    expect(text(messages)).toBe("a");
  });

  it("takes a list of parts, and a choice without an index", () => {
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    const odd = { choices: [{ delta: { content: parts }, finish_reason: "stop" }] };
    expect(text(readText(sse(odd)).messages)).toBe("ab");
  });

  it("takes tokens for their text that are written as numbers, and as words of JSON", () => {
    const said = [" [", 1, "] is ", 0.005, " or ", true, "."];
    const { messages } = readText(
      sse(...said.map((content) => chunk({ content })), chunk({}, "stop")),
    );
    expect(text(messages)).toBe(" [1] is 0.005 or true.");
    const thought = readText(
      sse(...["a ", 6].map((reasoning) => chunk({ reasoning })), chunk({}, "stop")),
    );
    const thoughts = thought.messages.map(
      ({ choices }) => choices[0]?.delta?.reasoningContent ?? "",
    );
    expect(thoughts.join("")).toBe("a 6");
  });

  it("takes pieces of arguments for their text that are written as numbers", () => {
    const of = (piece: unknown, id?: string) =>
      chunk({ tool_calls: [{ index: 0, id, function: { name: id && "f", arguments: piece } }] });
    const { messages } = readText(sse(of('{"a":', "b"), of(5), of("}"), chunk({}, "tool_calls")));
    const calls = messages.flatMap(({ choices }) => choices[0]?.delta?.toolCalls ?? []);
    expect(calls.map((call) => call.function?.arguments).join("")).toBe('{"a":5}');
  });

  it("takes an object for its JSON", () => {
    const said = { choices: [{ message: { content: { a: [1] } }, finish_reason: "stop" }] };
    expect(text(readText(sse(said)).messages)).toBe('{"a":[1]}');
  });

  it("takes a message for its text where there are no deltas", () => {
    const said = (message: object, finish_reason: string | null, more = {}) => ({
      choices: [{ index: 0, message, finish_reason, ...more }],
    });
    const one = readText(sse(said({ role: "assistant", content: "Hello" }, "length")));
    expect(text(one.messages)).toBe("Hello");
    expect(one.messages.at(-1)?.choices[0]?.finishReason).toBe("length");
    const pieces = [
      said({ content: "Hel" }, null),
      said({ content: "lo" }, "stop", { delta: null }),
    ];
    expect(text(readText(sse(...pieces)).messages)).toBe("Hello");
    const whole = said({ content: "Hello" }, "stop");
    const beside = said({ content: "Hello" }, "stop", { delta: { content: "lo" } });
    for (const last of [[chunk({ content: "lo" }), whole], [beside]]) {
      expect(text(readText(sse(chunk({ content: "Hel" }), ...last)).messages)).toBe("Hello");
    }
  });

  it.each([
    ["broken JSON", 'data: {"choices":[\n\n'],
    ["a number", "data: 5\n\n"],
    ["a list", "data: []\n\n"],
  ])("fails on %s", (_, body) => {
    expect(readText(body).error?.code).toBe("upstream_failed");
  });

  it.each([
    ["a text", { error: "out of memory" }, "upstream_failed"],
    ["a number in a text", { error: { message: "slow down", code: "429" } }, "rate_limited"],
    ["a status", { error: { message: "busy", status: 503 } }, "unavailable"],
    ["a code in words", { error: { message: "x", code: "rate_limit_exceeded" } }, "rate_limited"],
    ["a type in words", { error: { message: "x", type: "overloaded_error" } }, "unavailable"],
    ["a wrong request", { error: { message: "x", type: "BadRequestError" } }, "invalid_value"],
    ["a refused key", { error: { message: "x", code: "invalid_api_key" } }, "upstream_failed"],
    ["no wrapping", { object: "error", message: "x", code: 400 }, "invalid_value"],
    ["words that are unknown", { error: { message: "x", code: "zzz" } }, "upstream_failed"],
  ])("maps an error with %s", (_, error, code) => {
    expect(readText(sse(chunk({ content: "a" }), error)).error?.code).toBe(code);
  });

  it.each([
    ["reasoning only in the total", [32, 9, 135], [32, 103, 135]],
    ["the answer only in the total", [7, null, 10], [7, 3, 10]],
    ["a total that is too small", [7, 3, 4], [7, 3, 10]],
    ["a prompt that only the total has", [0, 3, 10], [7, 3, 10]],
    ["no total", [7, 3, undefined], [7, 3, 10]],
  ])("makes counts add up: %s", (_, said, counts) => {
    const [prompt_tokens, completion_tokens, total_tokens] = said;
    const usage = { prompt_tokens, completion_tokens, total_tokens };
    const { messages } = readText(sse({ ...chunk({}, "stop"), usage }));
    const { promptTokens, completionTokens, totalTokens } = messages.at(-1)?.usage ?? {};
    expect([promptTokens, completionTokens, totalTokens]).toEqual(counts);
  });

  it("takes a refusal for text", () => {
    const pieces = [{ role: "assistant", content: null, refusal: "I can" }, { refusal: "not" }];
    const { messages } = readText(sse(...pieces.map((p) => chunk(p)), chunk({}, "stop")));
    expect(messages.map(({ choices: [choice] }) => choice?.delta?.content)).toEqual([
      "I can",
      "not",
      "",
    ]);
    expect(messages.at(-1)?.choices[0]?.finishReason).toBe("stop");
  });

  it.each([
    { prompt_tokens: -1, completion_tokens: 1.5, total_tokens: "x" },
    { prompt_tokens: 2 ** 32 - 1, completion_tokens: 1, total_tokens: 7 },
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 7 },
  ])("takes counts that make no sense for none: %j", (usage) => {
    const { messages } = readText(sse({ ...chunk({}, "stop"), usage, created: 2 ** 40 }));
    expect(messages[0]?.usage).toBeUndefined();
    expect(messages[0]?.created).toBe(0);
  });
});

describe("whole answers", () => {
  const whole = (name: string) => readCompletion(fixture(name).body.toString("utf8"));

  it.each([
    ["vllm/whole", "Grüße 👋", "stop", [14, 4, 18]],
    ["llamacpp/whole", "Hello there", "length", [11, 2, 13]],
    ["ollama/whole", "The sky is blue.", "stop", [31, 6, 37]],
    ["openai/whole", "Hello there", "length", [8, 2, 10]],
    ["sglang/whole-null", "", "stop", [42, 1, 43]],
  ])("reads %s", (name, content, finishReason, counts) => {
    const { choices, usage } = whole(name);
    expect(choices).toEqual([
      {
        $typeName: "lintel.v1.LLMChoice",
        index: 0,
        finishReason,
        message: say("assistant", content),
      },
    ]);
    expect([usage?.promptTokens, usage?.completionTokens, usage?.totalTokens]).toEqual(counts);
  });

  it("takes a refusal for text", () => {
    const message = { role: "assistant", content: null, refusal: "I cannot" };
    const { choices } = readCompletion(
      JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }),
    );
    expect(choices[0]).toMatchObject({ finishReason: "stop", message: { content: "I cannot" } });
  });

  it.each([
    [{ finish_reason: "length" }, "length"],
    [{ finish_reason: "content_filter: SAFETY", message: null }, "content_filter"],
  ])("may end without a message, as streams without a delta: %j", (said, finishReason) => {
    const usage = { prompt_tokens: 4, completion_tokens: 0, total_tokens: 30 };
    const choices = [{ index: 0, ...said }];
    const message = { content: "" };
    const answer = readCompletion(JSON.stringify({ choices, usage }));
    expect(answer.choices[0]).toMatchObject({ finishReason, message });
    expect(answer.usage).toMatchObject({ promptTokens: 4, completionTokens: 26 });
    const { messages } = readText(sse({ choices, usage }));
    expect(messages).toMatchObject([{ choices: [{ finishReason, delta: message }] }]);
  });

  it("may have their message in a delta", () => {
    const choice = { index: 0, delta: { role: "assistant", content: "Hello" }, message: null };
    const choices = [{ ...choice, finish_reason: "length" }];
    expect(readCompletion(JSON.stringify({ choices })).choices).toMatchObject([
      { finishReason: "length", message: { content: "Hello" } },
    ]);
  });

  it("that are none tell the log what they say", () => {
    for (const said of [{ detail: "Not Found" }, { message: "Not Found", code: 404 }]) {
      expect(() => readCompletion(JSON.stringify(said))).toThrowError(
        expect.objectContaining({
          message: "the model server answered without a completion",
          cause: new Error("Not Found"),
        }),
      );
    }
  });

  it("takes a provider's own reason beside OpenRouter's for no other end", () => {
    const choice = { index: 0, message: { content: "a" }, finish_reason: "length", error: null };
    const natives = ["MAX_TOKENS", "content_filter", null];
    for (const native_finish_reason of natives) {
      const { choices } = readCompletion(
        JSON.stringify({ choices: [{ ...choice, native_finish_reason }] }),
      );
      expect(choices[0]).toMatchObject({ finishReason: "length", message: { content: "a" } });
    }
  });

  it.each([
    ["no choices", "{}"],
    ["empty choices", '{"choices":[]}'],
    ["no message", '{"choices":[{"index":0}]}'],
    ["HTML", "<html></html>"],
    ["nothing", ""],
    ["half of it", '{"choices":[{"index":0,"mess'],
    ["an error", '{"error":{"message":"boom","code":500}}'],
    ["an event stream", fixture("vllm/stream").body.toString("utf8")],
  ])("fails on %s", (_, body) => {
    expect(() => readCompletion(body)).toThrowError(
      expect.objectContaining({ code: "upstream_failed" }),
    );
  });
});
