/** JSON Schemas without the keywords that a server refuses. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { referredIn } from "../../../core/schema-references.js";

/** Keywords without which a schema says nothing: they stay. */
const needed: ReadonlySet<string> = new Set([
  ...["type", "properties", "items", "required", "description", "enum"],
]);

/** Those that hold schemas by names, and those that hold one, or a list. */
const named: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"],
]);
const nested: ReadonlySet<string> = new Set([
  ...["items", "additionalItems", "prefixItems", "contains", "unevaluatedItems"],
  ...["additionalProperties", "propertyNames", "unevaluatedProperties"],
  ...["not", "if", "then", "else", "allOf", "anyOf", "oneOf"],
]);

/** References, and what they stand for: a server that refuses one of these takes none. */
const ofReferences: ReadonlySet<string> = new Set(["$ref", "$defs", "definitions"]);

/** Those of which a model reads something, and that allow and forbid nothing. */
const notes: ReadonlySet<string> = new Set([
  ...["$schema", "$id", "$anchor", "$comment", "$vocabulary", "title", "default", "example"],
  ...["examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"],
]);

/** All others that there are, in any draft, and in OpenAPI. */
const others: ReadonlySet<string> = new Set([
  ...["const", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"],
  ...["minContains", "maxContains", "minProperties", "maxProperties", "dependentRequired"],
  ...["dependencies", "contentSchema", "$dynamicRef", "$dynamicAnchor", "nullable"],
]);

/** Stands for keywords that nobody knows: whoever refuses one refuses all. */
export const unknownKeywords = "of no standard";

/** What it is remembered as that a keyword is refused; `undefined` for one that has to stay. */
export function keywordFor(name: string): string | undefined {
  if (needed.has(name)) return undefined;
  if (ofReferences.has(name)) return "$ref";
  const isKnown = notes.has(name) || others.has(name) || named.has(name) || nested.has(name);
  return isKnown ? name : unknownKeywords;
}

/** Names of all keywords in a schema, but for those that have to stay. */
export function keywordsIn(schema: unknown, found = new Set<string>()): ReadonlySet<string> {
  for (const one of Array.isArray(schema) ? schema : [schema]) {
    if (!isObject(one)) continue;
    for (const [name, value] of Object.entries(one)) {
      if (!needed.has(name)) found.add(name);
      if (named.has(name) && isObject(value)) keywordsIn(Object.values(value), found);
      else if (nested.has(name)) keywordsIn(value, found);
    }
  }
  return found;
}

/** Most schemas that stand where references did, and how deep: there may be no end of them. */
const mostInlined = 2000;
const deepestInlined = 200;

/** What a schema is told without. */
export interface Leaving {
  /** Which, as `keywordFor` has them. */
  readonly keywords: ReadonlySet<string>;
  /** Gets the names of those by whose absence more is allowed than was. */
  readonly lost: Set<string>;
}

/**
 * A schema without some keywords. What a reference stands for takes its place, unless that is within itself; of what can
 * be said in other words (`const`, `oneOf`) that is said.
 */
export function schemaWithout(schema: unknown, leaving: Leaving): unknown {
  return isObject(schema) ? new Telling(schema, leaving).told(schema) : schema;
}

class Telling {
  readonly #document: JsonObject;
  readonly #leaving: Leaving;
  /** References within which it is now. */
  readonly #open: string[] = [];
  #inlined = 0;
  #depth = 0;

  constructor(document: JsonObject, leaving: Leaving) {
    this.#document = document;
    this.#leaving = leaving;
  }

  told(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((one) => this.told(one));
    if (!isObject(schema)) return schema;
    this.#depth++;
    const told = this.#object(schema);
    this.#depth--;
    return told;
  }

  #object(schema: JsonObject): JsonObject {
    const { $ref: reference } = schema;
    const inlined =
      typeof reference === "string" && this.#leaving.keywords.has("$ref")
        ? this.#inline(reference)
        : undefined;
    const told = Object.assign({}, inlined);
    for (const [name, value] of Object.entries(schema)) {
      Object.assign(told, this.#member(name, value));
    }
    return told;
  }

  #inline(reference: string): unknown {
    const target = referredIn(this.#document, reference);
    const fits = this.#depth < deepestInlined && this.#inlined++ < mostInlined;
    if (target === undefined || !fits || this.#open.includes(reference)) {
      this.#leaving.lost.add("$ref");
      return undefined;
    }
    this.#open.push(reference);
    const told = this.told(target);
    this.#open.pop();
    return told;
  }

  #member(name: string, value: unknown): JsonObject {
    const { keywords, lost } = this.#leaving;
    const keyword = keywordFor(name);
    if (keyword === undefined || !keywords.has(keyword))
      return { [name]: this.#below(name, value) };
    if (keyword === "const" && typeof value === "string") return { enum: [value] };
    if (keyword !== "$ref" && keyword !== unknownKeywords && !notes.has(keyword)) lost.add(keyword);
    const looser = keyword === "oneOf" && !keywords.has("anyOf");
    return looser ? { anyOf: this.told(value) } : {};
  }

  #below(name: string, value: unknown): unknown {
    if (nested.has(name)) return this.told(value);
    if (!named.has(name) || !isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.told(one)]));
  }
}
