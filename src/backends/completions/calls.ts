/** Reads calls of tools as OpenAI-compatible servers write them. */
import type { ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject, jsonOf } from "../../core/json.js";
import { toolCall } from "../../core/tool-calls.js";
import { string, word } from "../http/json.js";

/** The calls of a whole answer, in their order. */
export const readCalls = (message: JsonObject): ToolCall[] =>
  calledIn(message).map((call, index) => callOf(call, index));

/** Reads the pieces of calls in a stream, and tells which call each belongs to. */
export class CallPieces {
  /** Ids of the calls so far. */
  readonly #ids: string[] = [];
  /** Calls by the index that the server gave last. */
  readonly #places = new Map<Index, number>();

  /** The pieces in a `delta`. */
  read(delta: JsonObject): ToolCall[] {
    return calledIn(delta).map((call) => callOf(call, this.#placeOf(call)));
  }

  /** Google's servers leave `index` out, or have 0 for all, and name each call once. */
  #placeOf({ index: given, id, function: called }: Call): number {
    const index = isIndex(given) ? given : undefined;
    const known = index === undefined ? this.#ids.length - 1 : (this.#places.get(index) ?? -1);
    const goesOn = string(called.name) === "" || isSame(this.#ids[known], string(id), index);
    if (known >= 0 && goesOn) return known;
    const place = this.#ids.push(string(id)) - 1;
    this.#places.set(index, place);
    return place;
  }
}

/** Whether a piece that has a name is of a call that had begun: some servers repeat id and name in each. */
const isSame = (known: string | undefined, id: string, index: Index) =>
  id === "" ? index !== undefined : id === known;

/** What a server numbers its calls by. */
type Index = number | string | null | undefined;

/** Whether it is a number or a short word: they are kept. */
const isIndex = (index: unknown): index is Index =>
  typeof index === "number" || index === null || (typeof index === "string" && index.length <= 32);

/** A call of a function; those of other tools are none that anybody asked for. */
type Call = JsonObject & { readonly function: JsonObject };

/** Calls of a message, or pieces of them; some servers say one in the older form alone, others in both. */
function calledIn({ tool_calls, function_call }: JsonObject): Call[] {
  const calls = functionsIn(tool_calls);
  if (calls.length > 0 || !isObject(function_call)) return calls;
  const { name, arguments: args } = function_call;
  return name || args ? [{ index: 0, function: function_call }] : [];
}

function functionsIn(calls: unknown): Call[] {
  if (!Array.isArray(calls)) return [];
  // A signature may come alone, behind its call.
  return calls
    .filter(isObject)
    .filter((call) => isObject(call.function) || isObject(call.extra_content))
    .map((call) => ({ ...call, function: isObject(call.function) ? call.function : {} }));
}

function callOf(call: Call, index: number): ToolCall {
  const { id, extra_content: extra } = call;
  const { name, arguments: args } = call.function;
  // Some servers write them out as an object.
  const text = isObject(args) ? (jsonOf(args) ?? "") : word(args);
  const again = isObject(extra) ? (jsonOf(extra) ?? "") : "";
  return toolCall(index, string(id), nameIn(string(name)), text, again);
}

/** gpt-oss at times says the channel behind a tool's name, which vLLM and others take for a part of it. */
function nameIn(name: string): string {
  const end = name.includes("<|") ? name.search(harmonyMark) : 0;
  return end > 0 ? name.slice(0, end).trimEnd() : name;
}

const harmonyMark = /<\|(?:channel|constrain|message|start|end|call|return)\|>/;
