/** What all messages of a completion have in common. */
import type { LLMChoice, LLMResponse, LLMTokenUsage } from "../../gen/lintel/v1/chat_pb.js";
import { tokenUsage } from "./chat-messages.js";
import { randomId } from "./random-id.js";

/** Counts of a message that is not the last one. */
export const noUsage = tokenUsage(0, 0);

/** What all messages of an answer share. */
export interface Stamp {
  /** The contract's id of the answer. */
  readonly id: string;
  /** Seconds. */
  readonly created: number;
  readonly model: string;
}

/** Seconds since the epoch, as answers have them in `created`. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** An id for an answer; chunks of one stream share it. */
const newCompletionId = (): string => `chatcmpl-${randomId(18)}`;

/** Of an answer that begins. */
export const newStamp = (model: string): Stamp => ({
  id: newCompletionId(),
  created: nowSeconds(),
  model,
});

/** A message of an answer. Written out: copies of objects would be half of what a piece costs. */
export function response(
  { id, created, model }: Stamp,
  usage: LLMTokenUsage,
  choice: LLMChoice,
): LLMResponse {
  return {
    $typeName: "lintel.v1.LLMResponse",
    id,
    model,
    created,
    usage,
    choices: [choice],
    usageEstimated: false,
    warnings: [],
  };
}
