/** Tools of the Gemini API, to the contract's. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";
import { quoted } from "../json/quoted.js";
import { member, objectIn } from "./member.js";
import { readSchema } from "./schema.js";

/** What a request says of tools. */
export interface Offer {
  /** As the contract has them in JSON. */
  readonly tools: unknown;
  readonly choice: unknown;
  /** Where each stands at the client. */
  readonly places: readonly string[];
  /** What the client calls the schema of each. */
  readonly schemas: readonly string[];
}

interface Declared {
  readonly tool: JsonObject;
  readonly place: string;
  readonly schema: string;
}

/**
 * Reads `tools` and `toolConfig`. What Google runs itself is dropped.
 * @param warnings gets a line for each kind that is dropped
 * @param into gets what has the wrong type, by the client's names
 */
export function readTools(json: JsonObject, warnings: string[], into: Violation[]): Offer {
  const declared = declaredIn(json.tools ?? [], warnings, into);
  const config = objectIn(json, "toolConfig", () => into.push(notObject("toolConfig")));
  const path = "toolConfig.functionCallingConfig";
  const calling = objectIn(config, "functionCallingConfig", () => into.push(notObject(path)));
  const streamed = "streamFunctionCallArguments";
  if (member(calling, streamed) === true)
    warnings.push(`${path}.${streamed}: not supported, ignored`);
  const names = member(calling, "allowedFunctionNames") ?? [];
  const mode = member(calling, "mode") ?? "AUTO";
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) {
    into.push({ field: `${path}.allowedFunctionNames`, message: "must be an array of strings" });
    return offerOf(declared, undefined);
  }
  const kind = typeof mode === "string" ? modes.get(mode.toUpperCase()) : undefined;
  if (kind === undefined) {
    into.push({ field: `${path}.mode`, message: "must be one of AUTO, ANY, NONE, VALIDATED" });
  }
  if (names.length === 0) return offerOf(declared, kind);
  const known = new Set(declared.map(({ tool }) => nameOf(tool)));
  const unknown = (names as string[]).find((name) => !known.has(name));
  if (unknown !== undefined) {
    const message = "must be names of declared functions";
    into.push({ field: `${path}.allowedFunctionNames`, message });
    // What is to be called can't be told, and nothing is said of it.
    return offerOf(declared, undefined);
  }
  const wanted = new Set<unknown>(names);
  const allowed = declared.filter(({ tool }) => wanted.has(nameOf(tool)));
  const [only, ...others] = names as string[];
  const one = kind === "required" && others.length === 0;
  return offerOf(allowed, kind, one ? only : undefined);
}

/** Modes, and what the contract's choice is of each. */
const modes: ReadonlyMap<string, string> = new Map([
  ["AUTO", "auto"],
  ["VALIDATED", "auto"],
  ["MODE_UNSPECIFIED", "auto"],
  ["ANY", "required"],
  ["NONE", "none"],
]);

function offerOf(declared: readonly Declared[], kind: string | undefined, name?: string): Offer {
  const choice =
    name === undefined
      ? kind === undefined || kind === "auto"
        ? undefined
        : { type: kind }
      : { type: "function", function: { name } };
  return {
    tools: declared.length === 0 ? undefined : declared.map(({ tool }) => tool),
    choice,
    places: declared.map(({ place }) => place),
    schemas: declared.map(({ schema }) => schema),
  };
}

const nameOf = (tool: JsonObject): unknown => isObject(tool.function) && tool.function.name;

function declaredIn(tools: unknown, warnings: string[], into: Violation[]): Declared[] {
  if (!Array.isArray(tools) && !isObject(tools)) {
    into.push({ field: "tools", message: "must be an array of objects, or an object" });
    return [];
  }
  const list: readonly unknown[] = Array.isArray(tools) ? tools : [tools];
  const declared: Declared[] = [];
  const dropped = new Set<string>();
  for (const [i, tool] of list.entries()) {
    const at = Array.isArray(tools) ? `tools[${i}]` : "tools";
    if (!isObject(tool)) {
      into.push(notObject(at));
      continue;
    }
    const functions = member(tool, "functionDeclarations") ?? [];
    const place = `${at}.functionDeclarations`;
    if (!Array.isArray(functions)) into.push({ field: place, message: "must be an array" });
    else {
      const tooMany = tooManyItems(place, declared.length + functions.length);
      if (tooMany) into.push(tooMany);
      else
        for (const [j, one] of functions.entries()) {
          const found = toolOf(one, `${place}[${j}]`, into);
          if (found) declared.push(found);
        }
    }
    for (const name of Object.keys(tool)) {
      if (!/^function_?declarations$/i.test(name) && tool[name] != null) dropped.add(quoted(name));
    }
  }
  for (const name of dropped) warnings.push(`tools: ${name} is not supported, ignored`);
  return declared;
}

function toolOf(declaration: unknown, place: string, into: Violation[]): Declared | undefined {
  if (!isObject(declaration)) {
    into.push(notObject(place));
    return undefined;
  }
  const { name, description } = declaration;
  const plain = member(declaration, "parametersJsonSchema");
  const own = member(declaration, "parameters");
  const schema = plain === undefined ? "parameters" : "parametersJsonSchema";
  const parameters = readSchema(own, plain, (message) =>
    into.push({ field: `${place}.${schema}`, message }),
  );
  const tool = { type: "function", function: { name, description, parameters } };
  return { tool, place, schema };
}

const notObject = (field: string): Violation => ({ field, message: "must be an object" });
