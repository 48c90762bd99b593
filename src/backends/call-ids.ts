/** Ids of calls in conversations, for models that don't take every id: the calls may be another model's. */
import type { LLMMessage } from "../../gen/lintel/v1/chat_pb.js";

/** Stands among the fields that a server refused for ids of calls: it is told others then. */
export const callIds = "ids of calls";

/** The id that a model is told instead of one; calls and what came of them have the same. */
export type IdOf = (id: string) => string;

/** All ids as they are. */
export const sameId: IdOf = (id) => id;

/**
 * Ids of nine letters and digits, in the order in which they are asked for: Mistral's templates and
 * interface take no others, and whoever wants something else of ids takes these.
 */
export function shortIds(): IdOf {
  const known = new Map<string, string>();
  return (id) => {
    const short = known.get(id) ?? `call${String(known.size).padStart(5, "0")}`;
    known.set(id, short);
    return short;
  };
}

/** What a server is told instead of ids, by what it has refused. */
export const idsFor = (refused: ReadonlySet<string>): IdOf =>
  refused.has(callIds) ? shortIds() : sameId;

const short = /^[A-Za-z0-9]{9}$/;

/** Whether some id in a conversation is no such one. */
export const hasOtherIds = (messages: readonly LLMMessage[]): boolean =>
  messages.some(
    ({ toolCalls, toolCallId }) =>
      (toolCallId !== "" && !short.test(toolCallId)) || toolCalls.some(({ id }) => !short.test(id)),
  );
