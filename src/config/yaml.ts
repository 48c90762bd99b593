/** Reads a YAML file: its value, where each value stands, and the environment inside it. */
import {
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from "yaml";
import type { Finding, Path, Position } from "./problems.js";
import { type Referred, substitute } from "./references.js";
import { syntaxMistakes } from "./syntax.js";

/** A file that was read. */
export interface YamlFile {
  /** What stands in it; an empty file is an empty mapping. */
  readonly value: unknown;
  /** Mistakes of syntax; with any of these, `value` means nothing. */
  readonly syntax: readonly { readonly position: Position; readonly message: string }[];
  /** Mistakes in `${NAME}` and `${file:PATH}`, and variables that are written another way. */
  readonly references: readonly Finding[];
  /** Paths of values that came out of the environment, or of a file, as `pathKey` writes them. */
  readonly fromEnvironment: ReadonlySet<string>;
  /** Where a field stands; of a field that is not there, where its parent stands. */
  position(path: Path, atKey?: boolean): Position;
}

/** A path as a key of a set. */
export const pathKey = (path: Path): string => JSON.stringify(path);

/** Parses a file and puts in what its texts refer to: environment variables, and files. */
export function readYaml(text: string, referred: Referred): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const named = (node: unknown) => (isAlias(node) ? node.resolve(document) : node);
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const syntax = syntaxMistakes(document, text).map(({ offset, message }) => ({
    position: at(offset),
    message,
  }));
  for (const { code, pos } of document.warnings) {
    const tag = text.slice(...pos);
    // YAML's own, such as !!str, ask for a type, which is looked at later.
    if (code !== "TAG_RESOLVE_FAILED" || tag.startsWith("!!")) continue;
    const message = `the tag ${tag} means nothing here; an environment variable is \${NAME}`;
    syntax.push({ position: at(pos[0]), message });
  }
  const references: Finding[] = [];
  const fromEnvironment = new Set<string>();

  const substituted = new Map<unknown, readonly string[]>();

  const cameFromEnvironment = (path: Path, wrong: readonly string[] = []) => {
    for (const message of wrong) references.push({ path, message });
    fromEnvironment.add(pathKey(path));
  };
  const visit = (node: unknown, path: Path, around: readonly unknown[] = []): void => {
    const meant = named(node);
    if (around.includes(meant)) throw new ReadingError(offsetOf(node), hasItself);
    if (isMap(node)) {
      for (const [name, { key, value }] of pairsOf(node, named)) {
        if (isCollection(named(key))) throw new ReadingError(offsetOf(key), "a key must be text");
        visit(value, [...path, name], [...around, node]);
      }
    } else if (isSeq(node)) {
      for (const [i, item] of node.items.entries()) visit(item, [...path, i], [...around, node]);
    } else if (substituted.has(node)) {
      // It stands in a mapping that others merge.
      cameFromEnvironment(path, substituted.get(node));
    } else if (isScalar(node) && typeof node.value === "string" && node.value.includes("${")) {
      const { value, wrong } = substitute(node.value, referred);
      node.value = value;
      substituted.set(node, wrong);
      cameFromEnvironment(path, wrong);
    } else if (isScalar(node) && typeof node.value === "string") {
      const name = otherReference(node.value);
      if (name) references.push({ path, message: `an environment variable is \${${name}} here` });
    } else if (isAlias(node)) {
      if (meant === undefined) throw new ReadingError(offsetOf(node), namesNone);
      // What a mapping's alias stands for is that mapping itself, whose values were visited.
      if (substituted.has(meant)) cameFromEnvironment(path, substituted.get(meant));
    }
  };

  let value: unknown = {};
  if (syntax.length === 0) {
    try {
      visit(document.contents, []);
      value = document.toJS({ maxAliasCount: 100 }) ?? {};
    } catch (error) {
      const offset = error instanceof ReadingError ? error.offset : 0;
      syntax.push({ position: at(offset), message: (error as Error).message });
    }
  }

  return {
    value,
    syntax,
    references,
    fromEnvironment,
    position(path, atKey = false) {
      let node: unknown = document.contents;
      let offset = (document.contents as Node | null)?.range?.[0] ?? 0;
      for (const [depth, step] of path.entries()) {
        const last = depth === path.length - 1;
        if (isMap(node)) {
          const pair = pairsOf(node, named).get(String(step)) as
            | Pair<Node, Node | null>
            | undefined;
          if (!pair) break;
          node = pair.value;
          const empty = isScalar(pair.value) && pair.value.value === null;
          const useKey = !last || atKey || !pair.value || empty;
          offset = (useKey ? pair.key : pair.value)?.range?.[0] ?? offset;
        } else if (isSeq(node) && node.items[Number(step)] !== undefined) {
          node = node.items[Number(step)];
          offset = (node as Node).range?.[0] ?? offset;
        } else break;
      }
      return at(offset);
    },
  };
}

/**
 * What a mapping has: its own, and what it merges (`<<: *other`, `<<: [*one, *other]`), of which
 * its own goes first, and then the one before.
 * @param named what an alias stands for
 * @param within the mappings that merge this one
 * @throws ReadingError
 */
function pairsOf(
  map: YAMLMap,
  named: (node: unknown) => unknown,
  within: readonly YAMLMap[] = [],
): Map<string, Pair> {
  const isMerge = ({ key }: Pair) => isScalar(key) && typeof key.value === "symbol";
  const own = map.items.filter((pair) => !isMerge(pair));
  const pairs = new Map(own.map((pair) => [keyOf(pair.key), pair]));
  for (const { key, value } of map.items.filter(isMerge)) {
    const from = named(value);
    for (const other of isSeq(from) ? from.items.map(named) : [from]) {
      if (!isMap(other) || other === map || within.includes(other)) {
        throw new ReadingError(offsetOf(key), mergesNone);
      }
      for (const [name, pair] of pairsOf(other, named, [...within, map])) {
        if (!pairs.has(name)) pairs.set(name, pair);
      }
    }
  }
  return pairs;
}

/** A value that can't be made of what stands there. */
class ReadingError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/**
 * The variable that a text names as LiteLLM's files do (`os.environ/NAME`), or those of docker-compose
 * (`$NAME`): as it stands it would go to a server, as its key or its address.
 */
const otherReference = (text: string): string | undefined =>
  /^os\.environ\/(\w+)$/.exec(text)?.[1] ?? /(?:^|\s|\/\/|@)\$([A-Z][A-Z0-9_]*)\b/.exec(text)?.[1];

const namesNone =
  "no value above has this name (&name); a text that begins with * must be in quotes";

/** What is merged is no mapping, or has the mapping in it that merges it. */
const mergesNone = "<< must be another mapping that has a name above, or a list of such: <<: *name";

const hasItself = "an alias or << names what stands around it, which would be inside itself";

const offsetOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;

const keyOf = (key: unknown): string => String(isScalar(key) ? key.value : key);
