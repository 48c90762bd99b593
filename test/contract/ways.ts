/** Each way in to a chat, with what comes beside the answer: attempts, times to wait. */
import { create } from "@bufbuild/protobuf";
import { type CallOptions, ConnectError, createClient } from "@connectrpc/connect";
import { expect } from "vitest";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ChatService, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { type ErrorCode, errorTable } from "../../src/core/error-table.js";
import { generateEvents, partsOf, textOf } from "../doors/generate-events.js";
import { messageEvents } from "../doors/message-events.js";
import { responseEvents } from "../doors/response-events.js";
import { connect, grpc, grpcWeb, type TransportOf } from "./transports.js";

/** What a caller sees. */
export interface Seen {
  /** The text, as far as it came. */
  text: string;
  /** Code of the error. */
  code?: string;
  /** HTTP status, or the RPC's code. */
  status?: number;
  retryAfter?: number;
  /** `x-lintel-attempts` */
  attempts?: number;
}

/** What is asked for. */
export interface Asked {
  readonly model: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The deadline of the protocol itself, for RPC. */
  readonly timeoutMs?: number;
}

/** Asks for a chat. */
export interface Way {
  readonly name: string;
  readonly streams: boolean;
  ask(base: string, asked: Asked): Promise<Seen>;
}

const messages = [{ role: "user", content: "Hello" }];
const authorization = { authorization: "Bearer me" };

function beside(headers: Headers): Partial<Seen> {
  const attempts = headers.get("x-lintel-attempts");
  const retryAfter = headers.get("retry-after");
  return {
    ...(attempts && { attempts: Number(attempts) }),
    ...(retryAfter && { retryAfter: Number(retryAfter) }),
  };
}

const overHttp = (path: string, stream: boolean): Way["ask"] =>
  async function ask(base, { model, headers }) {
    const response = await fetch(base + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization, ...headers },
      body: JSON.stringify({ model, messages, stream }),
    });
    const seen: Seen = { text: "", status: response.status, ...beside(response.headers) };
    const body = await response.text();
    const parts = response.headers.get("content-type")?.startsWith("text/event-stream")
      ? body.split("\n\n").filter((event) => event.startsWith("data: {"))
      : [`data: ${body}`];
    if (parts.length > 1 && !body.endsWith("data: [DONE]\n\n")) throw new Error("no [DONE]");
    for (const part of parts) {
      const { choices, error } = JSON.parse(part.slice("data: ".length));
      const said = choices?.[0]?.delta ?? choices?.[0]?.message;
      seen.text += said?.content ?? "";
      if (error) seen.code = error.code;
    }
    return seen;
  };

const overResponses = (stream: boolean): Way["ask"] =>
  async function ask(base, { model, headers }) {
    const response = await fetch(`${base}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization, ...headers },
      body: JSON.stringify({ model, input: messages, stream }),
    });
    const seen: Seen = { text: "", status: response.status, ...beside(response.headers) };
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
      for (const { type, delta, error } of await responseEvents(response)) {
        if (type === "response.output_text.delta") seen.text += delta;
        if (error) seen.code = error.code;
      }
      return seen;
    }
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as a client would
    const { output, error } = (await response.json()) as any;
    seen.text = output?.[0].content[0].text ?? "";
    if (error) seen.code = error.code;
    return seen;
  };

const overMessages = (stream: boolean): Way["ask"] =>
  async function ask(base, { model, headers }) {
    const response = await fetch(`${base}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization, ...headers },
      body: JSON.stringify({ model, messages, max_tokens: 100, stream }),
    });
    const seen: Seen = { text: "", status: response.status, ...beside(response.headers) };
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
      for (const { delta, error } of await messageEvents(response)) {
        seen.text += delta?.text ?? "";
        if (error) seen.code = error.code;
      }
      return seen;
    }
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as a client would
    const { content, error } = (await response.json()) as any;
    seen.text = content?.[0].text ?? "";
    if (error) seen.code = error.code;
    return seen;
  };

const overGenerate = (stream: boolean): Way["ask"] =>
  async function ask(base, { model, headers }) {
    const method = stream ? "streamGenerateContent?alt=sse" : "generateContent";
    const response = await fetch(`${base}/v1/models/${model}:${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization, ...headers },
      body: JSON.stringify({ contents: [{ parts: [{ text: "Hello" }] }] }),
    });
    const seen: Seen = { text: "", status: response.status, ...beside(response.headers) };
    const events = response.headers.get("content-type")?.startsWith("text/event-stream")
      ? await generateEvents(response)
      : [await response.json()];
    seen.text = textOf(partsOf(...events));
    const { error } = events.at(-1);
    if (error) seen.code = error.details[0].reason;
    return seen;
  };

const overRpc = (open: TransportOf, stream: boolean): Way["ask"] =>
  async function ask(base, { model, headers, timeoutMs }) {
    const client = createClient(ChatService, open(base));
    const request = create(LLMRequestSchema, { model, messages });
    const seen: Seen = { text: "" };
    const options: CallOptions = {
      headers: { ...authorization, ...headers },
      onHeader: (header) => Object.assign(seen, beside(header)),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
    try {
      if (stream) {
        for await (const { choices } of client.chat(request, options)) {
          seen.text += choices[0]?.delta?.content ?? "";
        }
      } else {
        seen.text = (await client.complete(request, options)).choices[0]?.message?.content ?? "";
      }
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      Object.assign(seen, beside(error.metadata), { status: error.code });
      const [info] = error.findDetails(ErrorInfoSchema);
      const [retry] = error.findDetails(RetryInfoSchema);
      if (info) seen.code = info.reason;
      if (retry?.retryDelay) seen.retryAfter = Number(retry.retryDelay.seconds);
    }
    return seen;
  };

const connectJson = connect("JSON", "1.1");

const way = (name: string, streams: boolean, ask: Way["ask"]): Way => ({ name, streams, ask });

/** Over HTTP, where headers carry everything. */
const httpWays: readonly Way[] = [
  way("REST JSON", false, overHttp("/llm", false)),
  way("REST SSE", true, overHttp("/llm", true)),
  way("OpenAI JSON", false, overHttp("/v1/chat/completions", false)),
  way("OpenAI SSE", true, overHttp("/v1/chat/completions", true)),
  way("OpenAI Responses JSON", false, overResponses(false)),
  way("OpenAI Responses SSE", true, overResponses(true)),
  way("Anthropic JSON", false, overMessages(false)),
  way("Anthropic SSE", true, overMessages(true)),
  way("Google JSON", false, overGenerate(false)),
  way("Google SSE", true, overGenerate(true)),
];

/** Over RPC, where the protocol has a deadline of its own. */
export const rpcWays: readonly Way[] = [
  way("gRPC, unary", false, overRpc(grpc, false)),
  way("gRPC, streaming", true, overRpc(grpc, true)),
  way("gRPC-Web, unary", false, overRpc(grpcWeb, false)),
  way("gRPC-Web, streaming", true, overRpc(grpcWeb, true)),
  way("Connect, unary", false, overRpc(connectJson, false)),
  way("Connect, streaming", true, overRpc(connectJson, true)),
];

/** Every way in. */
export const ways: readonly Way[] = [...httpWays, ...rpcWays];

/** Expects the error in a door's own idiom. */
export function expectError(seen: Seen, way: Way, code: ErrorCode, inStream: boolean): void {
  const status = httpWays.includes(way)
    ? inStream
      ? 200
      : errorTable[code].http
    : errorTable[code].grpc;
  expect(seen).toMatchObject({ code, status });
}
