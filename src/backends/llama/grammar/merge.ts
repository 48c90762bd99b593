/** Schemas that hold together, as one. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { Unsupported } from "../../gbnf/gbnf.js";

/** What says nothing of whether a value fits. */
const notes: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "examples", "example", "$comment", "deprecated"],
  ...["readOnly", "writeOnly", "$schema", "$id", "$defs", "definitions", "discriminator"],
]);

/** Members that say whether a value fits. */
export const rulesOf = (schema: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(schema).filter(([key, value]) => !notes.has(key) && value !== undefined),
  );

/** One schema that says what several say. @throws Unsupported where it can't be told */
export function merged(schemas: readonly JsonObject[]): JsonObject {
  const all = schemas.map(rulesOf).filter((one) => Object.keys(one).length > 0);
  const [first = {}, ...others] = all;
  return others.reduce(joined, first);
}

function joined(one: JsonObject, other: JsonObject): JsonObject {
  const both: Record<string, unknown> = { ...one };
  if (isClosed(one) || isClosed(other)) checkClosed(one, other);
  for (const [key, value] of Object.entries(other)) {
    if (both[key] === undefined) both[key] = value;
    else both[key] = joinedRule(key, both[key], value);
  }
  return both;
}

function joinedRule(key: string, one: unknown, other: unknown): unknown {
  if (JSON.stringify(one) === JSON.stringify(other)) return one;
  if (key === "required" && Array.isArray(one) && Array.isArray(other)) {
    return [...new Set([...one, ...other])];
  }
  if (key === "properties" && isObject(one) && isObject(other)) {
    const properties: Record<string, unknown> = { ...one };
    for (const [name, schema] of Object.entries(other)) {
      const known = properties[name];
      properties[name] = known === undefined ? schema : { allOf: [known, schema] };
    }
    return properties;
  }
  if (key === "type") {
    const types = [one].flat().filter((type) => [other].flat().includes(type));
    if (types.length > 0) return types;
  }
  if (key.startsWith("max") && typeof one === "number" && typeof other === "number") {
    return Math.min(one, other);
  }
  if (key.startsWith("min") && typeof one === "number" && typeof other === "number") {
    return Math.max(one, other);
  }
  if (key === "additionalProperties" && one === true) return other;
  if (key === "additionalProperties" && other === true) return one;
  if (key === "allOf") return [one, other].flat();
  throw new Unsupported(`"${key}" in several schemas that hold together`);
}

/** Whether it says what members are that it does not name. */
const isClosed = ({ additionalProperties: more }: JsonObject) =>
  more !== undefined && more !== true;

/** Members that only one names are further ones to the other. */
function checkClosed(one: JsonObject, other: JsonObject): void {
  const names = ({ properties }: JsonObject) => Object.keys(isObject(properties) ? properties : {});
  const lacks = (closed: JsonObject, open: JsonObject) =>
    isClosed(closed) && names(open).some((name) => !names(closed).includes(name));
  if (lacks(one, other) || lacks(other, one)) {
    throw new Unsupported('"additionalProperties" in one of several schemas that hold together');
  }
}
