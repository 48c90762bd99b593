/** Tools, and what was called, as chat templates read them. */
import type { LLMMessage, LLMRequest, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject, parseJson } from "../../../core/json.js";
import { argumentsOf } from "../../../core/tool-calls.js";
import { shortIds } from "../../call-ids.js";
import type { ToolForm } from "./form.js";

/** The tools of a request. */
export function toolsOf({ tools }: LLMRequest): readonly object[] {
  return tools.map(({ function: tool }) => ({
    type: "function",
    function: {
      name: tool?.name ?? "",
      description: tool?.description ?? "",
      parameters: parametersOf(tool?.parameters ?? ""),
    },
  }));
}

/** The schema of a tool's arguments. */
export function parametersOf(schema: string): JsonObject {
  const parsed = parseJson(schema);
  return isObject(parsed) ? parsed : { type: "object", properties: {} };
}

/** The schemas of the arguments of a request's tools, by name. */
export function schemasOf({ tools }: LLMRequest): ReadonlyMap<string, JsonObject> {
  return new Map(
    tools.map(({ function: tool }) => [tool?.name ?? "", parametersOf(tool?.parameters ?? "")]),
  );
}

/** What messages say of tools, besides their texts, message by message. */
export function callFields(messages: readonly LLMMessage[], { call: form }: ToolForm): object[] {
  const names = new Map<string, string>();
  const short = shortIds();
  const numbered = new Map<string, string>();
  const idOf = (id: string) => numbered.get(id) ?? short(id);
  return messages.map(({ role, toolCalls, toolCallId }) => {
    if (role === "tool" && toolCallId !== "") {
      return { tool_call_id: idOf(toolCallId), name: names.get(toolCallId) ?? "" };
    }
    if (toolCalls.length === 0) return {};
    const tool_calls = toolCalls.map((call) => {
      const { id, function: called } = call;
      const name = called?.name ?? "";
      names.set(id, name);
      if (form.as === "named" && form.isNumbered) {
        numbered.set(id, `functions.${name}:${numbered.size}`);
      }
      const written = form.as === "tagged" ? taggedArguments(call) : argumentsIn(called);
      return { id: idOf(id), type: "function", function: { name, arguments: written } };
    });
    return { tool_calls };
  });
}

/** Messages that call one tool each, what came of it behind each: templates may know no others. */
export function callsApart(messages: readonly LLMMessage[]): LLMMessage[] {
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

/** Templates go through them, or write them as JSON. */
function argumentsIn(called: ToolCall["function"]): unknown {
  const args = parseJson(called?.arguments || "{}");
  return isObject(args) ? args : (called?.arguments ?? "");
}

/** Each is written by itself; what makes texts of them does not know of `null`. */
const taggedArguments = (call: ToolCall): JsonObject =>
  Object.fromEntries(
    Object.entries(argumentsOf(call)).map(([name, value]) => [name, value ?? "null"]),
  );

/** The same value with each of its texts changed, names of members too. */
export function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [change(name), withTexts(item, change)]),
  );
}
