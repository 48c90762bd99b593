/** Calls of tools: whole, and in the pieces of a stream, which have one index where they are of one call. */
import type { LLMMessage, LLMRequest, ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { isJsonOf, isObject, type JsonObject, parseJson } from "./json.js";
import { jsonInOneLine, toJsonLine } from "./json-string.js";
import { randomId } from "./random-id.js";
import { WholeCharacters, wellFormed } from "./well-formed.js";

/** Whether an answer without a call of a tool is none that the caller asked for. */
export const mustCall = ({ toolChoice }: LLMRequest): boolean =>
  toolChoice?.type === "required" || toolChoice?.type === "function";

/** Whether a request offers tools, and an answer without a call of one will do. */
export const onlyOffersTools = (request: LLMRequest): boolean =>
  request.tools.length > 0 && !mustCall(request);

/** Whether a message calls tools, or is what came of a call. */
export const usesTools = ({ toolCalls, toolCallId }: LLMMessage): boolean =>
  toolCalls.length > 0 || toolCallId !== "";

/** Messages as who knows no tools is told of them: what was called, and came of it, as text alone. */
export const withoutCalls = (messages: readonly LLMMessage[]): LLMMessage[] =>
  messages.map((message) =>
    usesTools(message) ? { ...message, toolCalls: [], toolCallId: "" } : message,
  );

/**
 * A call of a function, or a piece of one.
 * @param extraContent what the server wants to see again, a JSON object as text
 */
export function toolCall(
  index: number,
  id: string,
  name: string,
  args: string,
  extraContent = "",
): ToolCall {
  return {
    $typeName: "lintel.v1.ToolCall",
    index,
    id,
    type: "function",
    function: { $typeName: "lintel.v1.FunctionCall", name, arguments: args },
    extraContent,
  };
}

/**
 * Gives the calls of one answer the contract's form, in the order in which their pieces come:
 * the first piece of each has an id, a type and the name, and the others none of these, since
 * clients join what repeats.
 */
export class ToolCalls {
  /** Names, by index. */
  readonly #names = new Map<number, string>();
  /** Arguments that come in pieces, by index. */
  readonly #pieces = new Map<number, WholeCharacters>();
  /** Indexes of calls without arguments so far. */
  readonly #bare = new Set<number>();
  #bytes = 0;

  /** Bytes of names and arguments so far, UTF-8. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A call that came whole, as callers get it. @param cut whether the answer was cut */
  takeWhole(call: ToolCall, cut: boolean): ToolCall {
    const said = call.function?.arguments ?? "";
    return this.#take(call, cut || said.trim() !== "" ? said : none);
  }

  /** The piece as callers get it. */
  take(piece: ToolCall): ToolCall {
    const { index, function: called } = piece;
    const all = this.#pieces.get(index) ?? new WholeCharacters();
    this.#pieces.set(index, all);
    return this.#take(piece, all.push(called?.arguments ?? ""));
  }

  /**
   * What is left once no more pieces come: halves of characters, and that there are no arguments.
   * @param cut whether the answer was cut
   */
  end(cut: boolean): ToolCall[] {
    return [...this.#pieces].flatMap(([index, all]) => {
      const left = all.end() || (!cut && this.#bare.has(index) ? none : "");
      return left === "" ? [] : [this.#take(toolCall(index, "", "", ""), left)];
    });
  }

  #take({ index, id, function: called, extraContent }: ToolCall, said: string): ToolCall {
    const known = this.#names.get(index);
    const name = wellFormed(called?.name ?? "");
    const args = wellFormed(said);
    this.#names.set(index, known || name);
    const news = name === known ? "" : name;
    this.#bytes += Buffer.byteLength(news) + Buffer.byteLength(args);
    const first = known === undefined;
    if (first) this.#bare.add(index);
    if (args.trim() !== "") this.#bare.delete(index);
    const shown = first ? wellFormed(id) || newCallId() : "";
    const extra = wellFormed(extraContent);
    // Doors write it into their own JSON.
    const again = extra === "" || isJsonOf(extra, isObject) ? extra : "";
    const piece = toolCall(index, shown, news, args, again);
    return first ? piece : { ...piece, type: "" };
  }
}

/** No arguments, as OpenAI writes them: some servers write nothing, and clients read JSON only. */
const none = "{}";

/** An id for a call of a server that gives none: what the call results in refers to it. */
const newCallId = () => `call_${randomId(18)}`;

/**
 * Arguments of a call, for those that take an object only. What is none stands in one, by the name
 * that the AI SDK has for it.
 */
export function argumentsOf({ function: called }: ToolCall): JsonObject {
  const args = called?.arguments ?? "";
  if (args.trim() === "") return {};
  const parsed = parseJson(args);
  return isObject(parsed) ? parsed : { rawInvalidInput: parsed ?? args };
}

/** The same as JSON in one line: what is an object stays as it was written, since JSON has longer numbers than JavaScript. */
export function argumentsText(call: ToolCall): string {
  const args = (call.function?.arguments ?? "").replace(/^\ufeff/, "");
  return isObject(parseJson(args)) ? jsonInOneLine(args) : toJsonLine(argumentsOf(call));
}

/** Whole calls out of the pieces of a stream, in the order in which they began. */
export function joinCalls(pieces: Iterable<ToolCall>): ToolCall[] {
  const calls = new Map<number, ToolCall>();
  for (const { index, id, function: called, extraContent } of pieces) {
    const { id: known = "", function: before, extraContent: extra = "" } = calls.get(index) ?? {};
    const name = called?.name ?? "";
    const named = before?.name || name;
    const args = (before?.arguments ?? "") + (called?.arguments ?? "");
    calls.set(index, toolCall(index, known || id, named, args, extraContent || extra));
  }
  return [...calls.values()];
}
