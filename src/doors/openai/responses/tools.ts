/** The tools of a request of the Responses API, and its choice among them, to the contract's. */
import { type LintelError, unsupported, type Violation } from "../../../core/errors.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { functionName, readAllowed } from "../allowed-tools.js";
import type { Customs } from "../custom-calls.js";
import { isCustom } from "../custom-tools.js";
import { type Namespaces, qualified } from "./namespaces.js";
import { callable, isForeign, nested, ToolList } from "./tool-list.js";
import { type Loads, toolSearch } from "./tool-search.js";

/** What a request says of tools. */
export interface Offer {
  /** As the contract has them in JSON. */
  readonly tools: unknown;
  readonly choice: unknown;
  /** Those that are offered, as the client wrote them. */
  readonly kept: readonly unknown[];
  /** Where each stands at the client. */
  readonly places: readonly string[];
  readonly namespaces: Namespaces;
  readonly customs: Customs;
  readonly loads: Loads;
  readonly refused: LintelError | undefined;
}

/**
 * Reads `tools`, those that items of `input` add, and `tool_choice`. Tools that OpenAI runs itself are
 * dropped: an answer goes without them. To have to call one of them is refused.
 * @param warnings gets a line for each kind that is dropped, and for what custom tools lose
 * @param into gets what is wrong of custom tools, and of those that are allowed, by the client's names
 */
export function readTools(
  { tools, tool_choice: choice, input }: JsonObject,
  warnings: string[],
  into: Violation[],
): Offer {
  const refused =
    isForeign(choice) && choice.type !== "allowed_tools"
      ? unsupported("tool_choice", choices)
      : undefined;
  const flat = isObject(choice) && ("name" in choice || isCustom(choice));
  const chosen = refused ? undefined : flat ? nested(choice, ["name"]) : choice;
  const reading = new ToolList(into);
  if (Array.isArray(tools)) reading.list(tools, "tools");
  const kept = [...reading.kept];
  const added = Array.isArray(input) && reading.added(input);
  reading.checkSearch();
  if (isObject(choice) && choice.type === "function") reading.load(choice, choice.namespace);
  const loads = reading.takeLoads();
  for (const type of reading.dropped) warnings.push(`tools: ${type} is not supported, ignored`);
  warnings.push(...reading.warnings);
  const { read, places, namespaces, customs } = reading;
  const known = { kept, namespaces, customs, loads, refused };
  let [left, asked] = [reading.offered, chosen];
  if (isObject(choice) && choice.type === "allowed_tools") {
    const names = new Set(read.map(functionName));
    const allowed = readAllowed(choice, names, tellingOf(reading.searches), into);
    left = left.filter((i) => allowed.has(functionName(read[i])));
    asked = allowed.choice;
  }
  const areTold = Array.isArray(tools) || (added && tools == null);
  return {
    tools: areTold ? left.map((i) => read[i]) : tools,
    choice: asked,
    places: left.map((i) => places[i] ?? ""),
    ...known,
  };
}

const choices = "this gateway supports only functions, custom tools, auto, none and required";

/** How it tells of tools that are allowed: those that OpenAI runs itself are dropped, as among the tools. */
const tellingOf = (searches: boolean) => {
  const known = searches ? [...callable, toolSearch] : callable;
  return {
    at: "tool_choice",
    nameOf: (tool: unknown) =>
      isObject(tool)
        ? qualified(tool.namespace, tool.type === toolSearch ? toolSearch : tool.name)
        : undefined,
    isDropped: (tool: unknown) =>
      isObject(tool) && typeof tool.type === "string" && !known.includes(tool.type),
  };
};
