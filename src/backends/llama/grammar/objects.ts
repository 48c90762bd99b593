/** Objects, in a grammar. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { literal, Unsupported } from "../../gbnf/gbnf.js";
import type { SchemaGrammar } from "./schema.js";
import { nameBut } from "./strings.js";

/** A member that has a name. */
interface Member {
  readonly text: string;
  readonly required: boolean;
}

/** How an object is written. */
export interface ObjectShape {
  readonly open: string;
  readonly close: string;
  /** What stands in front of a member's value, as an expression. @throws Unsupported */
  member(name: string): string;
  /** Whether there may be others than are named. */
  readonly hasMore: boolean;
}

const inJson: ObjectShape = {
  open: "{",
  close: "}",
  member: (name) => `${literal(`${JSON.stringify(name)}:`)} ws`,
  hasMore: true,
};

/**
 * An object that fits a schema: its members come in the schema's order, and further ones behind
 * them where the schema describes these.
 * @throws Unsupported
 */
export function objectOf(given: JsonObject, schemas: SchemaGrammar, shape = inJson): string {
  const schema = withNames(given);
  check(schema);
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const further = schema.additionalProperties;
  const names = [...new Set([...Object.keys(properties), ...required])];
  const { grammar } = schemas;
  const members: Member[] = [];
  for (const name of names) {
    const isNamed = Object.hasOwn(properties, name);
    const own = isNamed ? properties[name] : further;
    if (own === false) {
      if (!required.includes(name)) continue;
      throw new Unsupported(`"required" of ${JSON.stringify(name)}, which there can't be`);
    }
    const value = grammar.rule(schemas.of(own));
    const text = grammar.rule(`${shape.member(name)} ${value}`);
    members.push({ text, required: required.includes(name) });
  }
  const isMap = members.length === 0 ? further !== false : isObject(further) || further === true;
  const room = roomFor(schema, members);
  const mayBeEmpty = !(Number(schema.minProperties) > 0);
  if (!isMap || room === 0 || !shape.hasMore) {
    return inOrder(members, undefined, mayBeEmpty, schemas, shape);
  }
  const name = nameBut(names, grammar);
  const text = grammar.rule(`${name} ":" ws ${grammar.rule(schemas.of(further))}`);
  return inOrder(members, { text, room }, mayBeEmpty, schemas, shape);
}

function check(schema: JsonObject): void {
  const { patternProperties, unevaluatedProperties: more } = schema;
  if (isObject(patternProperties) && Object.keys(patternProperties).length > 0) {
    throw new Unsupported('"patternProperties"');
  }
  // No member is made that is not described.
  if (isObject(more)) throw new Unsupported('"unevaluatedProperties"');
  for (const key of ["dependentRequired", "dependentSchemas", "dependencies", "propertyNames"]) {
    const it = schema[key];
    if (isObject(it) && Object.keys(it).length > 0) throw new Unsupported(`"${key}"`);
  }
}

/** `propertyNames` that name all that there may be, as members. */
function withNames(schema: JsonObject): JsonObject {
  const { propertyNames, unevaluatedProperties, ...rest } = schema;
  if (unevaluatedProperties === false && rest.additionalProperties === undefined) {
    return withNames({ ...rest, propertyNames, additionalProperties: false });
  }
  if (!isObject(propertyNames)) return schema;
  const { type = "string", enum: names, ...others } = propertyNames;
  if (type !== "string" || Object.keys(others).length > 0) return schema;
  if (names === undefined) return rest;
  if (!Array.isArray(names)) return schema;
  const known = isObject(rest.properties) ? rest.properties : {};
  const { additionalProperties = true } = rest;
  const listed = names.map((name) => [name, known[String(name)] ?? additionalProperties]);
  return { ...rest, properties: Object.fromEntries(listed), additionalProperties: false };
}

/** How many members there may be beside those that are named. @throws Unsupported where there have to be some */
function roomFor(schema: JsonObject, members: readonly Member[]): number | undefined {
  const { minProperties: least, maxProperties: most } = schema;
  const must = members.filter(({ required }) => required).length;
  // A name may come twice, and then is one member.
  if (typeof least === "number" && least > Math.max(must, 1)) {
    throw new Unsupported('"minProperties" of more members than are required');
  }
  if (typeof most !== "number") return undefined;
  if (most < members.length) throw new Unsupported('"maxProperties" of less than are named');
  return most - members.length;
}

/** Members one behind the other, a comma before each but the first that is there. */
function inOrder(
  members: readonly Member[],
  more: { readonly text: string; readonly room: number | undefined } | undefined,
  mayBeEmpty: boolean,
  { grammar }: SchemaGrammar,
  shape: ObjectShape,
): string {
  const [open, close] = [literal(shape.open), literal(shape.close)];
  const following = (text: string) => `"," ws ${text}`;
  // What may follow once something stands there, and what may come where nothing does.
  let later = "";
  let first = "";
  if (more) {
    later = grammar.rule(grammar.repeat(following(more.text), 0, more.room));
    const others = more.room === undefined ? undefined : more.room - 1;
    first = `${more.text} ${grammar.repeat(following(more.text), 0, others)}`;
  }
  for (const { text, required } of [...members].reverse()) {
    const here = `${text} ${later}`;
    first = required || first === "" ? here : `${here} | ${grammar.rule(first)}`;
    const after = `${following(text)} ${later}`;
    later = grammar.rule(required ? after : `(${after})${later === "" ? "?" : ` | ${later}`}`);
  }
  if (first === "" && !mayBeEmpty)
    throw new Unsupported('"minProperties" of more than there may be');
  if (first === "") return `${open} ws ${close}`;
  const all = grammar.rule(first);
  const isOptional = mayBeEmpty && members.every(({ required }) => !required);
  return isOptional ? `${open} ws (${all} ws)? ${close}` : `${open} ws ${all} ws ${close}`;
}
