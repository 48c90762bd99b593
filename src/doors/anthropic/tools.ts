/** Tools of the Messages API, to the contract's. */
import { type LintelError, unsupported, type Violation } from "../../core/errors.js";
import { isObject, isTooDeep, type JsonObject, tooDeep } from "../../core/json.js";
import { jsonText } from "../../core/long-numbers.js";
import { tooManyItems } from "../items.js";
import { quoted } from "../json/quoted.js";
import { markIn } from "./marks.js";
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
 * @param wrong gets what can't be read of the choice, of examples, and of what messages change, by the
 *   client's names
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
      if (tooManyItems("tools", reading.declared)) break;
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
  if (typeof (single ?? false) !== "boolean") {
    wrong.push({
      field: "tool_choice.disable_parallel_tool_use",
      message: "must be true or false",
    });
  }
  const isRead = Array.isArray(tools) || (tools == null && offered.length > 0);
  return {
    tools: isRead ? offered.map(({ tool, place }) => toolOf(tool, place, wrong)) : tools,
    choice: refused ? undefined : choiceOf(choice, wrong),
    parallel,
    places: offered.map(({ place }) => place),
    refused,
  };
}

const nameOf = (tool: unknown): unknown => (isObject(tool) ? tool.name : undefined);

interface Declared {
  readonly tool: unknown;
  readonly place: string;
  /** Whether another one of its name took its place. */
  replaced: boolean;
}

class Reading implements Offered {
  readonly #declared: Declared[] = [];
  /** By their names: those that may be offered, and none where they are dropped. */
  readonly #named = new Map<unknown, Declared[]>();
  readonly #removed = new Set<unknown>();
  /** Types of tools that are dropped, by their names. */
  readonly dropped = new Map<unknown, string>();

  /** How many were declared, without those that are dropped. */
  get declared(): number {
    return this.#declared.length;
  }

  /** Those that are left, as they were declared. */
  get offered(): readonly Declared[] {
    return this.#declared.filter(
      ({ tool, replaced }) => !replaced && !this.#removed.has(nameOf(tool)),
    );
  }

  declare(tool: unknown, place: string): void {
    const name = nameOf(tool);
    const named = this.#named.get(name) ?? [];
    this.#named.set(name, named);
    // In place of the one that was taken away.
    if (this.#removed.delete(name)) {
      for (const one of named.splice(0)) one.replaced = true;
    }
    if (isForeign(tool)) this.dropped.set(tool.name, quoted(tool.type));
    else {
      this.dropped.delete(name);
      const declared = { tool, place, replaced: false };
      named.push(declared);
      this.#declared.push(declared);
    }
  }

  add(name: string): boolean {
    this.#removed.delete(name);
    return this.#named.has(name);
  }

  remove(name: string): boolean {
    const known = this.#named.has(name);
    if (known) this.#removed.add(name);
    return known;
  }
}

function choiceOf(choice: unknown, wrong: Violation[]): unknown {
  if (!isObject(choice) && typeof choice !== "string") return choice;
  const { type, name } = isObject(choice) ? choice : { type: choice, name: undefined };
  const ours = choices.get(type);
  if (ours === undefined) {
    const message = `must be one of ${[...choices.keys()].join(", ")}`;
    wrong.push({ field: "tool_choice.type", message });
    return undefined;
  }
  return ours === "function" ? { type: ours, function: { name } } : { type: ours };
}

function toolOf(tool: unknown, place: string, wrong: Violation[]): unknown {
  if (!isObject(tool)) return tool;
  const { name, input_schema: parameters, strict } = tool;
  const description = describedBy(tool, place, wrong);
  return { type: "function", function: { name, description, parameters, strict }, ...markIn(tool) };
}

/** Models are told of examples where they are told what the tool does: not every server takes any in a schema. */
function describedBy(
  { description, input_examples: examples }: JsonObject,
  place: string,
  wrong: Violation[],
): unknown {
  const areNone = examples === undefined || examples === null;
  if (areNone || typeof (description ?? "") !== "string") return description;
  const field = `${place}.input_examples`;
  if (!Array.isArray(examples) || !examples.every(isObject)) {
    wrong.push({ field, message: "must be an array of objects" });
    return description;
  }
  if (examples.length === 0) return description;
  if (isTooDeep(examples)) {
    wrong.push({ field, message: tooDeep });
    return description;
  }
  const told = `Examples of its input:\n${examples.map(jsonText).join("\n")}`;
  return description ? `${description}\n\n${told}` : told;
}

const isForeign = (tool: unknown): tool is JsonObject & { readonly type: string } =>
  isObject(tool) && typeof tool.type === "string" && tool.type !== "custom";
