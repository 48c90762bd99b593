/** Calls of tools, as a grammar: for callers who want one in any case. */
import type { LLMRequest, Tool } from "../../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { either, type Gbnf, literal, Unsupported } from "../../gbnf/gbnf.js";
import { SchemaGrammar } from "../grammar/schema.js";
import type { ToolForm } from "./form.js";
import { anyPythonArguments, pythonArguments } from "./python-grammar.js";
import { parametersOf } from "./rendering.js";
import { anyTagged, tagged } from "./tagged-grammar.js";

/**
 * An expression for calls of the tools that a request lets be called.
 * @throws Unsupported if arguments have to keep to a schema that can't be kept to
 */
export function callsIn(request: LLMRequest, form: ToolForm, grammar: Gbnf): string {
  const { tools, toolChoice, parallelToolCalls } = request;
  const chosen = toolChoice?.type === "function" ? toolChoice.function?.name : undefined;
  const possible = tools.filter(({ function: it }) => !chosen || it?.name === chosen);
  const call = grammar.rule(either(possible.map((tool) => callOf(tool, form, grammar))));
  const { begin, end, several } = form;
  const isOne = begin === "" && several === "apart";
  const single = chosen !== undefined || parallelToolCalls === false || isOne;
  if (several === "list") {
    const more = single ? "" : ` ("," ws ${call})*`;
    return `${opening(begin)}"[" ws ${call}${more} ws "]"${closing(end)}`;
  }
  if (several === "together") {
    return `${literal(begin)} ${call}${single ? "" : ` (${call})*`}${closing(end)}`;
  }
  // Blanks that are part of a form stand in it.
  const ws = form.call.as === "tagged" ? "" : " ws";
  if (form.said !== undefined) {
    return single ? call : `${call} (${literal(begin)} ${call})*`;
  }
  const one = grammar.rule(
    begin === "" ? call : `${literal(begin)}${ws} ${call}${ws}${closing(end)}`,
  );
  return single ? one : `${one} (ws ${one})*`;
}

const opening = (begin: string) => (begin === "" ? "" : `${literal(begin)} `);
const closing = (end: string) => (end === "" ? "" : ` ${literal(end)}`);

function callOf({ function: tool }: Tool, { call }: ToolForm, grammar: Gbnf): string {
  const name = tool?.name ?? "";
  switch (call.as) {
    case "json": {
      const number = call.number
        ? `${literal(`{"${call.number}": "`)} [0-9]{1,3} ${literal('", ')}`
        : literal("{");
      const head = literal(`"${call.name}": ${JSON.stringify(name)}, "${call.args}": `);
      return grammar.rule(`${number} ${head} ${argumentsOf(tool, grammar)} ws "}"`);
    }
    case "keyed":
      return `${literal(`{${JSON.stringify(name)}: `)} ${argumentsOf(tool, grammar)} "}"`;
    case "named":
      return [
        literal(call.open + name),
        ...(call.isNumbered ? ['":" [0-9]{1,3}'] : []),
        literal(call.between),
        argumentsOf(tool, grammar),
        ...(call.close === "" ? [] : [literal(call.close)]),
      ].join(" ");
    case "python": {
      const args = held(tool, grammar, (schema) => pythonArguments(schema, grammar));
      const line = call.isLine ? ` ${literal("\n")}` : "";
      return `${literal(name)} ${grammar.rule(args ?? anyPythonArguments(grammar))}${line}`;
    }
    case "channel": {
      if (call.message) {
        const { begin, end } = call.message;
        const head = literal(` to=${name}<|message|>${begin}`);
        return `${head} ${callOf({ function: tool } as Tool, call.message, grammar)} ${literal(end)}`;
      }
      const head = `commentary to=functions.${name} <|constrain|>json<|message|>`;
      return `${literal(head)} ${argumentsOf(tool, grammar)}`;
    }
    case "tagged": {
      const args =
        held(tool, grammar, (schema) => tagged(schema, call, grammar)) ??
        anyTagged(call, grammar, namesOf(tool));
      return `${literal(call.name[0] + name + call.name[1])} ${args} ${literal(call.close)}`;
    }
  }
}

/** Names of a tool's parameters. */
function namesOf(tool: Tool["function"]): string[] {
  const { properties } = parametersOf(tool?.parameters ?? "");
  return isObject(properties) ? Object.keys(properties) : [];
}

/** Arguments that fit their schema, or any where it says what can't be kept to. */
function argumentsOf(tool: Tool["function"], grammar: Gbnf): string {
  const args = held(tool, grammar, (schema) => new SchemaGrammar(grammar, schema).of(schema));
  return grammar.rule(args ?? "object");
}

/** What fits the schema of a tool's arguments; `undefined` where that is anything, or can't be kept to. */
function held(
  tool: Tool["function"],
  grammar: Gbnf,
  fitting: (schema: JsonObject) => string,
): string | undefined {
  const schema = parametersOf(tool?.parameters ?? "");
  if (Object.keys(schema).length === 0) return undefined;
  try {
    return grammar.attempt(() => fitting({ type: "object", ...schema }));
  } catch (thrown) {
    if (!(thrown instanceof Unsupported) || tool?.strict) throw thrown;
    return undefined;
  }
}
