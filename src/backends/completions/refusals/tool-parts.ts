/** Images, files and sounds in what tools said, which many servers know in what users say alone. */
import type { LLMMessage } from "../../../../gen/lintel/v1/chat_pb.js";
import { messageOf, textOf } from "../../../core/chat-messages.js";
import { markOf } from "../../../core/prompt-marks.js";
import { asOne } from "./turns.js";

/** Stands among what a server refused for these: they are the user's to it, behind what the tools said. */
export const toolParts = "parts of what tools said";

/** In the words of OpenAI, of DeepSeek and others in Rust, and of others' checks. */
export const refusesToolParts =
  /image urls? (?:is|are) only allowed for messages with role|invalid type: sequence, expected (?:a )?string|tool messages? (?:must|should|can) (?:only )?(?:contain|have|be|support)|\bcontent\b.{0,80}(?:valid|a|be) string\b/i;

const isShowing = ({ role, toolCallId, parts }: LLMMessage): boolean =>
  role === "tool" && toolCallId !== "" && parts.some(({ type }) => type !== "text");

/** Whether there are any in a conversation. */
export const hasToolParts = (messages: readonly LLMMessage[]): boolean => messages.some(isShowing);

/** A conversation whose tools say texts alone: what they show is the user's, behind all that was said at once. */
export function withPartsBehind(messages: readonly LLMMessage[]): LLMMessage[] {
  const told: LLMMessage[] = [];
  let shown: LLMMessage["parts"] = [];
  for (const message of messages) {
    const { role, toolCallId, parts } = message;
    const goesOn = role === "tool" && toolCallId !== "";
    const behind = !goesOn && shown.length > 0 ? showing(shown) : undefined;
    if (behind) shown = [];
    if (behind && role !== "user") told.push(behind);
    if (!isShowing(message)) {
      told.push(behind && role === "user" ? asOne(behind, message) : message);
      continue;
    }
    shown = [...shown, ...parts.filter(({ type }) => type !== "text")];
    const words = messageOf("tool", textOf(message));
    told.push(Object.assign(words, { toolCallId, cacheControl: markOf(message) }));
  }
  if (shown.length > 0) told.push(showing(shown));
  return told;
}

const showing = (parts: LLMMessage["parts"]): LLMMessage =>
  Object.assign(messageOf("user", ""), { parts });
