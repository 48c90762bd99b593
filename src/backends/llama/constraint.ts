/** What an answer has to be, as a grammar. */
import type { LLMRequest, ResponseFormat } from "../../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../core/errors.js";
import { isObject, parseJson } from "../../core/json.js";
import { mustCall } from "../../core/tool-calls.js";
import { Gbnf, literal, Unsupported } from "./grammar/gbnf.js";
import type { Constraint } from "./grammar/grammars.js";
import { SchemaGrammar } from "./grammar/schema.js";
import type { LoadedModel } from "./model.js";
import type { ToolForm } from "./tools/form.js";
import { callsIn } from "./tools/grammar.js";

/**
 * The beginning of an answer that has a form, or calls a tool in any case; `undefined` where any
 * text will do.
 * @param tools absent: none may be called
 * @throws LintelError `unsupported_parameter` where a model can't be held to it
 */
export async function constraintOf(
  { grammars }: LoadedModel,
  request: LLMRequest,
  tools: ToolForm | undefined,
): Promise<Constraint | undefined> {
  if (!isHeld(request, tools)) return undefined;
  const { responseFormat } = request;
  let param = "tools";
  const refused = (what: string, cause?: unknown) =>
    new LintelError(
      "unsupported_parameter",
      `${param}: this model can't be held to a schema with ${what}`,
      { param, cause },
    );
  const grammar = new Gbnf();
  try {
    const roots = tools ? [callsIn(request, tools, grammar)] : [];
    if (!isForced(request, tools) && responseFormat) {
      param = "response_format";
      const form = formIn(responseFormat, grammar);
      // Whether it is a call stands in front of it, where there are channels.
      const isOnChannel = tools?.call.as === "channel";
      roots.push(isOnChannel ? `${literal("final<|message|>")} (${form})` : form);
    }
    const text = grammar.text(roots.join(" | "));
    return await grammars.begin(text).catch((cause) => {
      throw refused("parts that refer to each other without end", cause);
    });
  } catch (thrown) {
    throw thrown instanceof Unsupported ? refused(thrown.message, thrown) : thrown;
  }
}

/** Whether an answer has a form, or calls a tool in any case. */
export function isHeld(request: LLMRequest, tools: ToolForm | undefined): boolean {
  const { responseFormat: form } = request;
  return isForced(request, tools) || (form !== undefined && form.type !== "text");
}

const isForced = (request: LLMRequest, tools: ToolForm | undefined): boolean =>
  tools !== undefined && mustCall(request);

function formIn({ type, jsonSchema }: ResponseFormat, grammar: Gbnf): string {
  const schema = type === "json_schema" ? parseJson(jsonSchema?.schema || "{}") : {};
  if (!isObject(schema) || Object.keys(schema).length === 0) return "object";
  return new SchemaGrammar(grammar, schema).of(schema);
}
