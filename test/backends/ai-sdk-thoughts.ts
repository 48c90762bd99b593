/** Vendors that think, with the bytes of their own APIs. */
import { Thoughts } from "../../src/core/reasoning.js";
import { asked, bodies } from "./ai-sdk-calls.js";
import { aiSdkBackend } from "./ai-sdk-subject.js";
import { chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

/** How an answer is asked for. */
export type Method = "chat" | "complete";

type Backend = ReturnType<typeof aiSdkBackend>;

/** What an answer says of thoughts, and of the tokens for them. */
export async function thought(backend: Backend, method: Method, request: object) {
  const result = await asked(backend, method, request);
  const choices = result.messages.flatMap((message) => message.choices);
  const thoughts = new Thoughts();
  for (const { delta, message } of choices) thoughts.add(delta ?? message ?? {});
  const { reasoningContent, reasoningDetails } = thoughts.all;
  const { usage } = result.messages.at(-1) ?? {};
  return {
    ...result,
    reasoning: { reasoningContent, reasoningDetails },
    details: reasoningDetails === undefined ? undefined : JSON.parse(reasoningDetails),
    tokens: [usage?.cachedTokens, usage?.cacheWriteTokens, usage?.reasoningTokens],
    hour: usage?.cacheWrite1hTokens,
  };
}

/** Asks a vendor once, hands its answer back with more, and says what it got then. */
export async function roundTrip(
  script: Script,
  backendAt: (url: string) => Backend,
  method: Method,
  request: object = {},
) {
  const server = await serve(script);
  const backend = opened(backendAt(server.url));
  const question = { role: "user", content: "How is the weather?" };
  const answer = await thought(backend, method, { ...request, messages: [question] });
  const toolCalls = answer.calls.map(([id, name, args], i) => ({
    id,
    function: { name, arguments: args },
    extraContent: answer.signatures[i],
  }));
  const said = { role: "assistant", content: answer.text, toolCalls, ...answer.reasoning };
  const results = toolCalls.map(({ id }) => ({ role: "tool", toolCallId: id, content: "rain" }));
  const more = results.length > 0 ? results : [{ role: "user", content: "Sure?" }];
  const second = await asked(backend, method, {
    ...request,
    messages: [question, said, ...more],
  });
  return { answer, second, body: bodies(server).at(-1), bodies: bodies(server) };
}

const event = (data: { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const anthropicUsage = {
  ...{ input_tokens: 5, cache_read_input_tokens: 7, cache_creation_input_tokens: 2 },
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 1 },
  output_tokens: 30,
  output_tokens_details: { thinking_tokens: 20 },
};

/** Anthropic's API, that answers with blocks as whole messages have them. */
export const claude =
  (...content: readonly { type: string; [name: string]: unknown }[]): Script =>
  async (exchange) => {
    const called = content.some(({ type }) => type === "tool_use");
    const stop_reason = called ? "tool_use" : "end_turn";
    const message = {
      ...{ id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5" },
      ...{ content: [], stop_reason: null, stop_sequence: null, usage: anthropicUsage },
    };
    if (!exchange.json().stream) {
      return exchange.sendJson(200, { ...message, content, stop_reason });
    }
    const blocks = content.flatMap((block, index) => {
      const { begin, deltas } = inDeltas(block);
      return [
        { type: "content_block_start", index, content_block: begin },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ];
    });
    const end = { type: "message_delta", delta: { stop_reason }, usage: anthropicUsage };
    const events = [{ type: "message_start", message }, ...blocks, end, { type: "message_stop" }];
    await exchange.stream(...events.map(event));
    await exchange.end();
  };

/** A block as it begins in a stream, and what comes of it then. */
function inDeltas(block: { type: string; [name: string]: unknown }) {
  const { type, thinking, signature, text, input } = block;
  if (type === "thinking") {
    const [first, ...rest] = String(thinking).split(/(?= )/);
    const deltas = [first, ...rest].filter(Boolean).map((part) => ({
      type: "thinking_delta",
      thinking: part,
    }));
    return {
      begin: { type, thinking: "", signature: "" },
      deltas: [...deltas, { type: "signature_delta", signature }],
    };
  }
  if (type === "text") {
    return { begin: { type, text: "" }, deltas: [{ type: "text_delta", text }] };
  }
  if (type === "tool_use") {
    const partial_json = JSON.stringify(input);
    return {
      begin: { ...block, input: {} },
      deltas: [{ type: "input_json_delta", partial_json }],
    };
  }
  return { begin: block, deltas: [] };
}

/** Gemini's API, that answers with parts, each in a chunk of its own where it streams. */
export const gemini = (...parts: readonly object[]): Script => geminiWith({}, ...parts);

/** The same, with more in its counts. */
export const geminiWith =
  (more: object, ...parts: readonly object[]): Script =>
  async (exchange) => {
    const usageMetadata = {
      ...{ promptTokenCount: 9, cachedContentTokenCount: 4, candidatesTokenCount: 3 },
      ...{ thoughtsTokenCount: 6, totalTokenCount: 18, ...more },
    };
    const answer = (some: readonly object[], finishReason?: string) => ({
      candidates: [{ index: 0, content: { role: "model", parts: some }, finishReason }],
      usageMetadata,
      modelVersion: "gemini-3-pro",
      responseId: "r1",
    });
    if (!exchange.request.path.includes("streamGenerateContent")) {
      return exchange.sendJson(200, answer(parts, "STOP"));
    }
    const chunks = parts.map((part, i) => answer([part], parts[i + 1] ? undefined : "STOP"));
    await exchange.stream(...chunks);
    await exchange.end();
  };

/** A message as the Responses API has it, that says something. */
export const message = (text: string) => ({
  ...{ type: "message", id: "msg_1", role: "assistant" },
  content: [{ type: "output_text", text, annotations: [] }],
});

/** OpenAI's Responses API, that answers with items. */
export const responses = (...output: readonly OutputItem[]): Script => responsesWith({}, ...output);

interface OutputItem {
  readonly type: string;
  readonly id: string;
  readonly [name: string]: unknown;
}

/** The same, with more in its answer. */
export const responsesWith =
  (more: object, ...output: readonly OutputItem[]): Script =>
  async (exchange) => {
    const usage = {
      ...{ input_tokens: 9, input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 } },
      ...{ output_tokens: 12, output_tokens_details: { reasoning_tokens: 8 }, total_tokens: 21 },
    };
    const whole = {
      ...{ id: "resp_1", object: "response", created_at: 1, model: "gpt-5", status: "completed" },
      ...{ output, usage, ...more },
    };
    if (!exchange.json().stream) return exchange.sendJson(200, whole);
    const begun = { ...whole, status: "in_progress", output: [], usage: null };
    const events = [
      { type: "response.created", response: begun },
      ...output.flatMap((item, output_index) => itemEvents(item, output_index)),
      { type: "response.completed", response: whole },
    ];
    await exchange.stream(...events.map(event));
    await exchange.end();
  };

function itemEvents(
  item: { type: string; id: string; [name: string]: unknown },
  at: number,
): { type: string; [name: string]: unknown }[] {
  const about = { item_id: item.id, output_index: at };
  const added = { type: "response.output_item.added", output_index: at };
  const done = { type: "response.output_item.done", output_index: at, item };
  if (item.type === "reasoning") {
    const summaries = item.summary as { text: string }[];
    return [
      // What is encrypted is another at the beginning.
      { ...added, item: { ...item, summary: [], encrypted_content: "not yet" } },
      ...summaries.flatMap(({ text }, summary_index) => {
        const which = { ...about, summary_index };
        const part = { type: "summary_text", text };
        return [
          { type: "response.reasoning_summary_part.added", ...which, part: { ...part, text: "" } },
          { type: "response.reasoning_summary_text.delta", ...which, delta: text },
          { type: "response.reasoning_summary_text.done", ...which, text },
          { type: "response.reasoning_summary_part.done", ...which, part },
        ];
      }),
      done,
    ];
  }
  if (item.type === "message") {
    const [part] = item.content as { text: string }[];
    const which = { ...about, content_index: 0 };
    return [
      { ...added, item: { ...item, content: [] } },
      { type: "response.output_text.delta", ...which, delta: part?.text },
      done,
    ];
  }
  return [
    { ...added, item: { ...item, arguments: "" } },
    { type: "response.function_call_arguments.delta", ...about, delta: item.arguments },
    { type: "response.function_call_arguments.done", ...about, arguments: item.arguments },
    done,
  ];
}

/** A server of OpenAI's form, whose messages say something. */
export const compatible =
  (message: object, usage: object = {}): Script =>
  async (exchange) => {
    if (!exchange.json().stream) {
      const choices = [
        { index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" },
      ];
      return exchange.sendJson(200, { id: "c", created: 1, model: "m", choices, usage });
    }
    const pieces = Object.entries(message).map(([name, value]) => chunk({ [name]: value }));
    await exchange.stream(...pieces, { ...chunk({}, "stop"), usage }, "data: [DONE]\n\n");
    await exchange.end();
  };

/** A backend for Gemini's models at an address. */
export const googleAt = (url: string, config: object = {}) =>
  aiSdkBackend({
    package: "@ai-sdk/google",
    options: { apiKey: "g-secret", baseURL: `${url}/v1beta` },
    models: [{ id: "gemini-3-pro" }],
    ...config,
  });
