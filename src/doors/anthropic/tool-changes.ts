/** Tools that messages add, and take away again: `tools` stays as it was, for the sake of caches. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";

/** Types of blocks that change what is offered. */
const types: ReadonlySet<unknown> = new Set(["tool_addition", "tool_removal"]);

/** Whether a block of the role `system` is such a change, and nothing that is said. */
export const changesTools = (block: JsonObject): boolean => types.has(block.type);

/** Tools that are offered, as one after the other is declared, added or taken away. */
export interface Offered {
  /** @param place where it stands at the client */
  declare(tool: unknown, place: string): void;
  /** Offers one again. @returns whether it was declared */
  add(name: string): boolean;
  /** @returns whether it was declared */
  remove(name: string): boolean;
}

/**
 * Makes the changes, in the order of the messages. What is said of tools of MCP servers is passed over,
 * as these are.
 * @param wrong gets what can't be read, by the client's names
 */
export function changeTools(messages: unknown, offered: Offered, wrong: Violation[]): void {
  if (!Array.isArray(messages) || tooManyItems("messages", messages.length)) return;
  for (const [i, message] of (messages as unknown[]).entries()) {
    if (!isObject(message) || message.role !== "system" || !Array.isArray(message.content))
      continue;
    for (const [j, block] of (message.content as unknown[]).entries()) {
      if (!isObject(block) || !changesTools(block)) continue;
      const fault = change(block, `messages[${i}].content[${j}].tool`, offered);
      if (fault) wrong.push(fault);
    }
  }
}

function change(
  { type, tool }: JsonObject,
  place: string,
  offered: Offered,
): Violation | undefined {
  if (!isObject(tool)) return { field: place, message: "must be an object" };
  const adds = type === "tool_addition";
  const { type: kind, name, definition } = tool;
  switch (kind) {
    case "mcp_tool_reference":
    case "mcp_toolset_reference":
      return undefined;
    case "tool_definition":
      if (adds) {
        offered.declare(definition, `${place}.definition`);
        return undefined;
      }
      break;
    case "tool_reference": {
      const known = typeof name === "string" && (adds ? offered.add(name) : offered.remove(name));
      return known ? undefined : { field: `${place}.name`, message: "must be the name of a tool" };
    }
  }
  const references = "tool_reference, mcp_tool_reference, mcp_toolset_reference";
  const message = `must be one of ${references}${adds ? ", tool_definition" : ""}`;
  return { field: `${place}.type`, message };
}
