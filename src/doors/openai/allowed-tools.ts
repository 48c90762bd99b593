/** OpenAI's choice `allowed_tools`: among some of the tools. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";

/**
 * A request the contract's way: its tools are those that are allowed, its choice the mode.
 * @param into gets what is wrong of the choice, which then counts as not sent
 */
export function withAllowedTools(json: JsonObject, into: Violation[]): JsonObject {
  const { tools, tool_choice: choice } = json;
  if (!isObject(choice) || choice.type !== "allowed_tools") return json;
  const { mode, tools: allowed } = isObject(choice.allowed_tools) ? choice.allowed_tools : {};
  const offered: readonly unknown[] = Array.isArray(tools) ? tools : [];
  const wrong = (name: string, message: string) =>
    into.push({ field: `tool_choice.allowed_tools.${name}`, message });
  if (mode !== "auto" && mode !== "required") wrong("mode", "must be auto or required");
  else if (!Array.isArray(allowed)) wrong("tools", "must be an array");
  else {
    const names = allowed.map(nameOf);
    const known = offered.map(nameOf);
    const unknown = names.findIndex((name) => !known.includes(name));
    if (unknown === -1) {
      const left = offered.filter((tool) => names.includes(nameOf(tool)));
      return { ...json, tools: left, tool_choice: mode };
    }
    wrong(`tools[${unknown}]`, "must be a function by the name of one of the tools");
  }
  return { ...json, tool_choice: undefined };
}

const nameOf = (tool: unknown) =>
  isObject(tool) && isObject(tool.function) ? tool.function.name : undefined;
