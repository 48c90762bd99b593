/** Alternatives that begin alike: llama.cpp follows all of them at once, and those within each of them. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { areDisjoint } from "./disjoint.js";

/** How many of several schemas an answer may be in the middle of, objects and lists alone. */
export function alike(schemas: readonly unknown[], resolve: (schema: unknown) => unknown): number {
  const all = schemas.map(resolve).filter(isObject);
  const lists = all.filter((schema) => mayBe(schema, "array")).length;
  const objects = all.filter((schema) => mayBe(schema, "object"));
  const together = objects.map(
    (one) => objects.filter((other) => one === other || !toldApart(one, other, resolve)).length,
  );
  return Math.max(1, lists, ...together);
}

function mayBe(schema: JsonObject, type: "array" | "object"): boolean {
  if ("const" in schema || "enum" in schema) return false;
  if (schema.type !== undefined) return [schema.type].flat().includes(type);
  const isOther = type === "array" ? "properties" in schema : "items" in schema;
  return !isOther;
}

/** Whether the first member tells which of them it is. */
function toldApart(
  one: JsonObject,
  other: JsonObject,
  resolve: (schema: unknown) => unknown,
): boolean {
  const [first, second] = [firstOf(one), firstOf(other)];
  if (!first || !second) return false;
  return first.name === second.name
    ? areDisjoint([first.schema, second.schema], resolve)
    : !("anyOf" in one || "allOf" in one || "anyOf" in other || "allOf" in other);
}

/** The first member, if it has to be there. */
function firstOf({ properties, required }: JsonObject) {
  const [first] = Object.entries(isObject(properties) ? properties : {});
  if (!first || !Array.isArray(required) || !required.includes(first[0])) return undefined;
  return { name: first[0], schema: first[1] };
}
