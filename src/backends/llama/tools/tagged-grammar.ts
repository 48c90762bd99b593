/** Arguments that stand between marks, in a grammar. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { either, type Gbnf, literal, Unsupported } from "../../gbnf/gbnf.js";
import { areDisjoint } from "../grammar/disjoint.js";
import { rulesOf } from "../grammar/merge.js";
import { referred } from "../grammar/references.js";
import { SchemaGrammar } from "../grammar/schema.js";
import { bareText, textWithout } from "../grammar/strings.js";
import { marksIn, nextOf, type TaggedCall } from "./form.js";
import { typesOf } from "./values.js";

/** What a name is made of where there is no schema for it. */
const anyName = "[A-Za-z_] [A-Za-z0-9_-]{0,63}";

/**
 * Arguments that fit a schema, in its order; none that it does not name.
 * @throws Unsupported where that can't be kept to
 */
export function tagged(schema: JsonObject, form: TaggedCall, grammar: Gbnf): string {
  const { type, properties, required, additionalProperties, ...others } = rulesOf(schema);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Unsupported(`"${other}" of all arguments`);
  if (type !== "object") throw new Unsupported("arguments that are no object");
  const own = isObject(properties) ? properties : {};
  const must = Array.isArray(required) ? required.map(String) : [];
  const names = [...new Set([...Object.keys(own), ...must])];
  if (names.length === 0) {
    return additionalProperties === false ? '""' : anyTagged(form, grammar);
  }
  const schemas = new SchemaGrammar(grammar, schema);
  const values = new ArgumentGrammar(form, schemas, schema);
  const all = names.map((name) => {
    if (/[<>"\s]/.test(name)) throw new Unsupported(`the name ${JSON.stringify(name)}`);
    const value = values.of(Object.hasOwn(own, name) ? own[name] : additionalProperties);
    const text = `${literal(form.key[0] + name)} ${value} ${literal(nextOf(form, name))}`;
    return must.includes(name) ? grammar.rule(text) : `(${grammar.rule(text)})?`;
  });
  return all.join(" ");
}

/** Alternatives of one argument. */
const most = 32;

/**
 * Any arguments.
 * @param names that they may have where the mark behind one has its name
 */
export function anyTagged(form: TaggedCall, grammar: Gbnf, names: readonly string[] = []): string {
  const { key, json, next } = form;
  const [open, close] = key.map(literal);
  if (form.tags !== undefined) {
    const any = textWithout(endOf(next), grammar);
    const fitting = names.filter((name) => /^[\w.-]+$/.test(name));
    const each = fitting.map((name) =>
      grammar.rule(`${literal(key[0] + name)} ${close} ${any} ${literal(nextOf(form, name))}`),
    );
    return each.map((one) => `(${one})?`).join(" ") || '""';
  }
  const text = `${close} ${textWithout(endOf(next), grammar)}`;
  const value = json ? `(${text} | ${literal(json)} value)` : text;
  return `(${grammar.rule(`${open} ${anyName} ${value} ${literal(next)}`)})*`;
}

/** The first mark behind a value. */
const endOf = (next: string) => marksIn(next)[0] ?? next;

/** The ways in which an argument may be written, and whether each is a text. */
type Ways = ReadonlyMap<string, boolean>;

/** Converts the schemas of arguments: texts are written as they are, all else as JSON. */
class ArgumentGrammar {
  readonly #form: TaggedCall;
  readonly #schemas: SchemaGrammar;
  readonly #document: JsonObject;
  readonly #known = new Map<unknown, Ways | "begun">();

  constructor(form: TaggedCall, schemas: SchemaGrammar, document: JsonObject) {
    this.#form = form;
    this.#schemas = schemas;
    this.#document = document;
  }

  /**
   * An argument, with the mark behind its name.
   * @throws Unsupported
   */
  of(schema: unknown): string {
    const { key, json = key[1] } = this.#form;
    const ways = [...this.#alternatives(schema)];
    const marks = new Set([key[1], json]);
    const all = [...marks].map((mark) => {
      const fitting = ways.filter(([, isText]) => (isText ? key[1] : json) === mark);
      return { mark, fitting: fitting.map(([way]) => way) };
    });
    const each = all
      .filter(({ fitting }) => fitting.length > 0)
      .map(
        ({ mark, fitting }) => `${literal(mark)} ${this.#schemas.grammar.rule(either(fitting))}`,
      );
    return either(each);
  }

  /** What an argument may be, each way once: an answer may be in the middle of all of them. */
  #alternatives(schema: unknown): Ways {
    const known = this.#known.get(schema);
    if (known === "begun") throw new Unsupported('"$ref" that leads to itself');
    if (known) return known;
    this.#known.set(schema, "begun");
    const types = typesOf(schema, this.#document);
    if (types?.size === 0) throw new Unsupported("a part that nothing fits");
    const { grammar } = this.#schemas;
    const made = types?.has("string")
      ? this.#texts(schema as JsonObject)
      : new Map([[grammar.rule(this.#schemas.of(schema)), false]]);
    if (made.size > most) throw new Unsupported("so many alternatives");
    this.#known.set(schema, made);
    return made;
  }

  /** What may be a text. */
  #texts(schema: JsonObject): Ways {
    const { $ref, anyOf, oneOf, ...rest } = rulesOf(schema);
    const [beside] = Object.keys(rest);
    if (typeof $ref === "string") {
      const other = anyOf || oneOf ? "anyOf" : beside;
      if (other !== undefined) throw new Unsupported(`"${other}" beside "$ref"`);
      return this.#alternatives(referred(this.#document, $ref));
    }
    const several = anyOf ?? oneOf;
    if (!Array.isArray(several)) return this.#one(rest);
    if (beside !== undefined) throw new Unsupported(`"${beside}" beside alternatives`);
    if (oneOf && (anyOf || !areDisjoint(several, this.#schemas.resolve))) {
      throw new Unsupported('"oneOf" whose schemas one value may fit several of');
    }
    return new Map(several.flatMap((one) => [...this.#alternatives(one)]));
  }

  #one(schema: JsonObject): Ways {
    const { type, ...rest } = schema;
    const { grammar } = this.#schemas;
    if ("const" in schema || "enum" in schema) return this.#literals(schema);
    if (Array.isArray(type)) {
      return new Map(type.flatMap((one) => [...this.#alternatives({ ...rest, type: one })]));
    }
    if (type !== "string") throw new Unsupported(`"${Object.keys(rest)[0]}"`);
    return new Map([[grammar.rule(bareText(rest, endOf(this.#form.next), grammar)), true]]);
  }

  #literals(schema: JsonObject): Ways {
    const { const: only, enum: listed, type, ...rest } = schema;
    const [other] = Object.keys(rest);
    if (other !== undefined) throw new Unsupported(`"${other}" beside "enum"`);
    const values = "const" in schema ? [only] : (listed as unknown[]);
    const texts = values.filter(
      (value): value is string =>
        typeof value === "string" &&
        (type === undefined || [type].flat().includes("string")) &&
        !value.includes(endOf(this.#form.next)),
    );
    const others = values.filter((value) => typeof value !== "string");
    const ways: [string, boolean][] = [];
    if (texts.length > 0) ways.push([either(texts.map(literal)), true]);
    if (others.length > 0) {
      const of = { enum: others, ...(type !== undefined && { type }) };
      ways.push([this.#schemas.of(of), false]);
    }
    if (ways.length === 0) throw new Unsupported("a part that nothing fits");
    return new Map(ways);
  }
}
