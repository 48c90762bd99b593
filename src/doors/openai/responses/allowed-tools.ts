/** The choice `allowed_tools` of the Responses API: among some of the tools. */
import type { Violation } from "../../../core/errors.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { qualified } from "./namespaces.js";

/** What such a choice leaves. */
export interface Allowed {
  /** The contract's choice; `undefined` where that is wrong. */
  readonly choice: unknown;
  /** Whether a function may be called, by the name that models know. */
  readonly has: (name: unknown) => boolean;
}

/**
 * Reads it. What is no function is dropped among the tools, and so it is here.
 * @param names of the functions that are offered, as models know them
 * @param into gets what is wrong of it, which then allows all
 */
export function readAllowed(
  { mode, tools }: JsonObject,
  names: ReadonlySet<unknown>,
  into: Violation[],
): Allowed {
  const wrong = (name: string, message: string): Allowed => {
    into.push({ field: `tool_choice.${name}`, message });
    return { choice: undefined, has: () => true };
  };
  if (mode !== "auto" && mode !== "required") return wrong("mode", "must be auto or required");
  if (!Array.isArray(tools)) return wrong("tools", "must be an array");
  const allowed = new Set<unknown>();
  for (const [i, tool] of (tools as unknown[]).entries()) {
    if (isObject(tool) && typeof tool.type === "string" && tool.type !== "function") continue;
    const name = isObject(tool) ? qualified(tool.namespace, tool.name) : undefined;
    if (!names.has(name)) {
      return wrong(`tools[${i}]`, "must be a function by the name of one of the tools");
    }
    allowed.add(name);
  }
  return { choice: mode, has: (name) => allowed.has(name) };
}
