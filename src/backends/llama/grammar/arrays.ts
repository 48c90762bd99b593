/** Lists, in a grammar. */
import type { JsonObject } from "../../../core/json.js";
import { Unsupported } from "../../gbnf/gbnf.js";
import type { SchemaGrammar } from "./schema.js";

/** A list that fits a schema. @throws Unsupported */
export function arrayOf(schema: JsonObject, schemas: SchemaGrammar): string {
  const { minItems, maxItems, uniqueItems } = schema;
  const least = typeof minItems === "number" ? minItems : 0;
  const most = typeof maxItems === "number" ? maxItems : Infinity;
  for (const key of ["contains", "unevaluatedItems"]) {
    if (schema[key] !== undefined && schema[key] !== false) throw new Unsupported(`"${key}"`);
  }
  if (uniqueItems === true && most > 1) throw new Unsupported('"uniqueItems"');
  if (most < least) throw new Unsupported("a length that no list has");
  const { first, rest } = itemsOf(schema);
  const own = first.slice(0, most);
  const expressions = own.map((item) => schemas.grammar.rule(schemas.of(item)));
  // Beside what is listed further items are only made where they are described, or have to be.
  const open = rest !== false && (own.length === 0 || rest !== undefined || least > own.length);
  if (!open && least > own.length) throw new Unsupported("a length that no list has");
  const room = open ? most - own.length : 0;
  const tail = room > 0 ? tailOf(rest, Math.max(0, least - own.length), room, schemas) : undefined;
  return written(expressions, tail, Math.max(0, least), schemas);
}

/** Schemas of the first items, and of those behind; older schemas have both in `items`. */
function itemsOf({ items, prefixItems, additionalItems }: JsonObject) {
  if (Array.isArray(prefixItems)) return { first: prefixItems as unknown[], rest: items };
  if (Array.isArray(items)) return { first: items as unknown[], rest: additionalItems };
  return { first: [], rest: items };
}

interface Tail {
  readonly item: string;
  readonly least: number;
  readonly most: number | undefined;
}

function tailOf(rest: unknown, least: number, room: number, schemas: SchemaGrammar): Tail {
  const item = schemas.grammar.rule(schemas.of(rest));
  return { item, least, most: room === Infinity ? undefined : room };
}

function written(
  first: readonly string[],
  tail: Tail | undefined,
  least: number,
  { grammar }: SchemaGrammar,
): string {
  const following = (item: string) => `"," ws ${item}`;
  let rest = "";
  if (tail && first.length > 0) {
    rest = grammar.repeat(following(tail.item), tail.least, tail.most);
  } else if (tail) {
    const more = tail.most === undefined ? undefined : tail.most - 1;
    const others = grammar.repeat(following(tail.item), Math.max(0, tail.least - 1), more);
    rest = `${tail.item} ${others}`;
  }
  // From the last one on: each that may be missing takes those behind it along.
  let all = rest;
  for (const [i, item] of [...first.entries()].reverse()) {
    const here = `${i > 0 ? following(item) : item} ${all}`;
    all = i === 0 || i < least ? here : `(${here})?`;
  }
  if (all === "") return '"[" ws "]"';
  const isOptional = least === 0;
  return isOptional ? `"[" ws (${all} ws)? "]"` : `"[" ws ${all} ws "]"`;
}
