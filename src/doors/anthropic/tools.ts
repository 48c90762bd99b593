/** Tools of the Messages API, to the contract's. */
import { type LintelError, unsupported, type Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";
import { changeTools, type Offered } from "./tool-changes.js";

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
 * Reads `tools`, those that messages add or take away, and `tool_choice`. Tools that have a type of their
 * own are Anthropic's, which its models know without a schema: they are dropped, and to have to call one
 * is refused.
 * @param warnings gets a line for each kind that is dropped
 * @param wrong gets what can't be read of what messages change, by the client's names
 */
export function readTools(
  { tools, tool_choice: choice, messages }: JsonObject,
  warnings: string[],
  wrong: Violation[],
): Offer {
  const reading = new Reading();
  if (Array.isArray(tools)) {
    for (const [i, tool] of tools.entries()) {
      // The decoder finds that, too: what follows is not worth its memory.
      if (tooManyItems("tools", reading.offered.length)) break;
      reading.declare(tool, `tools[${i}]`);
    }
  }
  changeTools(messages, reading, wrong);
  const { offered, dropped } = reading;
  for (const type of new Set(dropped.values())) {
    warnings.push(`tools: ${type} is not supported, ignored`);
  }
  const { type, name, disable_parallel_tool_use: single } = isObject(choice) ? choice : {};
  const refused =
    type === "tool" && dropped.has(name)
      ? unsupported("tool_choice", "this gateway supports only tools with a schema")
      : undefined;
  const parallel = single === true ? false : undefined;
  const isRead = Array.isArray(tools) || (tools == null && offered.length > 0);
  return {
    tools: isRead ? offered.map(({ tool }) => toolOf(tool)) : tools,
    choice: refused ? undefined : choiceOf(choice),
    parallel,
    places: offered.map(({ place }) => place),
    refused,
  };
}

const nameOf = (tool: unknown): unknown => (isObject(tool) ? tool.name : undefined);

interface Declared {
  readonly tool: unknown;
  readonly place: string;
}

class Reading implements Offered {
  #declared: Declared[] = [];
  readonly #names = new Set<unknown>();
  readonly #removed = new Set<unknown>();
  /** Types of tools that are dropped, by their names. */
  readonly dropped = new Map<unknown, string>();

  /** Those that are left, as they were declared. */
  get offered(): readonly Declared[] {
    if (this.#removed.size === 0) return this.#declared;
    return this.#declared.filter(({ tool }) => !this.#removed.has(nameOf(tool)));
  }

  declare(tool: unknown, place: string): void {
    const name = nameOf(tool);
    this.#names.add(name);
    // In place of the one that was taken away.
    if (this.#removed.delete(name)) {
      this.#declared = this.#declared.filter((it) => nameOf(it.tool) !== name);
    }
    if (isForeign(tool)) this.dropped.set(tool.name, tool.type.slice(0, 40));
    else this.#declared.push({ tool, place });
  }

  add(name: string): boolean {
    this.#removed.delete(name);
    return this.#names.has(name);
  }

  remove(name: string): boolean {
    const known = this.#names.has(name);
    if (known) this.#removed.add(name);
    return known;
  }
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
