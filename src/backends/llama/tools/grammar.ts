/** Calls of tools, as a grammar: for callers who want one in any case. */
import type { LLMRequest, Tool } from "../../../../gen/lintel/v1/chat_pb.js";
import type { JsonObject } from "../../../core/json.js";
import { either, type Gbnf, literal, Unsupported } from "../grammar/gbnf.js";
import { SchemaGrammar } from "../grammar/schema.js";
import type { ToolForm } from "./form.js";
import { parametersOf } from "./rendering.js";

/**
 * An expression for calls of the tools that a request lets be called.
 * @throws Unsupported if arguments have to keep to a schema that can't be kept to
 */
export function callsIn(request: LLMRequest, form: ToolForm, grammar: Gbnf): string {
  const { tools, toolChoice, parallelToolCalls } = request;
  const chosen = toolChoice?.type === "function" ? toolChoice.function?.name : undefined;
  const possible = tools.filter(({ function: it }) => !chosen || it?.name === chosen);
  const call = grammar.rule(either(possible.map((tool) => callOf(tool, form, grammar))));
  const single = chosen !== undefined || parallelToolCalls === false || form.begin === "";
  const { begin, end, inList } = form;
  if (inList) {
    const more = single ? "" : ` ("," ws ${call})*`;
    return `${literal(begin)} "[" ws ${call}${more} ws "]"${closing(end)}`;
  }
  const one = grammar.rule(begin === "" ? call : `${literal(begin)} ws ${call} ws${closing(end)}`);
  return single ? one : `${one} (ws ${one})*`;
}

const closing = (end: string) => (end === "" ? "" : ` ${literal(end)}`);

function callOf({ function: tool }: Tool, form: ToolForm, grammar: Gbnf): string {
  const name = tool?.name ?? "";
  const args = grammar.rule(argumentsOf(tool, grammar));
  if (form.between !== undefined) return `${literal(name + form.between)} ${args}`;
  const head = `{"name": ${JSON.stringify(name)}, "${form.args}": `;
  return grammar.rule(`${literal(head)} ${args} ws "}"`);
}

/** Arguments that fit their schema, or any where it says what can't be kept to. */
function argumentsOf(tool: Tool["function"], grammar: Gbnf): string {
  const schema = parametersOf(tool?.parameters ?? "");
  if (Object.keys(schema).length === 0) return "object";
  const ofObject: JsonObject = { type: "object", ...schema };
  try {
    return new SchemaGrammar(grammar, ofObject).of(ofObject);
  } catch (thrown) {
    if (!(thrown instanceof Unsupported) || tool?.strict) throw thrown;
    return "object";
  }
}
