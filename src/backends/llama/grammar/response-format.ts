/** The answer's form, as a grammar. */
import type { ResponseFormat } from "../../../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../../core/errors.js";
import { isObject, parseJson } from "../../../core/json.js";
import { Gbnf, Unsupported } from "./gbnf.js";
import { SchemaGrammar } from "./schema.js";

/** A grammar whose texts all fit a form; `undefined` where any text does. @throws LintelError `unsupported_parameter` */
export function grammarOf({ type, jsonSchema }: ResponseFormat): string | undefined {
  if (type === "text") return undefined;
  const schema = type === "json_schema" ? parseJson(jsonSchema?.schema || "{}") : {};
  const grammar = new Gbnf();
  if (!isObject(schema) || Object.keys(schema).length === 0) return grammar.text("object");
  try {
    return grammar.text(new SchemaGrammar(grammar, schema).of(schema));
  } catch (thrown) {
    if (thrown instanceof Unsupported) throw unsupported(thrown.message);
    throw thrown;
  }
}

/** The error that names what a model can't be held to. */
export const unsupported = (what: string, cause?: unknown) =>
  new LintelError(
    "unsupported_parameter",
    `response_format: this model can't be held to a schema with ${what}`,
    { param: "response_format", cause },
  );
