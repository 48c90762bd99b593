/** Google's schemas, a part of OpenAPI's, as JSON Schemas. */
import { isObject, type JsonObject } from "../../core/json.js";
import { member } from "./member.js";

/** Members that JSON Schema has under the same name, too, and that hold no schema. */
const same = [
  ...["title", "description", "format", "enum", "default", "pattern", "required", "example"],
  ...["minimum", "maximum", "minItems", "maxItems"],
  ...["minLength", "maxLength", "minProperties", "maxProperties"],
];
/** Of these those that are numbers, which Google writes as texts where they are integers of 64 bits. */
const counts: ReadonlySet<string> = new Set(same.slice(-6));

/**
 * The JSON Schema that says the same. What is no object stays as it is, for the contract to refuse.
 * @throws RangeError where it is nested too deeply
 */
export function jsonSchemaOf(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const out: Record<string, unknown> = {};
  const type = typeof schema.type === "string" ? schema.type.toLowerCase() : schema.type;
  if (type !== undefined && type !== "type_unspecified") {
    out.type = schema.nullable === true ? [type, "null"] : type;
  }
  for (const name of same) {
    const value = member(schema, name);
    if (value !== undefined) out[name] = counts.has(name) ? countOf(value) : value;
  }
  // Among some values null is one more.
  if (Array.isArray(out.enum) && schema.nullable === true) out.enum = [...out.enum, null];
  const { properties, items } = schema;
  if (isObject(properties)) out.properties = each(properties);
  if (items !== undefined) out.items = jsonSchemaOf(items);
  const anyOf = member(schema, "anyOf");
  if (Array.isArray(anyOf)) out.anyOf = anyOf.map(jsonSchemaOf);
  return out;
}

const each = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, jsonSchemaOf(one)]));

const countOf = (value: unknown): unknown =>
  typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;

/** Google's names of types, which its clients also write into JSON Schemas. */
const types = /^(?:STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT|NULL)$/;
/** Members of schemas that hold values. */
const values: ReadonlySet<string> = new Set(["enum", "const", "default", "example", "examples"]);

/**
 * A JSON Schema with the names of types that JSON Schema has.
 * @throws RangeError where it is nested too deeply
 */
export function withTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withTypes);
  if (!isObject(schema)) return schema;
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
