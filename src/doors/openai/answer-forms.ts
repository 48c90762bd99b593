/** What clients of other servers ask of the form of an answer, to the contract's `response_format`. */
import type { LintelError, Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import type { TextForm } from "../../core/text-forms.js";
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

/** A form, as what its field is called in the contract's. */
type Form = "json_schema" | TextForm;

/** Fields that are a form alone. */
const formsBeside: readonly (readonly [field: string, Form])[] = [
  // vLLM's, before 0.12.
  ["guided_json", "json_schema"],
  // llama.cpp's and SGLang's.
  ["json_schema", "json_schema"],
  ["guided_choice", "choice"],
  ["guided_regex", "regex"],
  // SGLang's, as `ebnf` is.
  ["regex", "regex"],
  ["guided_grammar", "grammar"],
  // llama.cpp's and LocalAI's.
  ["grammar", "grammar"],
  ["ebnf", "grammar"],
];

/** Objects with such fields, vLLM's and NVIDIA's. */
const structured: readonly (readonly [
  field: string,
  forms: readonly (readonly [string, Form])[],
])[] = [
  [
    "structured_outputs",
    [
      ["json", "json_schema"],
      ["choice", "choice"],
      ["regex", "regex"],
      ["grammar", "grammar"],
    ],
  ],
  [
    "nvext",
    [
      ["guided_json", "json_schema"],
      ["guided_choice", "choice"],
      ["guided_regex", "regex"],
      ["guided_grammar", "grammar"],
    ],
  ],
];

const namesBeside: ReadonlySet<string> = new Set([
  ...[...formsBeside, ...structured].map(([name]) => name),
  "format",
]);

const verbatim = (...names: readonly string[]): Record<string, Known> =>
  Object.fromEntries(names.map((name) => [name, "verbatim"]));

const fieldsOfForms = (forms: readonly (readonly [string, Form])[]): Record<string, Known> =>
  Object.fromEntries(
    forms.map(([name, form]) => [name, form === "json_schema" ? "verbatim" : true]),
  );

/** What is read of a request for them. */
export const formFieldsBeside: Readonly<Record<string, Known>> = {
  ...fieldsOfForms(formsBeside),
  ...verbatim("format"),
  ...Object.fromEntries(
    structured.map(([name, forms]) => [
      name,
      fields({
        ...fieldsOfRules(structuredParameters),
        ...fieldsOfForms(forms),
        json_object: true,
      }),
    ]),
  ),
};

/** What is read of a `response_format` besides the contract's. */
export const formatFields: Record<string, Known> = {
  ...verbatim("schema", "value"),
  pattern: true,
};

/** A form, where the client says it, and where what the form is. */
interface Said {
  readonly at: string;
  readonly form: Form | "json_object" | undefined;
  readonly format: unknown;
  readonly valueAt: string;
}

/**
 * Reads them. What asks for a form that the contract has not is refused.
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
  const within = formWithin(own, ownAt);
  const beside = saysBeside(json) ? new Beside(json, warnings, into) : undefined;
  if (within === undefined && beside === undefined) return undefined;
  const said = [...(beside?.said ?? [])];
  if (within !== undefined) said.unshift(within);
  else if (asksForForm(own)) {
    said.unshift({ at: ownAt, form: undefined, format: own, valueAt: ownAt });
  }
  const [first, ...others] = said;
  const refused = beside?.refused;
  if (first === undefined) return { format: own, names: {}, refused };
  for (const { at } of others) {
    into.push({ field: at, message: `must not stand beside ${first.at}` });
  }
  return { format: first.format, names: namesOf(first), refused };
}

/** What a client calls the parts of the contract's form; nothing where it has that itself. */
function namesOf({ at, form, format, valueAt }: Said): FormAsked["names"] {
  const names: Record<string, string> = {};
  if (form === undefined) return names;
  names.response_format = at;
  if (form === "json_schema") names["response_format.json_schema.schema"] = valueAt;
  else if (form !== "json_object") names[`response_format.${form}`] = valueAt;
  const { choice } = format as { readonly choice?: unknown };
  if (!Array.isArray(choice)) return names;
  // Only what is wrong is told of.
  for (const [i, one] of choice.entries()) {
    if (!isText(one)) names[`response_format.choice[${i}]`] = `${valueAt}[${i}]`;
  }
  return names;
}

const isText = (value: unknown) => typeof value === "string" && value !== "";

function saysBeside(json: JsonObject): boolean {
  // Requests have fewer parameters than there are names.
  for (const name of Object.keys(json))
    if (namesBeside.has(name) && isSaid(json[name])) return true;
  return false;
}

/** Whether it is there: forms send what nobody filled in. */
const isSaid = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** What a request says beside the API's own field. */
class Beside {
  readonly said: Said[] = [];
  readonly refused: LintelError | undefined;

  constructor(json: JsonObject, warnings: string[], into: Violation[]) {
    for (const [at, form] of formsBeside) this.#form(form, json[at], at);
    for (const [at, forms] of structured) {
      const options = json[at];
      // OpenRouter's clients say `true`: what they ask for stands in `response_format`.
      if (!isSaid(options) || typeof options === "boolean") continue;
      if (!isObject(options)) {
        into.push({ field: at, message: "must be an object" });
        continue;
      }
      this.refused ??= checkParameters(options, structuredParameters, warnings, `${at}.`);
      for (const [member, form] of forms) this.#form(form, options[member], `${at}.${member}`);
      if (options.json_object === true) this.#anyObject(`${at}.json_object`);
    }
    const { format } = json;
    if (format === "json") this.#anyObject("format");
    else if (isObject(format)) this.#form("json_schema", format, "format");
    else if (isSaid(format)) {
      into.push({ field: "format", message: 'must be "json", or a JSON schema' });
    }
  }

  #form(form: Form, value: unknown, at: string): void {
    // Who lists no texts asks for nothing.
    const isEmpty = Array.isArray(value) && value.length === 0 && form === "choice";
    if (isSaid(value) && !isEmpty) this.said.push(saidAs(form, value, at, at));
  }

  #anyObject(at: string): void {
    this.said.push({ at, form: "json_object", format: { type: "json_object" }, valueAt: at });
  }
}

/** The contract wants a name of a schema, which none of them has. */
const saidAs = (form: Form, value: unknown, at: string, valueAt: string): Said => ({
  ...{ at, form, valueAt },
  format:
    form === "json_schema"
      ? { type: form, json_schema: { name: "output", schema: value } }
      : { type: form, [form]: value },
});

/** Whether what the API itself has for it asks for more than text. */
const asksForForm = (own: unknown): boolean =>
  isSaid(own) && !(isObject(own) && own.type === "text");

/** Types beside which others than OpenAI have the schema. */
const typesWithSchema: readonly unknown[] = ["json_object", "json_schema", "json"];

/**
 * As llama.cpp, Together and Anyscale have a schema (`schema`), and Together an expression (`pattern`), and TGI both
 * (`value`).
 */
function formWithin(own: unknown, at: string): Said | undefined {
  if (!isObject(own) || isSaid(own.json_schema)) return undefined;
  const isRegex = own.type === "regex" && !isSaid(own.regex);
  if (!isRegex && !typesWithSchema.includes(own.type)) return undefined;
  const places = isRegex ? ["pattern", "value"] : ["schema", "value"];
  const member = places.find((name) => isSaid(own[name]));
  if (member === undefined) return undefined;
  return saidAs(isRegex ? "regex" : "json_schema", own[member], at, `${at}.${member}`);
}
