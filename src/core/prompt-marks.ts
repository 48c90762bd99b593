/** Marks in a request for the model server's cache of prompts: `cache_control`. */
import type { CacheControl, LLMMessage, LLMRequest } from "../../gen/lintel/v1/chat_pb.js";

/** Name of the field: what models support that are told of marks. */
export const cacheControl = "cache_control";

/** The mark at a message's end: its own, or its last part's. */
export const markOf = ({ cacheControl, parts }: LLMMessage): CacheControl | undefined =>
  cacheControl ?? parts.at(-1)?.cacheControl;

/** Whether a message has a mark within: of what is ahead of its last part. */
export const isMarkedWithin = ({ parts }: LLMMessage): boolean =>
  parts.some(({ cacheControl }, i) => cacheControl !== undefined && i < parts.length - 1);

/** The request with no mark at a message, a part or a tool; itself where there is none. */
export function withoutMarks<R extends Pick<LLMRequest, "messages" | "tools">>(request: R): R {
  const { messages, tools } = request;
  const isMarked =
    tools.some((tool) => tool.cacheControl) ||
    messages.some((message) => markOf(message) || isMarkedWithin(message));
  if (!isMarked) return request;
  return {
    ...request,
    tools: tools.map(unmarked),
    messages: messages.map((message) => ({
      ...unmarked(message),
      parts: message.parts.map(unmarked),
    })),
  };
}

const unmarked = <T extends { cacheControl?: CacheControl | undefined }>(marked: T): T => ({
  ...marked,
  cacheControl: undefined,
});
