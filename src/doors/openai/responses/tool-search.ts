/**
 * Searches for tools. For those that the client runs itself models are offered a function in their place;
 * for OpenAI's none: all tools are offered from the begin, and found once they are called.
 */
import { isObject, type JsonObject } from "../../../core/json.js";
import { toJsonLine, toJsonString } from "../../../core/json-string.js";
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

/** Tools that OpenAI would have to find first, by the names that models know: each as JSON text. */
export type Loads = ReadonlyMap<string, string>;

/** @param tools by those names; one in a namespace alone in it */
export function loadsOf(tools: readonly (readonly [name: unknown, tool: JsonObject])[]): Loads {
  const loads = new Map<string, string>();
  for (const [name, tool] of tools) {
    try {
      if (typeof name === "string") loads.set(name, toJsonLine(tool));
    } catch {
      // Nested too deeply for the stack: the core refuses it.
    }
  }
  return loads;
}

/** What clients want to have seen ahead of a call of such a tool: a search, and that it found the tool. */
export function searchItems(
  idOf: (kind: "tsc" | "tso") => string,
  name: string,
  tool: string,
): readonly [call: string, output: string] {
  const item = (kind: "tsc" | "tso", type: string, rest: string) =>
    `{"id":"${idOf(kind)}","type":"${type}","execution":"server","call_id":null,"status":"completed",${rest}}`;
  return [
    item("tsc", searchCall, `"arguments":{"paths":[${toJsonString(name)}]}`),
    item("tso", searchOutput, `"tools":[${tool}]`),
  ];
}
