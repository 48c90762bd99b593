/** Conversations in the forms that servers take: what they may refuse of one, and what they are told instead. */
import type { LLMMessage } from "../../../../gen/lintel/v1/chat_pb.js";
import { withoutCalls } from "../../../core/tool-calls.js";
import { tools } from "../fields.js";
import { blankMessages, withoutBlank } from "./blank.js";
import { brokenArguments, hasBrokenArguments, withWholeArguments } from "./broken-arguments.js";
import { hasPartedResults, partedResults, withResultsBehind } from "./results.js";
import { hasToolParts, toolParts, withPartsBehind } from "./tool-parts.js";
import { inTurns, turnsToRefuse } from "./turns.js";

/** A conversation as a server takes it. @param refused what it has refused */
export function conversationFor(
  messages: readonly LLMMessage[],
  refused: ReadonlySet<string>,
): readonly LLMMessage[] {
  const whole = refused.has(brokenArguments) ? withWholeArguments(messages) : messages;
  const told = refused.has(tools) ? withoutCalls(whole) : whole;
  // Chat templates of local models may need blank ones for roles to alternate.
  const said = refused.has(blankMessages) ? withoutBlank(told) : told;
  const worded = refused.has(partedResults) ? withResultsBehind(said) : said;
  return inTurns(refused.has(toolParts) ? withPartsBehind(worded) : worded, refused);
}

/** What a server may refuse of the order and the forms of a conversation that it is told. */
export const conversationToRefuse = (messages: readonly LLMMessage[]): string[] => [
  ...(hasBrokenArguments(messages) ? [brokenArguments] : []),
  ...(hasPartedResults(messages) ? [partedResults] : []),
  ...turnsToRefuse(messages),
  ...(hasToolParts(messages) ? [toolParts] : []),
];
