/** Marks for a vendor's cache of prompts, which providers read at whole messages and at tools. */
import type { SharedV3ProviderOptions } from "@ai-sdk/provider";
import type { CacheControl, LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { inOneText } from "../../core/chat-messages.js";
import { isMarkedWithin, markOf } from "../../core/prompt-marks.js";

/** Writes a mark as options of what ends there. */
export type Marking = (mark: CacheControl) => SharedV3ProviderOptions;

/** Anthropic's. */
export const claudeMark: Marking = ({ type, ttl }) => ({
  anthropic: { cacheControl: { type, ...(ttl !== "" && { ttl }) } },
});

/** Bedrock's Converse API, for all models there. */
export const bedrockMark: Marking = ({ ttl }) => ({
  bedrock: { cachePoint: { type: "default", ...(ttl !== "" && { ttl }) } },
});

/** Options of what a mark ends; none where there is no mark, or nobody to tell. */
export const optionsOfMark = (mark: CacheControl | undefined, marking: Marking | undefined) =>
  mark && marking ? { providerOptions: marking(mark) } : {};

/** A message as one for each mark: providers know marks at the end of a message alone, and join messages of one role. */
export function piecesOf(message: LLMMessage): readonly LLMMessage[] {
  if (!isMarkedWithin(message)) return [message];
  const pieces: LLMMessage[] = [];
  let begin = 0;
  for (const [i, { cacheControl }] of message.parts.entries()) {
    const isLast = i === message.parts.length - 1;
    if (!cacheControl && !isLast) continue;
    const parts = message.parts.slice(begin, i + 1);
    const mark = isLast ? markOf(message) : cacheControl;
    pieces.push(inOneText({ ...message, parts, cacheControl: mark }));
    begin = i + 1;
  }
  return pieces;
}
