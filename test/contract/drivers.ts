/** One driver for each way in: sends a row's request, and tells what came in the table's terms. */
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { ChatService, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { responseEvents } from "../doors/response-events.js";
import type { Case, ChatOutcome, Failure, ImageOutcome } from "./cases.js";
import { chatOverGenerate, chatOverGenerateEvents } from "./google.js";
import {
  imageOverJson,
  imageOverOpenAI,
  imageOverOpenAIEvents,
  imageOverRpc,
  imageOverSse,
  imageStreamOverRpc,
} from "./images.js";
import { chatOverMessageEvents, chatOverMessages } from "./messages.js";
import { connect, grpc, grpcWeb, type TransportOf } from "./transports.js";
import {
  authorization,
  events,
  failureOf,
  failureOfRpc,
  type Json,
  post,
  warningOf,
} from "./wire.js";

/** A way in. */
export interface Driver {
  readonly name: string;
  /** Whether answers come in pieces, so that what came before a failure is seen. */
  readonly streams: boolean;
  /** Whether its answers tell no token counts. */
  readonly uncounted?: boolean;
  /** Whether its clients know no name for the text of `stop` that ended an answer. */
  readonly namesNoStop?: boolean;
  /** Whether it cuts a `max_tokens` above the model's cap to that. */
  readonly cuts?: boolean;
  chat?(base: string, row: Case<ChatOutcome>): Promise<ChatOutcome>;
  image?(base: string, row: Case<ImageOutcome>): Promise<ImageOutcome>;
}

const chatOverJson =
  (path: string): Driver["chat"] =>
  async (base, { request, token }) => {
    const response = await post(base, path, request, token);
    const json: Json = await response.json();
    if (!response.ok) return failureOf(json, response);
    return {
      text: json.choices[0].message.content,
      thoughts: json.choices[0].message.reasoning_content ?? "",
      finishReason: json.choices[0].finish_reason,
      stopSequence: json.choices[0].stop_sequence ?? "",
      totalTokens: json.usage.total_tokens,
      model: json.model,
      warning: warningOf(json.warnings),
    };
  };

const chatOverSse =
  (path: string, more: object, counted = true): Driver["chat"] =>
  async (base, { request, token }) => {
    const response = await post(base, path, { ...request, stream: true, ...more }, token);
    if (!response.ok) return failureOf(await response.json(), response);
    const chunks = await events(response);
    const text = chunks.map((c) => c.choices?.[0]?.delta.content ?? "").join("");
    const broken = chunks.find((c) => c.error);
    if (broken) return { text, ...failureOf({ error: broken.error, detail: {} }) };
    return {
      text,
      thoughts: chunks.map((c) => c.choices?.[0]?.delta.reasoning_content ?? "").join(""),
      finishReason: chunks
        .map((c) => c.choices[0]?.finish_reason)
        .filter(Boolean)
        .at(-1),
      stopSequence: chunks.map((c) => c.choices[0]?.stop_sequence ?? "").join(""),
      ...(counted && { totalTokens: chunks.at(-1).usage.total_tokens }),
      model: chunks[0].model,
      warning: warningOf(chunks.at(-1).warnings),
    };
  };

/** What OpenAI's Responses API calls the contract's fields. */
const responseNames: Readonly<Record<string, string>> = {
  messages: "input",
  max_tokens: "max_output_tokens",
  reasoning_effort: "reasoning.effort",
};

const asResponseRequest = ({ reasoning_effort: effort, ...request }: Json): object => ({
  ...Object.fromEntries(
    Object.entries(request).map(([name, v]) => [responseNames[name] ?? name, v]),
  ),
  ...(effort && { reasoning: { effort } }),
});

/** The contract's names of fields. */
const ours = (field: string) =>
  Object.entries(responseNames).reduce(
    (name, [own, theirs]) => name.replace(new RegExp(`^${theirs}\\b`), own),
    field,
  );

/** A failure with the contract's names of fields. */
function inOurNames({ error }: { error: Failure }): { error: Failure } {
  return { error: { ...error, ...(error.fields && { fields: error.fields.map(ours) }) } };
}

const answerIn = ({ status, incomplete_details, output, usage, model, warnings }: Json) => ({
  text: output.at(-1).content[0].text,
  thoughts: output
    .filter(({ type }: Json) => type === "reasoning")
    .flatMap(({ content, summary }: Json) => [...(content ?? []), ...summary])
    .map(({ text }: Json) => text)
    .join(""),
  finishReason: { completed: "stop", max_output_tokens: "length" }[
    (incomplete_details?.reason ?? status) as string
  ],
  stopSequence: "",
  totalTokens: usage.total_tokens,
  model,
  warning: warningOf(warnings, ours),
});

const chatOverResponses: Driver["chat"] = async (base, { request, token }) => {
  const response = await post(base, "/v1/responses", asResponseRequest(request), token);
  const json: Json = await response.json();
  return response.ok ? answerIn(json) : inOurNames(failureOf(json, response));
};

const chatOverResponseEvents: Driver["chat"] = async (base, { request, token }) => {
  const body = { ...asResponseRequest(request), stream: true };
  const response = await post(base, "/v1/responses", body, token);
  if (!response.ok) return inOurNames(failureOf(await response.json(), response));
  const events = await responseEvents(response);
  const said = (kind: string) =>
    events.map(({ type, delta }) => (type === `response.${kind}.delta` ? delta : "")).join("");
  const text = said("output_text");
  const broken = events.find(({ error }) => error);
  if (broken) return { text, ...failureOf({ error: broken.error, detail: {} }) };
  return { ...answerIn(events.at(-1).response), text, thoughts: said("reasoning_summary_text") };
};

const completeOverRpc =
  (transport: TransportOf): Driver["chat"] =>
  async (base, { request, token }) => {
    const client = createClient(ChatService, transport(base));
    try {
      const answer = await client.complete(
        fromJson(LLMRequestSchema, request as JsonValue, { ignoreUnknownFields: true }),
        { headers: authorization(token) },
      );
      return {
        text: answer.choices[0]?.message?.content,
        thoughts: answer.choices[0]?.message?.reasoningContent ?? "",
        finishReason: answer.choices[0]?.finishReason,
        stopSequence: answer.choices[0]?.stopSequence ?? "",
        totalTokens: answer.usage?.totalTokens,
        model: answer.model,
        warning: warningOf(answer.warnings),
      };
    } catch (thrown) {
      return failureOfRpc(thrown);
    }
  };

const chatOverRpc =
  (transport: TransportOf): Driver["chat"] =>
  async (base, { request, token }) => {
    const client = createClient(ChatService, transport(base));
    let text = "";
    let thoughts = "";
    let last = create(ChatService.method.chat.output);
    try {
      for await (const piece of client.chat(
        fromJson(LLMRequestSchema, request as JsonValue, { ignoreUnknownFields: true }),
        { headers: authorization(token) },
      )) {
        text += piece.choices[0]?.delta?.content ?? "";
        thoughts += piece.choices[0]?.delta?.reasoningContent ?? "";
        last = piece;
      }
      return {
        text,
        thoughts,
        finishReason: last.choices[0]?.finishReason,
        stopSequence: last.choices[0]?.stopSequence ?? "",
        totalTokens: last.usage?.totalTokens,
        model: last.model,
        warning: warningOf(last.warnings),
      };
    } catch (thrown) {
      return { ...(text && { text }), ...failureOfRpc(thrown) };
    }
  };

const unary = (name: string, transport: TransportOf): Driver => ({
  name: `${name}, unary`,
  streams: false,
  chat: completeOverRpc(transport),
  image: imageOverRpc(transport),
});
const streaming = (name: string, transport: TransportOf): Driver => ({
  name: `${name}, streaming`,
  streams: true,
  chat: chatOverRpc(transport),
  image: imageStreamOverRpc(transport),
});

/** Every way in. */
export const drivers: readonly Driver[] = [
  { name: "REST JSON", streams: false, chat: chatOverJson("/llm"), image: imageOverJson },
  { name: "REST SSE", streams: true, chat: chatOverSse("/llm", {}), image: imageOverSse },
  {
    name: "OpenAI JSON",
    streams: false,
    chat: chatOverJson("/v1/chat/completions"),
    image: imageOverOpenAI,
  },
  {
    name: "OpenAI SSE",
    streams: true,
    image: imageOverOpenAIEvents,
    chat: chatOverSse("/v1/chat/completions", { stream_options: { include_usage: true } }),
  },
  {
    name: "OpenAI SSE without usage",
    streams: true,
    uncounted: true,
    chat: chatOverSse("/v1/chat/completions", {}, false),
  },
  { name: "OpenAI Responses JSON", streams: false, namesNoStop: true, chat: chatOverResponses },
  { name: "OpenAI Responses SSE", streams: true, namesNoStop: true, chat: chatOverResponseEvents },
  { name: "Anthropic JSON", streams: false, cuts: true, chat: chatOverMessages },
  { name: "Anthropic SSE", streams: true, cuts: true, chat: chatOverMessageEvents },
  { name: "Google JSON", streams: false, cuts: true, namesNoStop: true, chat: chatOverGenerate },
  {
    name: "Google SSE",
    streams: true,
    cuts: true,
    namesNoStop: true,
    chat: chatOverGenerateEvents,
  },
  unary("gRPC", grpc),
  streaming("gRPC", grpc),
  unary("gRPC-Web", grpcWeb),
  streaming("gRPC-Web", grpcWeb),
  unary("Connect binary over HTTP/1.1", connect("binary", "1.1")),
  streaming("Connect binary over HTTP/2", connect("binary", "2")),
  unary("Connect JSON over HTTP/2", connect("JSON", "2")),
  streaming("Connect JSON over HTTP/1.1", connect("JSON", "1.1")),
];
