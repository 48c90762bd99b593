/** What was called, as chat templates read it. */
import type { LLMMessage, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { messageOf } from "../../../core/chat-messages.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { parseMarked } from "../../../core/long-numbers.js";
import { argumentsOf, toolCall } from "../../../core/tool-calls.js";
import { shortIds } from "../../call-ids.js";
import { shows } from "../turns.js";
import type { ToolForm } from "./form.js";
import { writtenCalls } from "./written.js";

/** In what way a template takes calls: it refuses others, or passes over them. */
export interface CallStyle {
  /** Whether a message calls one tool, and what came of it stands behind it. */
  readonly isApart: boolean;
  /** The content of a message that calls, if what is said beside stands in one in front; absent: beside. */
  readonly alone?: null | "";
  /** Arguments as objects, or as JSON. */
  readonly args: "object" | "json";
  /** Whether calls are text of a message, as the model wrote them: no others are known. */
  readonly isWritten: boolean;
}

const styles: readonly CallStyle[] = [false, true].flatMap((isApart) =>
  [{}, { alone: null }, { alone: "" as const }].flatMap((content) =>
    (["object", "json"] as const).map((args) => ({ isApart, ...content, args, isWritten: false })),
  ),
);

const [asTheyAre] = styles as [CallStyle];

const said = "What is said beside.";
const calls = ["first", "second"].map((which, i) =>
  toolCall(i, `call_${which}`, `the_${which}_call`, JSON.stringify({ of: `The ${which} value.` })),
);
const marks = ["the_first_call", "The first value.", "the_second_call", "The second value."];

/** A conversation that shows how a template takes calls. */
const sample: readonly LLMMessage[] = [
  messageOf("user", "Hello"),
  messageOf("assistant", said, calls),
  ...calls.map(({ id }) => ({ ...messageOf("tool", "Done."), toolCallId: id })),
  messageOf("assistant", "Well."),
  messageOf("user", "Thanks"),
];

/**
 * The way in which a template takes calls: the first that loses nothing, or least.
 * @param render a conversation in that way; may throw
 */
export function callStyleOf(
  render: (messages: readonly LLMMessage[], style: CallStyle) => string,
): CallStyle {
  const prompts = styles.map((style) => {
    try {
      return { style, prompt: render(sample, style) };
    } catch {
      return { style, prompt: "" };
    }
  });
  const shown = (texts: readonly string[]) =>
    prompts.find(({ prompt }) => shows(prompt, texts) && !prompt.includes('\\"of'))?.style;
  const written = { ...asTheyAre, isWritten: true };
  return shown([said, ...marks]) ?? shown(marks) ?? written;
}

/** A message, and what of tools its template is told in its turn. */
export interface ToldMessage {
  readonly message: LLMMessage;
  /** Fields of the turn, instead of others. */
  readonly fields: object;
  /** Calls that stand as text behind the content; empty: none. */
  readonly written: string;
}

/**
 * A conversation in the way in which its template takes calls.
 * @param mark changes texts that are none of the form
 */
export function toldMessages(
  given: readonly LLMMessage[],
  form: ToolForm,
  style: CallStyle,
  mark: <T>(value: T) => T,
): ToldMessage[] {
  const apart = style.isApart ? callsApart(given) : given;
  const messages = style.alone === undefined ? apart : apart.flatMap(textApart);
  const names = new CallNames(form);
  return messages.map((message) => {
    const { role, toolCalls, toolCallId } = message;
    if (role === "tool" && toolCallId !== "") {
      return { message, fields: mark(names.ofResult(toolCallId)), written: "" };
    }
    if (toolCalls.length === 0) return { message, fields: {}, written: "" };
    const first = names.count;
    const ids = names.ofCalls(toolCalls);
    if (style.isWritten) {
      const all = toolCalls.map((call) =>
        mark({ name: call.function?.name ?? "", args: argumentsOf(call, parseMarked) }),
      );
      const written = writtenCalls(all, form, first);
      // The prompt has what parts begin with, where nothing is said in front.
      const isBegun = form.said !== undefined && message.content === "";
      return { message, fields: {}, written: isBegun ? written.slice(form.begin.length) : written };
    }
    const tool_calls = toolCalls.map((call, i) => {
      const name = call.function?.name ?? "";
      const written = argumentsIn(call, form, style);
      return { id: ids[i], type: "function", function: { name, arguments: written } };
    });
    const content = style.alone !== undefined && { content: style.alone };
    return { message, fields: mark({ ...content, tool_calls }), written: "" };
  });
}

/** What templates are told of a call, and of what came of it. */
interface CallName {
  readonly tool_call_id: string;
  readonly name: string;
}

/** The ids and names of calls in a conversation, whose own ids may be several calls' of different turns, or of one. */
class CallNames {
  readonly #isNumbered: boolean;
  readonly #short = shortIds();
  /** Of the last turn in which the id was a call's, those whose results are still to come, and the last one. */
  readonly #called = new Map<string, CallName[]>();
  /** Calls so far. */
  count = 0;

  constructor({ call }: ToolForm) {
    this.#isNumbered = call.as === "named" && call.isNumbered;
  }

  /** The ids of the calls of one turn. */
  ofCalls(calls: readonly ToolCall[]): string[] {
    for (const { id } of calls) this.#called.set(id, []);
    return calls.map(({ id, function: called }) => {
      const name = called?.name ?? "";
      const told = this.#isNumbered ? `functions.${name}:${this.count}` : this.#short(id);
      this.count++;
      this.#called.get(id)?.push({ tool_call_id: told, name });
      return told;
    });
  }

  ofResult(id: string): CallName {
    const called = this.#called.get(id) ?? [];
    const [first = { tool_call_id: this.#short(id), name: "" }] = called;
    if (called.length > 1) called.shift();
    return first;
  }
}

/** Messages that call one tool each, what came of it behind each. */
function callsApart(messages: readonly LLMMessage[]): LLMMessage[] {
  const apart: LLMMessage[] = [];
  for (let at = 0; at < messages.length; ) {
    const message = messages[at++] as LLMMessage;
    if (message.toolCalls.length < 2) {
      apart.push(message);
      continue;
    }
    const begin = at;
    while (messages[at]?.role === "tool") at++;
    apart.push(...turnApart(message, messages.slice(begin, at)));
  }
  return apart;
}

/** One such turn; what came of none of its calls stands behind it. */
function turnApart(message: LLMMessage, results: readonly LLMMessage[]): LLMMessage[] {
  const last = new Map(message.toolCalls.map(({ id }, i) => [id, i]));
  const of = new Map(message.toolCalls.map(({ id }) => [id, [] as LLMMessage[]]));
  const others = results.filter((result) => !of.get(result.toolCallId)?.push(result));
  const apart = message.toolCalls.flatMap((call, i) => {
    const alone = { ...message, toolCalls: [call] };
    const own = of.get(call.id) ?? [];
    return [
      i === 0 ? alone : { ...alone, content: "", reasoningContent: "" },
      ...own.splice(0, i === last.get(call.id) ? own.length : 1),
    ];
  });
  return [...apart, ...others];
}

/** What a message says, and what it calls behind that. */
function textApart(message: LLMMessage): LLMMessage[] {
  if (message.toolCalls.length === 0 || message.content.trim() === "") return [message];
  return [
    { ...message, toolCalls: [] },
    { ...message, content: "", reasoningContent: "" },
  ];
}

/** Templates go through them, or write them as JSON. */
function argumentsIn(call: ToolCall, { call: form }: ToolForm, { args }: CallStyle): unknown {
  const written = call.function?.arguments || "{}";
  if (args === "json") return written;
  if (form.as === "tagged" && !form.json) return taggedArguments(call);
  const parsed = parseMarked(written);
  return isObject(parsed) ? parsed : written;
}

/** Each is written by itself; what makes texts of them does not know of `null`. */
const taggedArguments = (call: ToolCall): JsonObject =>
  Object.fromEntries(
    Object.entries(argumentsOf(call, parseMarked)).map(([name, value]) => [name, value ?? "null"]),
  );
