/** Conversations for servers that take what came of calls directly behind these alone, of each call, and of nothing else. */
import type { LLMMessage, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { messageOf } from "../../../core/chat-messages.js";

/** Stands among what a server refused for results apart from their calls, and calls and results without each other. */
export const partedResults = "results apart from their calls";

/** In the words of OpenAI, DeepSeek and Moonshot, of Mistral, its templates, and Anthropic's and Google's interfaces. */
export const refusesParted = new RegExp(
  [
    "must be followed by tool messages",
    "must be a response to a prece+ding message",
    "same number of function calls and responses",
    "number of function response parts is equal to the number of function call",
    "ids were found without .tool_result. blocks",
    "unexpected .tool_use_id. found in .tool_result. blocks",
    "unexpected role .tool. after role",
  ].join("|"),
  "i",
);

/** Whether results are apart from their calls in a conversation, or there are some without the other. */
export const hasPartedResults = (messages: readonly LLMMessage[]): boolean =>
  withResultsBehind(messages).some((message, i) => message !== messages[i]);

/**
 * Results directly behind their calls, where what stood between follows. Calls that nothing came of are said to have
 * no result, and what came of none is the user's.
 */
export function withResultsBehind(messages: readonly LLMMessage[]): readonly LLMMessage[] {
  const groups: Group[] = [];
  // The same id may be that of another call later on.
  const open = new Map<string, Group>();
  for (const message of messages) {
    const { role, toolCallId, toolCalls } = message;
    const caller = role === "tool" ? open.get(toolCallId) : undefined;
    if (caller) {
      caller.results.push(message);
      open.delete(toolCallId);
      continue;
    }
    const orphan = role === "tool" && toolCallId !== "";
    const group = { message: orphan ? ofNobody(message) : message, results: [] };
    groups.push(group);
    for (const { id } of toolCalls) open.set(id, group);
  }
  return groups.flatMap(({ message, results }) => [
    message,
    ...results,
    ...message.toolCalls.filter(lacksIn(results)).map(unanswered),
  ]);
}

/** A message, and what came of its calls. */
interface Group {
  readonly message: LLMMessage;
  readonly results: LLMMessage[];
}

const ofNobody = (message: LLMMessage): LLMMessage =>
  Object.assign({}, message, { toolCallId: "" });

const lacksIn =
  (results: readonly LLMMessage[]) =>
  ({ id }: ToolCall): boolean =>
    results.every(({ toolCallId }) => toolCallId !== id);

/** Servers refuse a message without a word. */
const unanswered = ({ id }: ToolCall): LLMMessage =>
  Object.assign(messageOf("tool", "No result."), { toolCallId: id });
