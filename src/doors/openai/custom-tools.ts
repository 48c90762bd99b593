/** OpenAI's tools of the type `custom`, whose calls are texts: models are offered functions in their place. */
import type { Tool } from "../../../gen/lintel/v1/chat_pb.js";
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { areAlike } from "../../core/tool-calls.js";
import type { Customs } from "./custom-calls.js";
import { inputMember } from "./custom-input.js";

/** Whether a tool, a choice of one, or a call is of that type. */
export const isCustom = (it: unknown): it is JsonObject & { readonly type: "custom" } =>
  isObject(it) && it.type === "custom";

const parameters = {
  type: "object",
  properties: { [inputMember]: { type: "string" } },
  required: [inputMember],
  additionalProperties: false,
};

/** Languages of grammars, as a model is told of them. */
const languages: ReadonlyMap<unknown, string> = new Map([
  ["lark", "this Lark grammar"],
  ["regex", "this regular expression"],
]);

/** Where the tools of an API are not the same. */
interface Reading {
  /** Where the tool stands at the client. */
  readonly at: string;
  /** The member of the format that has the grammar; absent: it is the format. */
  readonly grammarIn?: string;
  /** Gets what is wrong of the format, by the client's names. */
  readonly wrong: Violation[];
  /** Gets what the model is not held to. */
  readonly warnings: Set<string>;
}

/**
 * The function that is offered for a tool, as the contract has it in JSON. It takes the text alone; its
 * description says so, and which form the text has.
 */
export function functionOf(
  { name, description, format }: JsonObject,
  reading: Reading,
): JsonObject {
  const form = formOf(format, reading);
  if (typeof (description ?? "") !== "string") return { name, description, parameters };
  const said = [description, freeText, form].filter(Boolean).join("\n\n");
  return { name, description: said, parameters };
}

/**
 * Finds tools that share the name of a custom one: of a call of it nobody would know whether it is a text.
 * @param tools the contract's
 * @param into gets what is wrong, by the contract's names
 */
export function checkCustomNames(
  tools: readonly Tool[],
  customs: Customs,
  into: Violation[],
): void {
  if (customs.size === 0) return;
  const known = new Map<string, Tool["function"]>();
  for (const [i, { function: tool }] of tools.entries()) {
    if (!tool || !customs.has(tool.name)) continue;
    const other = known.get(tool.name);
    known.set(tool.name, tool);
    if (!other || areAlike(tool, other)) continue;
    into.push({ field: `tools[${i}].function.name`, message: "must be the name of no other tool" });
  }
}

const freeText = `\`${inputMember}\` is free text that the tool gets as it is: nothing is to stand around it, neither JSON nor a Markdown fence.`;

const notEnforced =
  "tools: the grammar of a custom tool is told to the model, which is not held to it";

function formOf(format: unknown, { at, grammarIn, wrong, warnings }: Reading): string | undefined {
  if (format === undefined || format === null) return undefined;
  const refuse = (name: string, message: string) => {
    wrong.push({ field: `${at}.format${name}`, message });
    return undefined;
  };
  if (!isObject(format)) return refuse("", "must be an object");
  if (format.type === "text") return undefined;
  if (format.type !== "grammar") return refuse(".type", "must be one of text, grammar");
  const grammar = grammarIn === undefined ? format : format[grammarIn];
  const place = grammarIn === undefined ? "" : `.${grammarIn}`;
  if (!isObject(grammar)) return refuse(place, "must be an object");
  const language = languages.get(grammar.syntax);
  if (language === undefined) return refuse(`${place}.syntax`, "must be one of lark, regex");
  const { definition } = grammar;
  if (typeof definition !== "string") return refuse(`${place}.definition`, "must be a string");
  warnings.add(notEnforced);
  return `It has to match ${language}:\n\n${definition}`;
}

/** Arguments of the function, of a text that a call had; of what is none `undefined`. */
export const asArguments = (input: unknown): string | undefined =>
  typeof input === "string" ? JSON.stringify({ [inputMember]: input }) : undefined;
