/** Tools as chat templates read them. */
import type { LLMRequest } from "../../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject, parseJson } from "../../../core/json.js";
import type { ToldTool } from "./telling.js";

/** The tools of a request. */
export function toolsOf({ tools }: LLMRequest): readonly ToldTool[] {
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

/** The same value with each of its texts changed, names of members too. */
export function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [change(name), withTexts(item, change)]),
  );
}
