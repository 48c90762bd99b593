/**
 * What tools show: hardly a provider takes images in results. As Anthropic's and Google's doors have it, the
 * result is its text, and what it shows is the user's.
 */
import type { ContentPart, LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { textOf } from "../../core/chat-messages.js";
import { markOf } from "../../core/prompt-marks.js";

const shows = ({ toolCallId, parts }: LLMMessage): boolean => toolCallId !== "" && parts.length > 0;

/** Messages whose results are texts; what they show begins the user's message behind them. */
export function resultsAsTexts(messages: readonly LLMMessage[]): readonly LLMMessage[] {
  if (!messages.some(shows)) return messages;
  const told: LLMMessage[] = [];
  let shown: ContentPart[] = [];
  for (const message of messages) {
    if (shows(message)) {
      shown.push(...message.parts.filter(({ type }) => type !== "text"));
      const content = textOf(message);
      told.push({ ...message, content, parts: [], cacheControl: markOf(message) });
    } else if (message.toolCallId !== "" || shown.length === 0) told.push(message);
    else {
      const own = message.role === "user";
      told.push(own ? { ...message, parts: [...shown, ...partsOf(message)] } : ofUser(shown));
      if (!own) told.push(message);
      shown = [];
    }
  }
  return shown.length > 0 ? [...told, ofUser(shown)] : told;
}

const partsOf = ({ content, parts }: LLMMessage): readonly ContentPart[] =>
  parts.length > 0 || content === ""
    ? parts
    : [{ $typeName: "lintel.v1.ContentPart", type: "text", text: content }];

const ofUser = (parts: ContentPart[]): LLMMessage => ({
  $typeName: "lintel.v1.LLMMessage",
  ...{ role: "user", content: "", toolCalls: [], toolCallId: "", parts },
});
