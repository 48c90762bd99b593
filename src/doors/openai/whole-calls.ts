/** Calls of tools in streams to Mistral's own clients, which take each piece of one for a whole. */
import type { IncomingHttpHeaders } from "node:http";
import type { LLMMessage, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { joinCalls } from "../../core/tool-calls.js";
import type { EventEncoder } from "../json/sse.js";
import { CallsEncoder } from "./told-messages.js";

/** Whether a client is one of these: they fail at a piece without a name. */
export const wantsWholeCalls = ({ "user-agent": agent }: IncomingHttpHeaders): boolean =>
  agent?.startsWith("mistral-client-") ?? false;

/** An encoder that is given all calls whole, with the last message, as Mistral's server tells them. */
export const wholeCallsTo = (encoder: EventEncoder<"chat">): EventEncoder<"chat"> =>
  new WholeCallsEncoder(encoder);

const none: LLMMessage["toolCalls"] = [];

class WholeCallsEncoder extends CallsEncoder {
  readonly #pieces: ToolCall[] = [];

  protected override told(
    pieces: LLMMessage["toolCalls"],
    isLast: boolean,
  ): LLMMessage["toolCalls"] {
    if (pieces.length === 0 && !isLast) return pieces;
    for (const piece of pieces) this.#pieces.push(piece);
    return isLast ? joinCalls(this.#pieces) : none;
  }
}
