/** What JSON Schemas of an OpenAPI document are made of. */

/** A JSON Schema, or any other part of an OpenAPI document. */
export type Part = Readonly<Record<string, unknown>>;

/** Reference to a schema that has a name. */
export const refer = (name: string): Part => ({ $ref: `#/components/schemas/${name}` });

export const text: Part = { type: "string" };
export const count: Part = { type: "integer", minimum: 0 };
export const flag: Part = { type: "boolean" };
export const uri: Part = { type: "string", format: "uri-reference" };
/** JSON that is not ours to describe. */
export const anyObject: Part = { type: "object", additionalProperties: true };
/** A list. @param more rules of its length */
export const list = (items: Part, more: Part = {}): Part => ({ type: "array", items, ...more });
/** A schema with what it is. */
export const said = (description: string, form: Part): Part => ({ description, ...form });

/** An object, of which members whose names end in `?` may be missing. */
export function object(description: string, members: Readonly<Record<string, Part>>): Part {
  const names = Object.keys(members);
  const required = names.filter((name) => !name.endsWith("?"));
  const properties = names.map((name) => [name.replace("?", ""), members[name]]);
  return {
    type: "object",
    description,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(properties),
  };
}
