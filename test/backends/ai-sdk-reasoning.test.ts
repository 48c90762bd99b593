/** What models think, out of answers and back into messages, by the APIs of vendors. */
import { describe, expect, it } from "vitest";
import { asked, bodies, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import {
  claude,
  compatible,
  gemini,
  googleAt,
  type Method,
  responses,
  roundTrip,
  thought,
} from "./ai-sdk-thoughts.js";
import { opened, serve } from "./serve.js";

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
    expect(answer.hour).toBe(1);
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
