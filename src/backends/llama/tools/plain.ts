/** Tools in words that more chat templates know: some refuse schemas with several types, with none, or by a reference. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { referredIn } from "../../../core/schema-references.js";
import type { ToldTool } from "./telling.js";

/** Schemas within each other, and of all tools: behind that nothing is said but a type. */
const deepest = 8;
const most = 10_000;

/** Tools each of whose parameters, and their parts, has one type. */
export function plainTools(tools: readonly ToldTool[]): readonly ToldTool[] {
  const left = { schemas: most };
  return tools.map(({ type, function: { parameters, ...tool } }) => {
    const plain = new PlainSchemas(parameters, left).of(parameters);
    return {
      type,
      function: { ...tool, parameters: { properties: {}, ...plain, type: "object" } },
    };
  });
}

/** Schemas of one document. */
class PlainSchemas {
  readonly #document: JsonObject;
  readonly #left: { schemas: number };

  constructor(document: JsonObject, left: { schemas: number }) {
    this.#document = document;
    this.#left = left;
  }

  of(given: unknown, depth = 0): JsonObject {
    const schema = isObject(given) ? given : {};
    if (depth === deepest || this.#left.schemas-- <= 0) return { type: typeOf(schema) ?? "string" };
    const { description, enum: values, properties, items, required } = schema;
    const other = this.#otherOf(schema);
    const inner = other === undefined ? {} : this.of(other, depth + 1);
    const type = typeOf(schema) ?? inner.type ?? "string";
    const all = isObject(properties) ? Object.entries(properties) : [];
    return {
      ...inner,
      type,
      // Some put it behind another text.
      description: typeof description === "string" ? description : (inner.description ?? ""),
      ...(Array.isArray(values) && type === "string" && { enum: values.map(String) }),
      ...(all.length > 0 && {
        properties: Object.fromEntries(all.map(([name, one]) => [name, this.of(one, depth + 1)])),
      }),
      ...(Array.isArray(required) && { required }),
      ...(type === "array" && { items: this.of(items ?? inner.items, depth + 1) }),
    };
  }

  /** What a schema says elsewhere: by a reference, or in the first alternative that is something. */
  #otherOf({ $ref, anyOf, oneOf, allOf }: JsonObject): unknown {
    const found = typeof $ref === "string" ? referredIn(this.#document, $ref) : undefined;
    if (found !== undefined) return found;
    const several = [anyOf, oneOf, allOf].find((one) => Array.isArray(one));
    return several?.find((one) => !isObject(one) || one.type !== "null");
  }
}

/** The first type that is something; `undefined`: the schema says none itself. */
function typeOf({ type, enum: values, const: only, properties, items }: JsonObject) {
  const [first] = [type].flat().filter((one) => typeof one === "string" && one !== "null");
  if (first !== undefined) return String(first);
  if (isObject(properties)) return "object";
  if (items !== undefined) return "array";
  const value = only ?? (Array.isArray(values) ? values.find((one) => one !== null) : undefined);
  return ["string", "number", "boolean"].find((name) => typeof value === name);
}
