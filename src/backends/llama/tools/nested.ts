/** Arguments whose parts stand in tags within each other, with a mark in front of each: MiniMax-M3's. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { referredIn } from "../../../core/schema-references.js";
import { typesOf, writtenValue } from "./values.js";

/** What stands between two tags: a text, or other tags. */
interface Tag {
  readonly name: string;
  text: string;
  readonly inner: Tag[];
}

/** Tags within each other. */
const deepest = 100;

/**
 * What an argument means; the text itself where it has no tags, or these don't fit each other.
 * @param mark in front of each tag
 * @param document schema of all arguments
 * @param own the argument's; absent: nothing is said of it
 */
export function nestedValue(
  text: string,
  mark: string,
  document: JsonObject,
  own: unknown,
): unknown {
  const isTagged = text.trim() === "" || text.trimStart().startsWith(`${mark}<`);
  const tags = isTagged && !typesOf(own, document)?.has("string") ? tagsIn(text, mark) : undefined;
  return tags
    ? new Meaning(document).of({ name: "", text, inner: tags }, own)
    : writtenValue(text, document, own, false);
}

/** The tags of a text; `undefined` where there is something else, or they don't fit each other. */
function tagsIn(text: string, mark: string): Tag[] | undefined {
  const root: Tag = { name: "", text: "", inner: [] };
  const open = [root];
  const [before, ...parts] = text.split(`${mark}<`);
  if (before?.trim() !== "") return undefined;
  for (const part of parts) {
    const end = part.indexOf(">");
    const name = part.slice(0, end);
    const behind = part.slice(end + 1);
    const last = open.at(-1) as Tag;
    if (end < 0) return undefined;
    if (name.startsWith("/")) {
      if (name !== `/${last.name}` || behind.trim() !== "" || open.length < 2) return undefined;
      open.pop();
      continue;
    }
    if (last.text.trim() !== "" || open.length > deepest) return undefined;
    const tag: Tag = { name, text: behind, inner: [] };
    last.inner.push(tag);
    open.push(tag);
  }
  return open.length === 1 ? root.inner : undefined;
}

/** What tags mean by their schemas. */
class Meaning {
  readonly #document: JsonObject;

  constructor(document: JsonObject) {
    this.#document = document;
  }

  of({ text, inner }: Tag, schema: unknown): unknown {
    const types = typesOf(schema, this.#document);
    if (inner.length === 0 && text.trim() === "" && types && !types.has("string")) {
      if (types.has("array")) return [];
      if (types.has("object")) return {};
    }
    if (inner.length === 0) return writtenValue(text, this.#document, schema, false);
    const isList = types?.has("array") || inner.every(({ name }) => name === "item");
    const all = this.#alternatives(schema);
    if (isList && !(types && !types.has("array"))) {
      const items = all.map((one) => one.items).find(isObject);
      return inner.map((tag) => this.of(tag, items));
    }
    return Object.fromEntries(
      inner.map((tag) => [tag.name, this.of(tag, memberOf(all, tag.name))]),
    );
  }

  /** A schema, and what it says elsewhere. */
  #alternatives(schema: unknown, seen = new Set<unknown>()): JsonObject[] {
    if (!isObject(schema) || seen.has(schema)) return [];
    seen.add(schema);
    const { $ref, anyOf, oneOf, allOf } = schema;
    const others = [anyOf, oneOf, allOf].flatMap((some) => (Array.isArray(some) ? some : []));
    if (typeof $ref === "string") others.push(referredIn(this.#document, $ref));
    return [schema, ...others.flatMap((one) => this.#alternatives(one, seen))];
  }
}

/** The schema of a member. */
function memberOf(all: readonly JsonObject[], name: string): unknown {
  const holding = all.map(({ properties }) => properties).filter(isObject);
  const own = holding.find((properties) => Object.hasOwn(properties, name));
  return own ? own[name] : all.map((one) => one.additionalProperties).find(isObject);
}
