/** Calls of tools: whole, and in the pieces of a stream, which have one index where they are of one call. */
import type {
  FunctionTool,
  LLMMessage,
  LLMRequest,
  Tool,
  ToolCall,
} from "../../gen/lintel/v1/chat_pb.js";
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

/** Whether two functions are the same to a model. */
export const areAlike = (one: FunctionTool, other: FunctionTool): boolean =>
  one.name === other.name &&
  one.description === other.description &&
  one.parameters === other.parameters &&
  one.strict === other.strict;

/** Tools of which each has a name of its own. */
export interface Offer {
  readonly tools: Tool[];
  /** What of the request's was left out; absent: nothing. */
  readonly warning?: string;
}

/**
 * The tools of a request, each name once. OpenAI takes several with one name, as clients have them that gather tools,
 * and whoever runs them looks for the last; Anthropic and Google refuse that.
 */
export function offeredOnce(tools: Tool[]): Offer {
  const byName = new Map<string | undefined, Tool>();
  let alike = true;
  // The last of a name has the place of the first.
  for (const tool of tools) {
    const name = tool.function?.name;
    const other = byName.get(name)?.function;
    if (other && tool.function) alike &&= areAlike(tool.function, other);
    byName.set(name, tool);
  }
  if (byName.size === tools.length) return { tools };
  const warning = alike
    ? "tools: the same tool is there more than once, offered once"
    : "tools: several tools have one name, the last of them is offered";
  return { tools: [...byName.values()], warning };
}

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

/** What came of a call so far. */
interface Begun {
  /** Whether callers know of it. */
  told: boolean;
  name: string;
  /** Arguments that come in pieces. */
  readonly pieces: WholeCharacters;
  /** Whether it has no arguments so far. */
  bare: boolean;
  /** What came ahead of its name; absent: nothing is kept back. */
  nameless?: ToolCall | undefined;
  /** How the arguments begin, as long as that may be a null alone, which is none. */
  start: string;
}

/**
 * Gives the calls of one answer the contract's form, in the order in which their pieces come:
 * the first piece of each has an id, a type and the name, and the others none of these, since
 * clients join what repeats.
 */
export class ToolCalls {
  /** By index. */
  readonly #begun = new Map<number, Begun>();
  readonly #ids = new Set<string>();
  #bytes = 0;
  #beside = 0;

  /** How many there are so far. */
  get count(): number {
    return this.#begun.size;
  }

  /** Letters so far of what is no part of a completion: ids, what a server wants to see again, what waits for a name. */
  get beside(): number {
    return this.#beside;
  }

  /** Bytes of names and arguments so far, UTF-8. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A call that came whole, as callers get it. @param cut whether the answer was cut */
  takeWhole(call: ToolCall, cut: boolean): ToolCall {
    const said = call.function?.arguments ?? "";
    return this.#take(call, cut || !isNone(said) ? said : none);
  }

  /** The piece as callers get it; `undefined`: it waits for the name, with which clients begin a call. */
  take(piece: ToolCall): ToolCall | undefined {
    const call = this.#at(piece.index);
    this.#beside += piece.id.length + piece.extraContent.length;
    if (!call.told) {
      this.#beside += piece.function?.arguments.length ?? 0;
      const [all = piece] = call.nameless ? joinCalls([call.nameless, piece]) : [piece];
      call.nameless = all.function?.name ? undefined : all;
      return call.nameless ? undefined : this.#takeSome(all, call);
    }
    return this.#takeSome(piece, call);
  }

  /**
   * What is left once no more pieces come: calls without a name, halves of characters, and that there
   * are no arguments.
   * @param cut whether the answer was cut
   */
  end(cut: boolean): ToolCall[] {
    return [...this.#begun].flatMap(([index, call]) => {
      const first = call.nameless ? [this.#takeSome(call.nameless, call)] : [];
      const rest = call.start + call.pieces.end();
      const left = !cut && call.bare && isNone(rest) ? none : rest;
      return left === "" ? first : [...first, this.#take(toolCall(index, "", "", ""), left)];
    });
  }

  /** The id that a call is told with: what it results in belongs to no other. */
  #idOf(id: string): string {
    const own = id === "" || this.#ids.has(id) ? newCallId() : id;
    this.#ids.add(own);
    return own;
  }

  #takeSome(piece: ToolCall, call: Begun): ToolCall {
    const said = call.pieces.push(piece.function?.arguments ?? "");
    if (!call.bare) return this.#take(piece, said);
    const start = call.start + said;
    const maybeNull = start !== "" && "null".startsWith(start.trim());
    call.start = maybeNull ? start : "";
    return this.#take(piece, maybeNull ? "" : start);
  }

  #at(index: number): Begun {
    const known = this.#begun.get(index);
    if (known) return known;
    const call = { told: false, name: "", pieces: new WholeCharacters(), bare: true, start: "" };
    this.#begun.set(index, call);
    return call;
  }

  #take({ index, id, function: called, extraContent }: ToolCall, said: string): ToolCall {
    const call = this.#at(index);
    const first = !call.told;
    call.told = true;
    const name = wellFormed(called?.name ?? "");
    const args = wellFormed(said);
    const news = name === call.name ? "" : name;
    call.name ||= name;
    if (args.trim() !== "") call.bare = false;
    this.#bytes += Buffer.byteLength(news) + Buffer.byteLength(args);
    const shown = first ? this.#idOf(wellFormed(id)) : "";
    const extra = wellFormed(extraContent);
    // Doors write it into their own JSON.
    const again = extra === "" || isJsonOf(extra, isObject) ? extra : "";
    const piece = toolCall(index, shown, news, args, again);
    return first ? piece : { ...piece, type: "" };
  }
}

/** No arguments, as OpenAI writes them: some servers write nothing, and clients read JSON only. */
const none = "{}";

/** Whether arguments are none: templates and parsers of models also write null. */
const isNone = (args: string): boolean => /^\s*(?:null\s*)?$/.test(args);

/** Arguments as servers read them, who want an object. */
export const objectArguments = (args: string): string => (isNone(args) ? none : args);

/** An id for a call of a server that gives none, or one that another call has. */
const newCallId = () => `call_${randomId(18)}`;

/**
 * Arguments of a call, for those that take an object only. What is none stands in one, by the name
 * that the AI SDK has for it.
 * @param parse reads them. Default: as JavaScript does
 */
export function argumentsOf({ function: called }: ToolCall, parse = parseJson): JsonObject {
  const args = called?.arguments ?? "";
  if (isNone(args)) return {};
  const parsed = parse(args);
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
