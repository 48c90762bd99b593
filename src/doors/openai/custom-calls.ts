/** Calls of the functions that stand for custom tools, as calls of these: whole, and in streams. */
import type { LLMMessage, LLMResponse, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../core/tool-calls.js";
import { customType } from "../json/chat.js";
import type { EventEncoder } from "../json/sse.js";
import { InputReader, inputOf } from "./custom-input.js";
import { CallsEncoder } from "./told-messages.js";

/** Names of custom tools, as models know them. */
export type Customs = ReadonlySet<string>;

/** A whole answer with the texts of such calls in place of their arguments. */
export function withInputs(response: LLMResponse, customs: Customs): LLMResponse {
  if (customs.size === 0) return response;
  const told = (call: ToolCall) => {
    const { name = "", arguments: args = "" } = call.function ?? {};
    return customs.has(name) ? textOf(call, inputOf(args)) : call;
  };
  const choices = response.choices.map((choice) => {
    const { message } = choice;
    if (!message) return choice;
    return { ...choice, message: { ...message, toolCalls: message.toolCalls.map(told) } };
  });
  return { ...response, choices };
}

/** An encoder that is given the texts of such calls in place of their arguments, piece by piece. */
export const inputsTo = (encoder: EventEncoder<"chat">, customs: Customs): EventEncoder<"chat"> =>
  customs.size === 0 ? encoder : new InputsEncoder(encoder, customs);

class InputsEncoder extends CallsEncoder {
  readonly #calls: CallPieces;

  constructor(to: EventEncoder<"chat">, customs: Customs) {
    super(to);
    this.#calls = new CallPieces(customs);
  }

  protected override told(
    pieces: LLMMessage["toolCalls"],
    isLast: boolean,
  ): LLMMessage["toolCalls"] {
    return this.#calls.told(pieces, isLast);
  }
}

/** The pieces of all calls of one stream. */
class CallPieces {
  readonly #customs: Customs;
  /** What reads each call of a custom tool, by its index; of another call nothing does. */
  readonly #readers = new Map<number, InputReader | undefined>();

  constructor(customs: Customs) {
    this.#customs = customs;
  }

  /** The same pieces as they are told. @param isLast whether no more come */
  told(pieces: LLMMessage["toolCalls"], isLast: boolean): LLMMessage["toolCalls"] {
    if (pieces.length === 0 && !isLast) return pieces;
    const told = pieces.map((piece) => this.#take(piece));
    if (isLast) told.push(...this.#end());
    return told.filter((piece) => piece !== undefined);
  }

  /** The first piece of a call has its name. */
  #take(piece: ToolCall): ToolCall | undefined {
    const { index, function: called } = piece;
    if (!this.#readers.has(index)) {
      const isCustom = this.#customs.has(called?.name ?? "");
      this.#readers.set(index, isCustom ? new InputReader() : undefined);
    }
    return this.#next(piece);
  }

  /** The piece of a call whose name is known; of a text there may be nothing to tell. */
  #next(piece: ToolCall): ToolCall | undefined {
    const reader = this.#readers.get(piece.index);
    if (!reader) return piece;
    const text = reader.push(piece.function?.arguments ?? "");
    const isEmpty = piece.id === "" && piece.extraContent === "" && text === "";
    return isEmpty ? undefined : textOf(piece, text);
  }

  #end(): ToolCall[] {
    const left: ToolCall[] = [];
    for (const [index, reader] of this.#readers) {
      const text = reader?.end() ?? "";
      if (text !== "") left.push(textOf(toolCall(index, "", "", ""), text));
    }
    return left;
  }
}

/** A call, or a piece of one, with a text in place of the arguments. */
const textOf = (
  { index, id, function: called, extraContent }: ToolCall,
  text: string,
): ToolCall => ({
  ...toolCall(index, id, called?.name ?? "", text, extraContent),
  type: customType,
});
