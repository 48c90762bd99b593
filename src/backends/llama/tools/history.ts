/** What was called, as chat templates read it. */
import type { LLMMessage, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { messageOf } from "../../../core/chat-messages.js";
import { isObject, type JsonObject, parseJson } from "../../../core/json.js";
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
  const names = new Map<string, string>();
  const short = shortIds();
  const numbered = new Map<string, string>();
  const idOf = (id: string) => numbered.get(id) ?? short(id);
  return messages.map((message) => {
    const { role, toolCalls, toolCallId } = message;
    if (role === "tool" && toolCallId !== "") {
      const fields = { tool_call_id: idOf(toolCallId), name: names.get(toolCallId) ?? "" };
      return { message, fields: mark(fields), written: "" };
    }
    if (toolCalls.length === 0) return { message, fields: {}, written: "" };
    for (const { id, function: called } of toolCalls) {
      names.set(id, called?.name ?? "");
      if (form.call.as === "named" && form.call.isNumbered) {
        numbered.set(id, `functions.${called?.name ?? ""}:${numbered.size}`);
      }
    }
    if (style.isWritten) {
      const all = toolCalls.map((call) =>
        mark({ name: call.function?.name ?? "", args: argumentsOf(call) }),
      );
      return { message, fields: {}, written: writtenCalls(all, form) };
    }
    const tool_calls = toolCalls.map((call) => {
      const name = call.function?.name ?? "";
      const written = argumentsIn(call, form, style);
      return { id: idOf(call.id), type: "function", function: { name, arguments: written } };
    });
    const content = style.alone !== undefined && { content: style.alone };
    return { message, fields: mark({ ...content, tool_calls }), written: "" };
  });
}

/** Messages that call one tool each, what came of it behind each. */
function callsApart(messages: readonly LLMMessage[]): LLMMessage[] {
  const apart: LLMMessage[] = [];
  const told = new Set<LLMMessage>();
  for (const [i, message] of messages.entries()) {
    if (told.has(message)) continue;
    const [first, ...others] = message.toolCalls;
    if (!first || others.length === 0) {
      apart.push(message);
      continue;
    }
    const next = messages.findIndex(({ role }, at) => at > i && role !== "tool");
    const results = messages.slice(i + 1, next < 0 ? undefined : next);
    for (const call of message.toolCalls) {
      const alone = { ...message, toolCalls: [call] };
      apart.push(call === first ? alone : { ...alone, content: "", reasoningContent: "" });
      for (const result of results.filter(({ toolCallId }) => toolCallId === call.id)) {
        told.add(result);
        apart.push(result);
      }
    }
  }
  return apart;
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
  const parsed = parseJson(written);
  return isObject(parsed) ? parsed : written;
}

/** Each is written by itself; what makes texts of them does not know of `null`. */
const taggedArguments = (call: ToolCall): JsonObject =>
  Object.fromEntries(
    Object.entries(argumentsOf(call)).map(([name, value]) => [name, value ?? "null"]),
  );
