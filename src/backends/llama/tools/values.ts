/** What a model means that writes an argument as text, and not as JSON. */
import { isObject, type JsonObject, parseJson } from "../../../core/json.js";
import { parseMarked } from "../../../core/long-numbers.js";
import { referredIn } from "../../../core/schema-references.js";

/**
 * The value of an argument, as `parseMarked` has it.
 * @param schema of all arguments
 * @param isText whether the model says that it is a text
 * @returns the text itself where it is none of what the schema takes besides texts
 */
export function argumentOf(
  text: string,
  schema: JsonObject,
  name: string,
  isText: boolean,
): unknown {
  return writtenValue(text, schema, ownSchema(schema, name), isText);
}

/** The schema of an argument. @param schema of all arguments */
export function ownSchema(schema: JsonObject, name: string): unknown {
  const properties = isObject(schema.properties) ? schema.properties : {};
  return Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
}

/** The same of a value that is part of an argument. @param own its schema, which `document` has in it */
export function writtenValue(
  text: string,
  document: JsonObject,
  own: unknown,
  isText: boolean,
): unknown {
  const types = typesOf(own, document);
  if (isText && (types?.has("string") ?? true)) return text;
  const written = text.trim();
  const parsed = parseJson(written);
  const value = parsed === undefined ? pythons.get(written) : parsed;
  if (value === undefined || (types?.has("string") && typeof value === "string")) return text;
  if (types && !types.has(typeOf(value))) return text;
  return parsed === undefined ? value : parseMarked(written);
}

/** As templates write them that are run by Python. */
const pythons: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["True", true],
  ["False", false],
  ["None", null],
]);

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

/**
 * The types that values may have which fit a schema, an integer being a number; `undefined`: any.
 * @param document that the schema is part of
 */
export function typesOf(schema: unknown, document: JsonObject): ReadonlySet<string> | undefined {
  return new TypesIn(document).of(schema);
}

type Types = ReadonlySet<string> | undefined;

/** The types of one document's schemas, each looked at once: they may refer to each other. */
class TypesIn {
  readonly #document: JsonObject;
  readonly #known = new Map<JsonObject, Types>();

  constructor(document: JsonObject) {
    this.#document = document;
  }

  of(schema: unknown): Types {
    if (!isObject(schema)) return undefined;
    if (this.#known.has(schema)) return this.#known.get(schema);
    // What is part of itself has no values besides its other parts'.
    this.#known.set(schema, new Set());
    const types = this.#all(schema).reduce(both, undefined);
    this.#known.set(schema, types);
    return types;
  }

  #all({ $ref, type, anyOf, oneOf, allOf, ...rest }: JsonObject): Types[] {
    const all: Types[] = [];
    if (type !== undefined) all.push(new Set([type].flat().map(nameOf)));
    const values = "const" in rest ? [rest.const] : rest.enum;
    if (Array.isArray(values)) all.push(new Set(values.map(typeOf)));
    if (typeof $ref === "string") all.push(this.of(referredIn(this.#document, $ref)));
    for (const some of [anyOf, oneOf]) {
      if (Array.isArray(some)) all.push(either(some.map((one) => this.of(one))));
    }
    if (Array.isArray(allOf)) all.push(...allOf.map((one) => this.of(one)));
    return all;
  }
}

const nameOf = (type: unknown) => (type === "integer" ? "number" : String(type));

const either = (all: readonly Types[]): Types =>
  all.includes(undefined) ? undefined : new Set(all.flatMap((types) => [...(types ?? [])]));

const both = (one: Types, other: Types): Types =>
  one && other ? new Set([...one].filter((type) => other.has(type))) : (one ?? other);
