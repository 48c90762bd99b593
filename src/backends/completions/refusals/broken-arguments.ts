/** Arguments of calls that are no JSON, as some models write them, and clients send them back: many servers refuse these. */
import type { LLMMessage, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { isObject, parseJson } from "../../../core/json.js";
import { argumentsOf } from "../../../core/tool-calls.js";

/** Stands among what a server refused for these: they are text within an object to it. */
export const brokenArguments = "arguments that are no JSON";

/** In the words of llama.cpp, Alibaba and others, and of what reads JSON in Python and Rust. */
export const refusesBroken =
  /tool call arguments as json|\barguments?\b.{0,80}\b(?:valid json|json (?:format|object|string))|\bunterminated string starting at\b|\bexpecting (?:value|'.' delimiter|property name enclosed)\b|\beof while parsing\b|unexpected end of (?:data|input)/i;

const isBroken = ({ function: called }: ToolCall): boolean =>
  called !== undefined && called.arguments.trim() !== "" && !isObject(parseJson(called.arguments));

/** Whether there are any in a conversation. */
export const hasBrokenArguments = (messages: readonly LLMMessage[]): boolean =>
  messages.some(({ toolCalls }) => toolCalls.some(isBroken));

/** A conversation in which they are objects that hold what was written. */
export const withWholeArguments = (messages: readonly LLMMessage[]): LLMMessage[] =>
  messages.map((message) => {
    if (!message.toolCalls.some(isBroken)) return message;
    const toolCalls = message.toolCalls.map((call) => {
      if (!call.function || !isBroken(call)) return call;
      const args = JSON.stringify(argumentsOf(call));
      return Object.assign({}, call, { function: { ...call.function, arguments: args } });
    });
    return Object.assign({}, message, { toolCalls });
  });
