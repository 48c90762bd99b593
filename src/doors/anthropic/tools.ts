/** Tools of the Messages API, to the contract's. */
import { type LintelError, unsupported } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";

/** What a request says of tools. */
export interface Offer {
  /** As the contract has them in JSON. */
  readonly tools: unknown;
  readonly choice: unknown;
  readonly parallel: boolean | undefined;
  /** Where each stands at the client. */
  readonly places: readonly string[];
  readonly refused: LintelError | undefined;
}

/** Kinds of choices, by the client's name. */
const choices: ReadonlyMap<unknown, string> = new Map([
  ["auto", "auto"],
  ["any", "required"],
  ["tool", "function"],
  ["none", "none"],
]);

/**
 * Reads `tools` and `tool_choice`. Tools that have a type of their own are Anthropic's, which its
 * models know without a schema: they are dropped, and to have to call one is refused.
 * @param warnings gets a line for each kind that is dropped
 */
export function readTools({ tools, tool_choice: choice }: JsonObject, warnings: string[]): Offer {
  const read: unknown[] = [];
  const places: string[] = [];
  const dropped = new Map<unknown, string>();
  if (Array.isArray(tools)) {
    for (const [i, tool] of tools.entries()) {
      // The decoder finds that, too: what follows is not worth its memory.
      if (tooManyItems("tools", read.length)) break;
      if (isForeign(tool)) dropped.set(tool.name, tool.type.slice(0, 40));
      else {
        places.push(`tools[${i}]`);
        read.push(toolOf(tool));
      }
    }
  }
  for (const type of new Set(dropped.values())) {
    warnings.push(`tools: ${type} is not supported, ignored`);
  }
  const { type, name, disable_parallel_tool_use: single } = isObject(choice) ? choice : {};
  const refused =
    type === "tool" && dropped.has(name)
      ? unsupported("tool_choice", "this gateway supports only tools with a schema")
      : undefined;
  const parallel = single === true ? false : undefined;
  const offered = Array.isArray(tools) ? read : tools;
  return {
    tools: offered,
    choice: refused ? undefined : choiceOf(choice),
    parallel,
    places,
    refused,
  };
}

function choiceOf(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { type, name } = choice;
  const ours = choices.get(type) ?? type;
  return ours === "function" ? { type: ours, function: { name } } : { type: ours };
}

function toolOf(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  const { name, description, input_schema: parameters, strict } = tool;
  return { type: "function", function: { name, description, parameters, strict } };
}

const isForeign = (tool: unknown): tool is JsonObject & { readonly type: string } =>
  isObject(tool) && typeof tool.type === "string" && tool.type !== "custom";
