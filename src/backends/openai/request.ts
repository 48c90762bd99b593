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
  const takes = (field: Optional) => !refused.has(field);
  // What is undefined is not written.
  return JSON.stringify({
    model: request.model,
    messages: request.messages.map((message) => writeMessage(message, dialect)),
    temperature: takes("temperature") ? temperature : undefined,
    top_p: takes("top_p") ? topP : undefined,
    top_k: topK >= 1 && dialect.topK && takes("top_k") ? topK : undefined,
    [maxTokensName]: Number.isFinite(maxTokens) ? maxTokens : undefined,
    seed: seed !== undefined && seed >= 0n ? Number(seed) : undefined,
    stop: stop.length > 0 ? stop : undefined,
    stream,
    stream_options: stream && takes("stream_options") ? includeUsage : undefined,
  });
}

const includeUsage = { include_usage: true };

const otherName = {
  max_tokens: "max_completion_tokens",
  max_completion_tokens: "max_tokens",
} as const;

function writeMessage({ role, content }: LLMMessage, dialect: Dialect) {
  return { role: role === "developer" && !dialect.developer ? "system" : role, content };
}
