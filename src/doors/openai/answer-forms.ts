/** What clients of other servers ask of the form of an answer, to the contract's `response_format`. */
import type { LintelError, Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { fields, type Known } from "../json/known.js";
import { checkParameters, fieldsOfRules } from "./parameter-rules.js";
import { structuredParameters } from "./server-parameters.js";

/** What a request asks for otherwise than the API itself does. */
export interface FormAsked {
  /** The contract's form, in place of the API's own. */
  readonly format: unknown;
  /** The client's names of fields. */
  readonly names: Readonly<Record<string, string>>;
  /** The first field that is refused. */
  readonly refused: LintelError | undefined;
}

/** Fields that are a schema, as an object or as its text: vLLM's, and that of llama.cpp and SGLang. */
const schemaFields = ["guided_json", "json_schema"] as const;

/** Objects with such a field, vLLM's and NVIDIA's, and what they call it. */
const structured = [
  ["structured_outputs", "json"],
  ["nvext", "guided_json"],
] as const;

const verbatim = (...names: readonly string[]): Record<string, Known> =>
  Object.fromEntries(names.map((name) => [name, "verbatim"]));

const structuredFields = (schema: string): Known =>
  fields({ ...fieldsOfRules(structuredParameters), ...verbatim(schema), json_object: true });

/** What is read of a request for them. */
export const formFieldsBeside: Readonly<Record<string, Known>> = {
  ...verbatim(...schemaFields, "format"),
  ...Object.fromEntries(structured.map(([name, schema]) => [name, structuredFields(schema)])),
};

/** What is read of a `response_format` besides the contract's. */
export const formatFields = verbatim("schema", "value");

/** A form, and where the client says it, and its schema. */
type Said = readonly [at: string, format: unknown, schemaAt?: string];

/**
 * Reads them. What asks for another form than that of a schema is refused.
 * @param own what the API itself has for it
 * @param ownAt where that stands
 * @param warnings gets a line for each that only tunes, and is dropped
 * @param into gets what is wrong of them
 * @returns `undefined` where they say nothing
 */
export function readForm(
  json: JsonObject,
  own: unknown,
  ownAt: string,
  warnings: string[],
  into: Violation[],
): FormAsked | undefined {
  const within = withSchemaWithin(own, ownAt);
  const beside = saysBeside(json) ? new Beside(json, warnings, into) : undefined;
  if (within === undefined && beside === undefined) return undefined;
  const said = [...(beside?.said ?? [])];
  if (within !== undefined) said.unshift(within);
  else if (asksForForm(own)) said.unshift([ownAt, own]);
  const [first, ...others] = said;
  const refused = beside?.refused;
  if (first === undefined) return { format: own, names: {}, refused };
  const [at, format, schemaAt = at] = first;
  for (const [field] of others) into.push({ field, message: `must not stand beside ${at}` });
  const names: FormAsked["names"] =
    format === own ? {} : { response_format: at, "response_format.json_schema.schema": schemaAt };
  return { format, names, refused };
}

const saysBeside = (json: JsonObject): boolean =>
  isSaid(json.guided_json) ||
  isSaid(json.json_schema) ||
  isSaid(json.format) ||
  isSaid(json.structured_outputs) ||
  isSaid(json.nvext);

/** Whether it is there: forms send what nobody filled in. */
const isSaid = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** What a request says beside the API's own field. */
class Beside {
  readonly said: Said[] = [];
  readonly refused: LintelError | undefined;

  constructor(json: JsonObject, warnings: string[], into: Violation[]) {
    for (const at of schemaFields) this.#schema(json[at], at);
    for (const [at, member] of structured) {
      const options = json[at];
      // OpenRouter's clients say `true`: what they ask for stands in `response_format`.
      if (!isSaid(options) || typeof options === "boolean") continue;
      if (!isObject(options)) {
        into.push({ field: at, message: "must be an object" });
        continue;
      }
      this.refused ??= checkParameters(options, structuredParameters, warnings, `${at}.`);
      this.#schema(options[member], `${at}.${member}`);
      if (options.json_object === true) this.said.push([`${at}.json_object`, anyObject]);
    }
    const { format } = json;
    if (format === "json") this.said.push(["format", anyObject]);
    else if (isObject(format)) this.#schema(format, "format");
    else if (isSaid(format)) {
      into.push({ field: "format", message: 'must be "json", or a JSON schema' });
    }
  }

  #schema(schema: unknown, at: string): void {
    if (isSaid(schema)) this.said.push([at, bySchema(schema)]);
  }
}

const anyObject = { type: "json_object" } as const;

/** The contract wants a name, which none of them has. */
const bySchema = (schema: unknown) =>
  ({ type: "json_schema", json_schema: { name: "output", schema } }) as const;

/** Whether what the API itself has for it asks for more than text. */
const asksForForm = (own: unknown): boolean =>
  isSaid(own) && !(isObject(own) && own.type === "text");

/** Types beside which others than OpenAI have the schema. */
const typesWithSchema: readonly unknown[] = ["json_object", "json_schema", "json"];

/** As llama.cpp, Together and Anyscale have it (`schema`), and TGI (`value`). */
function withSchemaWithin(own: unknown, at: string): Said | undefined {
  if (!isObject(own) || isSaid(own.json_schema) || !typesWithSchema.includes(own.type)) {
    return undefined;
  }
  const member = isSaid(own.schema) ? "schema" : isSaid(own.value) ? "value" : undefined;
  return member && [at, bySchema(own[member]), `${at}.${member}`];
}
