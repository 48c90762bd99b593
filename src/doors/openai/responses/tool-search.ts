/** Searches for tools that the client runs itself: models are offered a function in their place. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { qualified } from "./namespaces.js";

/** The type of such a tool, and the name of the function. */
export const toolSearch = "tool_search";
/** The types of a call of it, and of what that found: further tools, which are offered from there on. */
export const searchCall = "tool_search_call";
export const searchOutput = "tool_search_output";

/** Whether a tool, a call of it, or what that found is the client's: OpenAI runs others itself. */
export const isClients = ({ execution }: JsonObject): boolean => execution === "client";

/** Whether a tool is such a search. */
export const isSearch = (tool: unknown): tool is JsonObject =>
  isObject(tool) && tool.type === toolSearch && isClients(tool);

/** What the model is told of what was found: the tools themselves stand among those that are offered. */
export function toldOf(tools: unknown): string {
  const names = namesOf(tools);
  return names.length === 0
    ? "No tools were found."
    : `Tools that are there now: ${names.join(", ")}`;
}

function namesOf(tools: unknown, namespace?: unknown): unknown[] {
  if (!Array.isArray(tools)) return [];
  return tools
    .filter(isObject)
    .flatMap((tool) =>
      tool.type === "namespace" && namespace === undefined
        ? namesOf(tool.tools, tool.name)
        : [qualified(namespace, tool.name)],
    );
}
