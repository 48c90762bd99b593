/** Google's schemas, a part of OpenAPI's, as JSON Schemas. */
import { isObject, isTooDeep, type JsonObject, tooDeep } from "../../core/json.js";
import { isLongNumber } from "../../core/long-numbers.js";
import { member } from "./member.js";
import { numberOf } from "./number.js";

/** Members that JSON Schema has under the same name, too, and that hold no schema. */
const same = [
  ...["title", "description", "format", "enum", "default", "pattern", "required", "example"],
  ...["const", "uniqueItems", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minimum", "maximum", "minItems", "maxItems"],
  ...["minLength", "maxLength", "minProperties", "maxProperties"],
];
/** Of these those that are numbers in Google's form, which may be texts: integers of 64 bits always are. */
const numbers: ReadonlySet<string> = new Set(same.slice(-8));

/** Members that hold a schema, or a list of some: clients write more of them than Google's own. */
const nested = ["items", "additionalProperties", "not", "prefixItems", "allOf", "anyOf", "oneOf"];
/** Of these lists of which one has to fit. */
const alternatives = ["anyOf", "oneOf"];

/** Members that hold schemas by names. Google calls `$defs` without the `$`. */
const named = [
  ...[["properties", "properties"] as const, ["patternProperties", "patternProperties"] as const],
  ...[["defs", "$defs"] as const, ["$defs", "$defs"] as const],
  ["definitions", "definitions"] as const,
];

/** The JSON Schema that says the same. What is no object stays as it is, for the contract to refuse. */
function jsonSchemaOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(jsonSchemaOf);
  if (!isObject(schema) || isLongNumber(schema)) return schema;
  const out: Record<string, unknown> = {};
  const type = typeof schema.type === "string" ? schema.type.toLowerCase() : typed(schema.type);
  if (type !== undefined && type !== "type_unspecified") out.type = type;
  for (const name of same) {
    const value = member(schema, name);
    if (value !== undefined) out[name] = numbers.has(name) ? numberOf(value) : value;
  }
  const target = schema.$ref ?? schema.ref;
  if (target !== undefined) out.$ref = referenceOf(target);
  for (const [name, own] of named) {
    const value = member(schema, name);
    if (isObject(value)) out[own] = { ...(out[own] as JsonObject | undefined), ...each(value) };
  }
  for (const name of nested) {
    const value = member(schema, name);
    if (value !== undefined) out[name] = jsonSchemaOf(value);
  }
  return schema.nullable === true ? orNull(out) : out;
}

/** A schema that null fits, too. */
function orNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  const lists = alternatives.filter((name) => Array.isArray(schema[name]));
  if (type === undefined && lists.length === 0) {
    // What stands elsewhere may not fit null; where nothing is said all does.
    const isSaid = schema.$ref !== undefined || schema.allOf !== undefined;
    return isSaid ? { anyOf: [schema, ofNull] } : withNull(schema, "enum", null);
  }
  const out = type === undefined ? schema : { ...schema, type: [type, "null"].flat() };
  const among = values === undefined ? out : withNull(out, "enum", null);
  return lists.reduce((all, name) => withNull(all, name, ofNull), among);
}

const ofNull = { type: "null" } as const;

const withNull = (schema: JsonObject, name: string, value: unknown): JsonObject =>
  Array.isArray(schema[name]) ? { ...schema, [name]: [...schema[name], value] } : schema;

const referenceOf = (target: unknown): unknown =>
  typeof target === "string" ? target.replace(/^#\/defs\//, "#/$defs/") : target;

const each = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, jsonSchemaOf(one)]));

/**
 * The JSON Schema that a request has, in Google's form or as such.
 * @param own in Google's form
 * @param plain JSON Schema itself, which counts more; `undefined` if there is none
 * @param refuse told what is wrong where it is nested too deeply: then there is none
 */
export function readSchema(own: unknown, plain: unknown, refuse: (why: string) => void): unknown {
  if (!isTooDeep(plain ?? own)) return plain === undefined ? jsonSchemaOf(own) : withTypes(plain);
  refuse(tooDeep);
  return undefined;
}

/** Google's names of types, which its clients also write into JSON Schemas. */
const types = /^(?:STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT|NULL)$/;
/** Members of schemas that hold values. */
const values: ReadonlySet<string> = new Set(["enum", "const", "default", "example", "examples"]);

/** A JSON Schema with the names of types that JSON Schema has. */
function withTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withTypes);
  if (!isObject(schema) || isLongNumber(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => {
      if (name === "type") return [name, typed(value)];
      return [name, values.has(name) ? value : withTypes(value)];
    }),
  );
}

function typed(type: unknown): unknown {
  if (typeof type === "string") return types.test(type) ? type.toLowerCase() : type;
  // A property may have that name, too.
  return Array.isArray(type) ? type.map(typed) : withTypes(type);
}
