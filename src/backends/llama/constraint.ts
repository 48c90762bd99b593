/** What an answer has to be, as a grammar. */
import type { Token } from "node-llama-cpp";
import type { LLMRequest, ResponseFormat } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, parseJson } from "../../core/json.js";
import { hasForm, textFormOf } from "../../core/text-forms.js";
import { mustCall } from "../../core/tool-calls.js";
import { formIn as textFormIn } from "../gbnf/form.js";
import { Gbnf, literal, notHeld, Unsupported } from "../gbnf/gbnf.js";
import { finalHeader } from "./channels.js";
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
  loaded: LoadedModel,
  request: LLMRequest,
  tools: ToolForm | undefined,
): Promise<Constraint | undefined> {
  if (!isHeld(request, tools)) return undefined;
  const { responseFormat } = request;
  const { grammars, channels, sections } = loaded;
  const thoughts = thoughtsBefore(loaded, request, tools);
  let param = "tools";
  let held = "a schema";
  const refused = (what: string, cause: unknown) => notHeld(param, held, what, cause);
  const grammar = new Gbnf();
  try {
    const calls = tools && callsIn(request, tools, grammar);
    const before = sections?.of.held;
    const roots =
      calls === undefined ? [] : [before?.calls ? `${literal(before.calls)} ${calls}` : calls];
    if (!isForced(request, tools) && responseFormat) {
      const textForm = textFormOf(responseFormat);
      param = textForm ? `response_format.${textForm}` : "response_format";
      held = textForm ? `a ${textForm}` : held;
      const form = formIn(responseFormat, grammar);
      // Whether it is a call stands in front of it, where there are channels, and where thoughts end.
      const isOnChannel = tools?.call.as === "channel" || (channels && thoughts !== undefined);
      const said =
        before?.text || (isOnChannel && channels ? finalHeader(channels) : loaded.tools?.said);
      roots.push(said ? `${literal(said)} (${form})` : form);
    }
    const root = roots.join(" | ");
    const text = grammar.text(thoughts ? `${thoughts} (${root})` : root);
    return await grammars.begin(text).catch((cause) => {
      throw refused("parts that refer to each other without end", cause);
    });
  } catch (thrown) {
    throw thrown instanceof Unsupported ? refused(thrown.message, thrown) : thrown;
  }
}

/**
 * Whether a model thinks before an answer that has a form: where it is told how much, and ends
 * its thoughts with a token that stands nowhere else.
 */
export function thinksFirst(
  loaded: LoadedModel,
  request: LLMRequest,
  tools: ToolForm | undefined,
): boolean {
  return thoughtsBefore(loaded, request, tools) !== undefined;
}

/** An expression for them, without their beginning, and for what stands between them and the form. */
function thoughtsBefore(
  { model, channels, thoughts, hasEffort }: LoadedModel,
  request: LLMRequest,
  tools: ToolForm | undefined,
): string | undefined {
  const { reasoningEffort: effort } = request;
  if (!hasEffort || effort === "" || effort === "none" || !isHeld(request, tools)) return undefined;
  const over = (end: Token) => `!<[${end}]>* <[${end}]>`;
  if (channels) {
    const { start, channel, end } = channels;
    // Else it is one that ends answers for llama.cpp, and by a grammar none of these is let through.
    const isPlain = model.getTokenAttributes(end).userDefined;
    const behind = channel === undefined ? "" : ` <[${channel}]>`;
    return isPlain ? `${over(end)} <[${start}]> "assistant"${behind}` : undefined;
  }
  const end = thoughts?.end;
  return end === undefined ? undefined : `${over(end)} "\\n"{0,2}`;
}

/** Whether an answer has a form, or calls a tool in any case. */
export const isHeld = (request: LLMRequest, tools: ToolForm | undefined): boolean =>
  isForced(request, tools) || hasForm(request);

const isForced = (request: LLMRequest, tools: ToolForm | undefined): boolean =>
  tools !== undefined && mustCall(request);

function formIn(format: ResponseFormat, grammar: Gbnf): string {
  const form = textFormOf(format);
  // Models here support no grammar of a stranger's: some bring the engine to a halt.
  if (form === "choice" || form === "regex") return textFormIn(form, format, grammar);
  const { type, jsonSchema } = format;
  const schema = type === "json_schema" ? parseJson(jsonSchema?.schema || "{}") : {};
  if (!isObject(schema) || Object.keys(schema).length === 0) return "object";
  return new SchemaGrammar(grammar, schema).of(schema);
}
