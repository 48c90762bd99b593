/** Answers of the Responses API: whole, and what stands in streams of them. */
import type { LLMResponse, LLMTokenUsage, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { toJsonLine, toJsonString } from "../../../core/json-string.js";
import type { Reasoning } from "../../../core/reasoning.js";
import type { Stamp } from "../../../core/stamp.js";
import { argumentsText } from "../../../core/tool-calls.js";
import { customType, extras, tierText } from "../../json/chat.js";
import { extraText } from "../../json/drawn.js";
import { sealed } from "../../json/kept-thoughts.js";
import type { Echo } from "./echo.js";
import type { Failure } from "./failures.js";
import { tokensOf, tokensText } from "./logprobs.js";
import type { Namespaces } from "./namespaces.js";
import { imageItem } from "./picture.js";
import { type Loads, searchCall, searchItems } from "./tool-search.js";

/** Whether something is complete. */
export type Status = "in_progress" | "completed" | "incomplete" | "failed";

/** How an answer stands. */
export interface State {
  readonly status: Status;
  /** Why it is incomplete. */
  readonly reason?: string;
  readonly error?: Failure;
  /** Its items, each as JSON text. */
  readonly output: readonly string[];
  readonly usage?: LLMTokenUsage | undefined;
  /** Which tier of service it had; absent: that is not told. */
  readonly tier?: string | undefined;
  readonly estimated?: boolean;
  readonly warnings?: readonly string[];
}

/** Reasons of the contract for which an answer is incomplete, by those of this API. */
const reasons: Readonly<Record<string, string>> = {
  length: "max_output_tokens",
  content_filter: "content_filter",
};

/** How an answer ended, by the contract's reason. */
export function endingOf(finishReason: string): Pick<State, "status" | "reason"> {
  const reason = reasons[finishReason];
  return reason === undefined ? { status: "completed" } : { status: "incomplete", reason };
}

/** A response as JSON text, in one line. */
export function responseText(stamp: Stamp, state: State, { members }: Echo): string {
  const { status, reason, error, output, usage, tier, estimated = false, warnings = [] } = state;
  const failed = error ? toJsonLine(error) : "null";
  const incomplete = reason === undefined ? "null" : `{"reason":"${reason}"}`;
  const counted = usage ? usageText(usage) : "null";
  return `{"id":"${idOf("resp", stamp)}","object":"response","created_at":${stamp.created},"status":"${status}","background":false,"error":${failed},"incomplete_details":${incomplete},"model":${toJsonString(stamp.model)},"output":[${output.join(",")}],${members},"usage":${counted}${tierText(tier)}${extras(estimated, warnings)}}`;
}

/** A whole answer as JSON text. */
export function wholeResponse(
  response: LLMResponse,
  echo: Echo,
  warnings: readonly string[],
): string {
  const { choices, usage, usageEstimated: estimated, serviceTier: tier } = response;
  const { message, finishReason = "stop", logprobs } = choices[0] ?? {};
  const { content = "", toolCalls = [], images = [] } = message ?? {};
  const { reasoningContent, reasoningDetails } = message ?? {};
  const ending = endingOf(finishReason);
  const thought = reasoningContent || reasoningDetails ? 1 : 0;
  const others = thought + images.length + toolCalls.length;
  const said = content !== "" || others === 0 ? 1 : 0;
  // Of an answer that is incomplete it is the last item that is so.
  const last = said + others - 1;
  const statusOf = (number: number) => (number === last ? ending.status : "completed");
  const output: string[] = [];
  if (thought === 1) output.push(reasoningItem(response, 0, message ?? {}, statusOf(0)));
  if (said === 1) {
    const tokens = logprobs ? tokensText(tokensOf(content, logprobs.content)) : "[]";
    output.push(messageItem(response, thought, content, statusOf(thought), tokens));
  }
  for (const image of images) {
    const id = idOf("ig", response, output.length);
    output.push(imageItem(id, image, statusOf(output.length)));
  }
  const loading = new Loading(echo.loads);
  for (const [i, call] of toolCalls.entries()) {
    output.push(...loading.before(call, response, output.length));
    const status = statusOf(thought + said + images.length + i);
    output.push(callItem(response, output.length, call, status, echo.namespaces));
  }
  return responseText(response, { output, usage, tier, estimated, warnings, ...ending }, echo);
}

/** An id of a kind: the answer's own letters, and behind them a number that tells items apart. */
export const idOf = (
  kind: "resp" | "rs" | "msg" | "tso" | "ig" | CallWords["id"],
  { id }: Stamp,
  number = 0,
): string => `${kind}_${id.slice(id.indexOf("-") + 1)}${number > 0 ? `_${number}` : ""}`;

/**
 * What the model thought, as an item. It stands where OpenAI's models have summaries: that is what
 * clients show, and what they ask for only where they know the model's name.
 */
export function reasoningItem(
  stamp: Stamp,
  number: number,
  { reasoningContent = "", reasoningDetails = "" }: Reasoning,
  status: Status,
): string {
  const summary = reasoningContent === "" ? "" : summaryPart(reasoningContent);
  // Clients drop thoughts without, and some all but it: nothing is kept here, so they are to come back.
  const kept =
    status === "in_progress" ? "null" : `"${sealed(reasoningDetails, reasoningContent)}"`;
  return `{"id":"${idOf("rs", stamp, number)}","type":"reasoning","status":"${status}","summary":[${summary}],"encrypted_content":${kept}}`;
}

/** Text as a part of what the model thought. */
export const summaryPart = (text: string): string =>
  `{"type":"summary_text","text":${toJsonString(text)}}`;

/** What is said, as an item; one that begins has no parts. @param tokens of it, as JSON text */
export function messageItem(
  stamp: Stamp,
  number: number,
  text: string,
  status: Status,
  tokens = "[]",
): string {
  const content = status === "in_progress" ? "" : textPart(text, tokens);
  return `{"id":"${idOf("msg", stamp, number)}","type":"message","status":"${status}","role":"assistant","content":[${content}]}`;
}

/** Text as a part of a message. @param tokens of it, as JSON text */
export const textPart = (text: string, tokens = "[]"): string =>
  `{"type":"output_text","text":${toJsonString(text)},"annotations":[],"logprobs":${tokens}}`;

/** What is told of calls of one type, and how it is called. */
export interface CallWords {
  /** Kind of its ids. */
  readonly id: "fc" | "ctc" | "tsc";
  readonly item: string;
  /** The member that has what is handed over. */
  readonly said: string;
  /** What the types of its events begin with. Absent: of what is handed over none tells. */
  readonly events?: string;
}

const functionWords: CallWords = {
  ...{ id: "fc", item: "function_call", said: "arguments" },
  events: "response.function_call_arguments",
};

const customWords: CallWords = {
  ...{ id: "ctc", item: "custom_tool_call", said: "input" },
  events: "response.custom_tool_call_input",
};

const searchWords: CallWords = { id: "tsc", item: searchCall, said: "arguments" };

/** The words for a call. */
export function wordsOf(
  { type, function: called }: Pick<ToolCall, "type" | "function">,
  namespaces: Namespaces,
): CallWords {
  if (namespaces.get(called?.name ?? "")?.searches) return searchWords;
  return type === customType ? customWords : functionWords;
}

/** A call of a tool, as an item. */
export function callItem(
  stamp: Stamp,
  number: number,
  call: ToolCall,
  status: Status,
  namespaces: Namespaces,
): string {
  const { id, function: called, extraContent } = call;
  const words = wordsOf(call, namespaces);
  const { name: known = "", arguments: args = "" } = called ?? {};
  const { name, namespace } = namespaces.get(known) ?? { name: known };
  const within = namespace === undefined ? "" : `,"namespace":${toJsonString(namespace)}`;
  // What a server wants to see again: clients send items back as they came.
  const extra = extraText(extraContent);
  const head = `"id":"${idOf(words.id, stamp, number)}","type":"${words.item}","status":"${status}","call_id":${toJsonString(id)}`;
  if (words === searchWords) {
    const sought = args === "" ? "{}" : argumentsText(call);
    return `{${head},"execution":"client","arguments":${sought}${extra}}`;
  }
  return `{${head},"name":${toJsonString(name)}${within},"${words.said}":${toJsonString(args)}${extra}}`;
}

/** Tells of tools that clients want to have been found before they are called, once of each. */
export class Loading {
  readonly #loads: Loads;
  #told: Set<string> | undefined;

  constructor(loads: Loads) {
    this.#loads = loads;
  }

  /** Items that stand ahead of a call. @param number of the first */
  before({ function: called }: ToolCall, stamp: Stamp, number: number): readonly string[] {
    const name = called?.name ?? "";
    const tool = this.#loads.get(name);
    if (tool === undefined || this.#told?.has(name)) return [];
    this.#told ??= new Set();
    this.#told.add(name);
    return searchItems((kind) => idOf(kind, stamp, number + (kind === "tsc" ? 0 : 1)), name, tool);
  }
}

/** Clients want all counts: what a server does not tell is 0. */
function usageText(usage: LLMTokenUsage): string {
  const { promptTokens, completionTokens, totalTokens } = usage;
  const { cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
  return `{"input_tokens":${promptTokens},"input_tokens_details":{"cached_tokens":${cachedTokens},"cache_write_tokens":${cacheWriteTokens}},"output_tokens":${completionTokens},"output_tokens_details":{"reasoning_tokens":${reasoningTokens}},"total_tokens":${totalTokens}}`;
}
