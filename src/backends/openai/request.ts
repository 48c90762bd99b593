/** Writes requests as OpenAI-compatible servers read them. */
import type { LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Dialect } from "./dialect.js";

/** Fields that a server may refuse and that a request can go without. */
export const optionalFields = [
  "stream_options",
  "temperature",
  "top_p",
  "top_k",
  "max_tokens",
] as const;

/** Name of such a field. */
export type Optional = (typeof optionalFields)[number];

/** How to write a request. */
export interface RequestOptions {
  readonly dialect: Dialect;
  readonly stream: boolean;
  /** What this server has refused for this model. A refused `max_tokens` goes by its other name. */
  readonly refused: ReadonlySet<string>;
  /** Most tokens of one completion. */
  readonly cap?: number | undefined;
}

/** The body of `POST /chat/completions`. */
export function writeRequest(request: LLMRequest, options: RequestOptions): string {
  const { dialect, stream, refused } = options;
  const { temperature, topP, topK = -1, seed, stop } = request;
  const maxTokens = Math.min(request.maxTokens ?? Infinity, options.cap ?? Infinity);
  const renamed = refused.has("max_tokens");
  const maxTokensName = renamed ? otherName[dialect.maxTokens] : dialect.maxTokens;
  return JSON.stringify({
    model: request.model,
    messages: request.messages.map((message) => writeMessage(message, dialect)),
    ...(temperature !== undefined && !refused.has("temperature") && { temperature }),
    ...(topP !== undefined && !refused.has("top_p") && { top_p: topP }),
    ...(topK >= 1 && dialect.topK && !refused.has("top_k") && { top_k: topK }),
    ...(Number.isFinite(maxTokens) && { [maxTokensName]: maxTokens }),
    ...(seed !== undefined && seed >= 0n && { seed: Number(seed) }),
    ...(stop.length > 0 && { stop }),
    stream,
    ...(stream && !refused.has("stream_options") && { stream_options: { include_usage: true } }),
  });
}

const otherName = {
  max_tokens: "max_completion_tokens",
  max_completion_tokens: "max_tokens",
} as const;

function writeMessage({ role, content }: LLMMessage, dialect: Dialect) {
  return { role: role === "developer" && !dialect.developer ? "system" : role, content };
}
