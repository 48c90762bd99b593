/** Calls of tools, as providers tell of them. */
import type {
  LanguageModelV3Content,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolCall,
} from "@ai-sdk/provider";
import type { ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../core/tool-calls.js";
import { extraContentOf } from "./signature.js";
import { unwrapped } from "./written.js";

/** The calls of a whole answer, but for those that the provider has run itself. */
export const callsIn = (content: readonly LanguageModelV3Content[]): ToolCall[] =>
  content
    .filter((part) => part.type === "tool-call")
    .filter(({ providerExecuted }) => !providerExecuted)
    .map((part, index) => wholeCall(index, part));

const wholeCall = (index: number, part: LanguageModelV3ToolCall): ToolCall =>
  toolCall(
    index,
    part.toolCallId,
    part.toolName,
    unwrapped(part.input),
    extraContentOf(part.providerMetadata),
  );

type Started = Extract<LanguageModelV3StreamPart, { type: "tool-input-start" }>;

/** A call that is told of in pieces. */
interface Begun {
  readonly index: number;
  readonly extraContent: string;
  /** Whether its arguments are told. */
  told: boolean;
}

/** Makes pieces of the calls in a stream. Most providers tell of one in pieces, and then of all of it again. */
export class CallParts {
  /** Calls that are told of in pieces, by their ids. */
  readonly #begun = new Map<string, Begun>();
  #count = 0;

  /** The piece in a part of the stream, if there is one. */
  read(part: LanguageModelV3StreamPart): ToolCall | undefined {
    switch (part.type) {
      case "tool-input-start":
        return part.providerExecuted ? undefined : this.#begin(part);
      case "tool-input-delta":
        return this.#goOn(part.id, part.delta);
      case "tool-call":
        return part.providerExecuted ? undefined : this.#end(part);
      default:
        return undefined;
    }
  }

  /** What is to be seen again stands here where it is known: some clients take it from the begin alone. */
  #begin({ id, toolName, providerMetadata }: Started): ToolCall {
    const index = this.#count++;
    const extraContent = extraContentOf(providerMetadata);
    this.#begun.set(id, { index, extraContent, told: false });
    return toolCall(index, id, toolName, "", extraContent);
  }

  #goOn(id: string, delta: string): ToolCall | undefined {
    const call = this.#begun.get(id);
    if (!call || delta === "") return undefined;
    call.told = true;
    return toolCall(call.index, "", "", unwrapped(delta));
  }

  #end(part: LanguageModelV3ToolCall): ToolCall | undefined {
    const call = this.#begun.get(part.toolCallId);
    if (!call) return wholeCall(this.#count++, part);
    // Vendors may have another call of the same id.
    this.#begun.delete(part.toolCallId);
    const rest = call.told ? "" : unwrapped(part.input);
    const known = extraContentOf(part.providerMetadata);
    const extraContent = known === call.extraContent ? "" : known;
    if (rest === "" && extraContent === "") return undefined;
    return toolCall(call.index, "", "", rest, extraContent);
  }
}
