/** OpenAI's choice `allowed_tools`, of either of its APIs: among some of the tools. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { finding, type Names } from "../json/rename.js";
import { isCustom } from "./custom-tools.js";

/** What such a choice leaves. */
export interface Allowed {
  /** The contract's choice; `undefined` where that is wrong. */
  readonly choice: unknown;
  /** Whether a function may be called, by its name; where the choice is wrong any may. */
  readonly has: (name: unknown) => boolean;
}

/** How an API tells of the tools that it allows. */
interface Telling {
  /** Where mode and tools stand at the client. */
  readonly at: string;
  readonly nameOf: (tool: unknown) => unknown;
  /** Whether a tool is passed over. Default: none is. */
  readonly isDropped?: (tool: unknown) => boolean;
}

/**
 * Reads the choice.
 * @param names of the functions that are offered
 * @param into gets what is wrong of it
 */
export function readAllowed(
  { mode, tools }: JsonObject,
  names: ReadonlySet<unknown>,
  { at, nameOf, isDropped = () => false }: Telling,
  into: Violation[],
): Allowed {
  const wrong = (name: string, message: string): Allowed => {
    into.push({ field: `${at}.${name}`, message });
    return { choice: undefined, has: () => true };
  };
  if (mode !== "auto" && mode !== "required") return wrong("mode", "must be auto or required");
  if (!Array.isArray(tools)) return wrong("tools", "must be an array");
  const allowed = new Set<unknown>();
  for (const [i, tool] of (tools as unknown[]).entries()) {
    if (isDropped(tool)) continue;
    const name = nameOf(tool);
    if (!names.has(name)) {
      return wrong(`tools[${i}]`, "must have the name of one of the tools");
    }
    allowed.add(name);
  }
  return { choice: mode, has: (name) => allowed.has(name) };
}

/** A request of chat completions, and which of its tools are left: their positions; absent: all are. */
interface Among {
  readonly asked: JsonObject;
  readonly places?: readonly number[];
}

/**
 * A request of chat completions the contract's way: its tools are those that are allowed, its choice
 * the mode.
 * @param into gets what is wrong of the choice, which then counts as not sent
 */
export function withAllowedTools(json: JsonObject, into: Violation[]): Among {
  const { tools, tool_choice: choice } = json;
  if (!isObject(choice) || choice.type !== "allowed_tools") return { asked: json };
  const offered: readonly unknown[] = Array.isArray(tools) ? tools : [];
  const told = isObject(choice.allowed_tools) ? choice.allowed_tools : {};
  const telling = { at: "tool_choice.allowed_tools", nameOf: toolName };
  const allowed = readAllowed(told, new Set(offered.map(toolName)), telling, into);
  if (allowed.choice === undefined) return { asked: { ...json, tool_choice: undefined } };
  const places = [...offered.keys()].filter((i) => allowed.has(toolName(offered[i])));
  const left = places.map((i) => offered[i]);
  return { asked: { ...json, tools: left, tool_choice: allowed.choice }, places };
}

/** The names of a client's fields where its tools are at other places. */
export const withPlaces =
  (names: Names, places: readonly number[]): Names =>
  (field) =>
    finding(names)(field).replace(/^tools\[(\d+)\]/, (_, i) => `tools[${places[Number(i)] ?? i}]`);

/** The name of a tool of chat completions. */
const toolName = (tool: unknown): unknown =>
  isCustom(tool) ? customName(tool) : functionName(tool);

/** The name of a custom tool of chat completions. */
export const customName = ({ custom }: JsonObject): unknown =>
  isObject(custom) ? custom.name : undefined;

/** The name of a tool in the contract's form. */
export const functionName = (tool: unknown): unknown =>
  isObject(tool) && isObject(tool.function) ? tool.function.name : undefined;
