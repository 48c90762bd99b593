/** Messages of conversations, as the contract has them. */
import type { LLMMessage } from "../../gen/lintel/v1/chat_pb.js";

/** A message of plain text. @param more what it says of tools */
export const say = (
  role: string,
  content: string,
  more: Partial<Pick<LLMMessage, "toolCalls" | "toolCallId">> = {},
): LLMMessage => ({
  $typeName: "lintel.v1.LLMMessage",
  role,
  content,
  toolCalls: [],
  toolCallId: "",
  ...more,
});
