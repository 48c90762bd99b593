/** Calls of tools, as providers tell of them. */
import type { LanguageModelV3Content, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import type { ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../core/tool-calls.js";

/** The calls of a whole answer, but for those that the provider has run itself. */
export const callsIn = (content: readonly LanguageModelV3Content[]): ToolCall[] =>
  content
    .filter((part) => part.type === "tool-call")
    .filter(({ providerExecuted }) => !providerExecuted)
    .map(({ toolCallId, toolName, input }, index) => toolCall(index, toolCallId, toolName, input));

/** Makes pieces of the calls in a stream. Most providers tell of one in pieces, and then of all of it again. */
export class CallParts {
  /** Calls that are told of in pieces, by their ids. */
  readonly #begun = new Map<string, { readonly index: number; told: boolean }>();
  #count = 0;

  /** The piece in a part of the stream, if there is one. */
  read(part: LanguageModelV3StreamPart): ToolCall | undefined {
    switch (part.type) {
      case "tool-input-start":
        return part.providerExecuted ? undefined : this.#begin(part.id, part.toolName);
      case "tool-input-delta":
        return this.#goOn(part.id, part.delta);
      case "tool-call":
        return part.providerExecuted ? undefined : this.#end(part);
      default:
        return undefined;
    }
  }

  #begin(id: string, name: string): ToolCall {
    const index = this.#count++;
    this.#begun.set(id, { index, told: false });
    return toolCall(index, id, name, "");
  }

  #goOn(id: string, delta: string): ToolCall | undefined {
    const call = this.#begun.get(id);
    if (!call || delta === "") return undefined;
    call.told = true;
    return toolCall(call.index, "", "", delta);
  }

  #end(part: { toolCallId: string; toolName: string; input: string }): ToolCall | undefined {
    const { toolCallId, toolName, input } = part;
    const call = this.#begun.get(toolCallId);
    if (!call) return toolCall(this.#count++, toolCallId, toolName, input);
    // Vendors may have another call of the same id.
    this.#begun.delete(toolCallId);
    return call.told || input === "" ? undefined : toolCall(call.index, "", "", input);
  }
}
