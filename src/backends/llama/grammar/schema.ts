/** JSON Schema to a grammar whose texts all fit it; of some schemas not all texts that fit. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { either, type Gbnf, literal, Unsupported } from "../../gbnf/gbnf.js";
import { alike } from "./alike.js";
import { arrayOf } from "./arrays.js";
import { areDisjoint } from "./disjoint.js";
import { merged, rulesOf } from "./merge.js";
import { numberOf } from "./numbers.js";
import { objectOf } from "./objects.js";
import { referred } from "./references.js";
import { stringOf } from "./strings.js";

/** Schemas within schemas. */
const deepest = 64;

/** Places of a grammar that an answer may be in at once. */
const mostPlaces = 64;

const tooAlike = "alternatives within each other that begin alike";

/** A schema that is referred to. */
interface Referred {
  /** Of its rule. */
  readonly name: string;
  /** Places at its beginning. */
  readonly entered: number;
  /** How many times as many there are within it; absent while it is being made. */
  within: number | undefined;
}

/** Keywords that can't be held to, whatever a value's type is. */
const never = ["not", "if", "$dynamicRef", "$recursiveRef"];

/** Keywords of values of one type, which others don't heed. */
const ofType: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  array: [
    ...["items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"],
    ...["contains", "minContains", "maxContains", "unevaluatedItems"],
  ],
  object: [
    ...["properties", "required", "additionalProperties", "minProperties", "maxProperties"],
    ...["patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"],
    ...["dependencies", "unevaluatedProperties"],
  ],
};

/** Converts the schemas of one document. */
export class SchemaGrammar {
  readonly grammar: Gbnf;
  readonly #document: JsonObject;
  /** Schemas that are referred to. */
  readonly #referred = new Map<unknown, Referred>();
  /** In how many places at once an answer may be that has come here, and the most of that so far. */
  #places = 1;
  #most = 1;
  #depth = 0;

  constructor(grammar: Gbnf, document: JsonObject) {
    this.grammar = grammar;
    this.#document = document;
  }

  /**
   * An expression for what fits a schema of the document.
   * @throws Unsupported that says what can't be held to
   */
  of(schema: unknown): string {
    if (schema === true || schema === undefined) return "value";
    if (!isObject(schema)) throw new Unsupported("a part that nothing fits");
    this.#enter();
    try {
      return this.#expression(rulesOf(schema));
    } finally {
      this.#depth--;
    }
  }

  /** The same schema without a reference at its beginning. */
  readonly resolve = (schema: unknown): unknown => {
    let found = schema;
    for (let turn = 0; isObject(found) && typeof found.$ref === "string"; turn++) {
      if (turn > deepest) throw new Unsupported('"$ref" that leads to itself');
      found = referred(this.#document, found.$ref);
    }
    return found;
  };

  #expression(schema: JsonObject): string {
    for (const key of never) if (key in schema) throw new Unsupported(`"${key}"`);
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    if ($ref !== undefined) return this.#reference(schema);
    if (Array.isArray(allOf)) return this.of(this.#together([...allOf, { ...rest, anyOf, oneOf }]));
    if (Array.isArray(oneOf)) return this.#alternatives(oneOf, { ...rest, anyOf }, true);
    if (Array.isArray(anyOf)) return this.#alternatives(anyOf, rest, false);
    if ("const" in schema) return this.#literals([schema.const], schema, "const");
    if (Array.isArray(schema.enum)) return this.#literals(schema.enum, schema, "enum");
    return this.#typed(schema);
  }

  /** What is referred to is a rule, which may use itself. */
  #reference({ $ref, ...rest }: JsonObject): string {
    if (typeof $ref !== "string") throw new Unsupported('"$ref"');
    const target = referred(this.#document, $ref);
    if (Object.keys(rest).length > 0) return this.of(this.#together([target, rest]));
    const known = this.#referred.get(target);
    if (known) return this.#again(known);
    const before = this.#most;
    const made: Referred = {
      name: this.grammar.reserve(),
      entered: this.#places,
      within: undefined,
    };
    this.#referred.set(target, made);
    this.#most = this.#places;
    this.grammar.define(made.name, this.of(target));
    made.within = this.#most / made.entered;
    this.#most = Math.max(before, this.#most);
    return made.name;
  }

  #again({ name, entered, within }: Referred): string {
    // Within itself they become more with each level.
    if (within === undefined && this.#places > entered) throw new Unsupported(tooAlike);
    this.#reach(this.#places * (within ?? 1));
    return name;
  }

  #reach(places: number): void {
    if (places > mostPlaces) throw new Unsupported(tooAlike);
    this.#most = Math.max(this.#most, places);
  }

  #together(schemas: readonly unknown[]): JsonObject {
    return merged(schemas.map((schema) => this.#opened(schema)));
  }

  /** The schema without a reference at its beginning, and what stands beside that. */
  #opened(schema: unknown): JsonObject {
    if (schema === true) return {};
    if (!isObject(schema)) throw new Unsupported("a part that nothing fits");
    const { $ref, ...rest } = rulesOf(schema);
    if (typeof $ref !== "string") return schema;
    this.#enter();
    const opened = merged([this.#opened(referred(this.#document, $ref)), rest]);
    this.#depth--;
    return opened;
  }

  #enter(): void {
    if (this.#depth >= deepest) throw new Unsupported("so many levels");
    this.#depth++;
  }

  #alternatives(schemas: readonly unknown[], rest: JsonObject, one: boolean): string {
    const alone = Object.values(rest).every((value) => value === undefined);
    const all = alone ? schemas : schemas.map((schema) => this.#together([rest, schema]));
    const possible = all.filter((schema) => schema !== false);
    if (possible.length === 0) throw new Unsupported("a part that nothing fits");
    if (one && !areDisjoint(possible, this.resolve)) {
      throw new Unsupported('"oneOf" whose schemas one value may fit several of');
    }
    const before = this.#places;
    this.#places *= alike(possible, this.resolve);
    this.#reach(this.#places);
    const made = either([...new Set(possible.map((schema) => this.of(schema)))]);
    this.#places = before;
    return made;
  }

  #literals(values: readonly unknown[], schema: JsonObject, key: "const" | "enum"): string {
    const { const: _, enum: listed = values, type, ...rest } = schema;
    const texts = new Set((listed as unknown[]).map((value) => JSON.stringify(value)));
    const types = type === undefined ? undefined : [type].flat();
    const fitting = values.filter(
      (value) =>
        texts.has(JSON.stringify(value)) && (!types || types.some((it) => isOf(value, it))),
    );
    const [other] = Object.keys(rest).filter((it) => Object.values(ofType).flat().includes(it));
    if (other) throw new Unsupported(`"${other}" beside "${key}"`);
    if (fitting.length === 0) throw new Unsupported("a part that nothing fits");
    const written = new Set(fitting.map((value) => literal(JSON.stringify(value))));
    return this.grammar.rule(either([...written]));
  }

  #typed(schema: JsonObject): string {
    const types = [schema.type ?? impliedType(schema)].flat();
    const all = types.map((type) => this.#ofType(String(type), schema));
    return either([...new Set(all)]);
  }

  #ofType(type: string, schema: JsonObject): string {
    switch (type) {
      case "any":
        return "value";
      case "null":
        return '"null"';
      case "boolean":
        return "boolean";
      case "integer":
      case "number":
        return this.grammar.rule(numberOf(schema, type === "integer"));
      case "string":
        if ("pattern" in schema) throw new Unsupported('"pattern"');
        return this.grammar.rule(stringOf(schema, this.grammar));
      case "array":
        return this.grammar.rule(arrayOf(schema, this));
      case "object":
        return this.grammar.rule(objectOf(schema, this));
      default:
        throw new Unsupported(`the type "${type}"`);
    }
  }
}

/** That of which the schema says something: others fit too, and are not made. */
function impliedType(schema: JsonObject): string {
  for (const type of ["object", "array", "string", "number"]) {
    if (ofType[type]?.some((key) => key in schema)) return type;
  }
  return "any";
}

function isOf(value: unknown, type: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  return type === (value === null ? "null" : typeof value);
}
