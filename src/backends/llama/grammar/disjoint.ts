/** Whether no value fits two schemas. */
import { isObject, type JsonObject } from "../../../core/json.js";

/** Gives a schema without a reference at its beginning. */
type Resolve = (schema: unknown) => unknown;

/** Whether no value fits two of several schemas, as far as that is plain to see. */
export function areDisjoint(schemas: readonly unknown[], resolve: Resolve): boolean {
  const all = schemas.map(resolve);
  return all.every((one, i) => all.slice(i + 1).every((other) => differ(one, other, resolve)));
}

function differ(one: unknown, other: unknown, resolve: Resolve): boolean {
  if (!isObject(one) || !isObject(other)) return false;
  const [values, others] = [valuesOf(one), valuesOf(other)];
  if (values && others) return !values.some((value) => others.includes(value));
  const [types, otherTypes] = [typesOf(one), typesOf(other)];
  if (types && otherTypes && !types.some((type) => otherTypes.includes(type))) return true;
  const shared = required(one).filter((name) => required(other).includes(name));
  const isOnlyObject = types?.join() === "object" && otherTypes?.join() === "object";
  return (
    isOnlyObject &&
    shared.some((name) =>
      differ(property(one, name, resolve), property(other, name, resolve), resolve),
    )
  );
}

/** The values that fit, as JSON, where they are named. */
function valuesOf(schema: JsonObject): string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((value) => JSON.stringify(value)) : undefined;
}

function typesOf(schema: JsonObject): unknown[] | undefined {
  const values =
    "const" in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : undefined;
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  const named =
    types ??
    values?.map((value) =>
      value === null ? "null" : Array.isArray(value) ? "array" : typeof value,
    );
  // Each integer is a number.
  return named?.map((type) => (type === "integer" ? "number" : type));
}

const required = ({ required: names }: JsonObject): unknown[] =>
  Array.isArray(names) ? names : [];

function property({ properties }: JsonObject, name: unknown, resolve: Resolve): unknown {
  return isObject(properties) ? resolve(properties[String(name)]) : undefined;
}
