/** Tools in the flat form of the Responses API, to the contract's. */
import type { LintelError } from "../../../core/errors.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { unsupported } from "../parameters.js";

/** What a request says of tools. */
export interface Offer {
  /** As the contract has them in JSON. */
  readonly tools: unknown;
  readonly choice: unknown;
  /** Those that are offered, as the client wrote them. */
  readonly kept: readonly unknown[];
  /** Where each of these stands at the client. */
  readonly places: readonly number[];
  readonly refused: LintelError | undefined;
}

/**
 * Reads `tools` and `tool_choice`. Tools that OpenAI runs itself are dropped: an answer goes
 * without them. To have to call one of them is refused.
 * @param warnings gets a line for each kind that is dropped
 */
export function readTools({ tools, tool_choice: choice }: JsonObject, warnings: string[]): Offer {
  const refused = isForeign(choice)
    ? unsupported("tool_choice", "this gateway supports only functions, auto, none and required")
    : undefined;
  const flat = isObject(choice) && "name" in choice;
  const chosen = refused ? undefined : flat ? nested(choice, ["name"]) : choice;
  if (!Array.isArray(tools)) return { tools, choice: chosen, kept: [], places: [], refused };
  const kept: unknown[] = [];
  const places: number[] = [];
  const dropped = new Set<string>();
  for (const [i, tool] of (tools as unknown[]).entries()) {
    if (isForeign(tool)) {
      dropped.add(tool.type.slice(0, 40));
      continue;
    }
    kept.push(tool);
    places.push(i);
  }
  for (const type of dropped) warnings.push(`tools: ${type} is not supported, ignored`);
  const read = kept.map((tool) => (isObject(tool) ? nested(tool, members) : tool));
  return { tools: read, choice: chosen, kept, places, refused };
}

const members = ["name", "description", "parameters", "strict"];

/** With those members in an object `function`, where the contract has them. */
const nested = (flat: JsonObject, names: readonly string[]) => ({
  type: flat.type,
  function: Object.fromEntries(names.map((name) => [name, flat[name]])),
});

const ours = ["function", "auto", "none", "required"];

/** Whether a tool, or the choice of one, is of a kind that OpenAI runs itself, or that is no function. */
const isForeign = (tool: unknown): tool is { readonly type: string } =>
  isObject(tool) && typeof tool.type === "string" && !ours.includes(tool.type);
