/** Chat templates that can do only so much: they come with models, and are programs of whoever made these. */
import { isEvaluated, lenientInterpreter, loopedOver, nameByTexts } from "./lenient.js";
import { linesOf, parsedTemplate, TemplateSyntax } from "./template-lines.js";

/** The library as it is imported. */
export type Jinja = typeof import("@huggingface/jinja");

/** What is rendered. */
export interface Rendering {
  render(items: Readonly<Record<string, unknown>>): string;
  /** The line, from 1, of the statement that a rendering came to its end in; `undefined`: that is not known. */
  lineOf(thrown: unknown): number | undefined;
}

/** A template does more than what it is given is worth. */
export class TooMuch extends Error {}

/** The library's interpreter: its own types lead to files that TypeScript does not find. */
export interface Interpreter {
  run(program: unknown): Value;
  evaluate(node: Node | undefined, environment: object): Value;
}

/** What an expression is worth. */
export interface Value {
  readonly value?: unknown;
  /** The name of its class. */
  type?: string;
  /** What may be called of it, by name. */
  readonly builtins?: Map<string, Value>;
}

/** How values of templates are made: the library does not export their classes. */
export interface Making {
  made(value: unknown): Value;
  called(call: (args: readonly Value[]) => Value): Value;
  readonly none: Value;
}

/** Part of a template. */
export interface Node {
  readonly type: string;
  readonly left?: Node;
  readonly right?: Node;
  readonly operator?: { readonly value?: unknown };
  readonly object?: Node;
  readonly property?: Node;
  readonly operand?: Node;
  /** Of a member: whether a value names it, and not a word. */
  readonly computed?: boolean;
  /** What is called. */
  readonly callee?: Node;
  readonly args?: readonly Node[];
  /** Of a word, or a literal. */
  readonly value?: unknown;
  /** With `callee` where it is given something. */
  readonly filter?: Node;
  /** With `lhs` where a condition selects from it. */
  readonly iterable?: Node & { readonly lhs?: Node };
}

/**
 * Steps and letters of any rendering; and besides, for each letter and each object of what it
 * is given. The largest templates take some hundred for a message.
 */
const base = 200_000;
const forEachLetter = 100;
const forEachObject = 2000;

/** Steps that a round of a loop takes, besides its body's. */
const forEachRound = 20;

/** Letters of a template, and its blanks in a row: the library's parser looks at these once for each of them. */
const longestTemplate = 1024 * 1024;
const manyBlanks = 256;

/** Numbers of one `range`. */
const longestRange = 100_000;

/** Filters that look at one item, or at none. */
const looks: ReadonlySet<string> = new Set(["length", "count", "first", "last"]);

/**
 * A template that throws where it does more than what it is given is worth: by loops, by macros
 * that call each other, or by values that double. Everything that the interpreter handles is
 * counted by its size, so that no step takes long either.
 * @param source of the template
 * @throws Error if it can't be parsed
 */
export function boundedTemplate(jinja: Jinja, source: string): Rendering {
  if (source.length > longestTemplate)
    throw new Error(`it has more than ${longestTemplate} letters`);
  // Not by `\s{256}`, which looks at rows of 255 as often.
  for (const [blanks] of source.matchAll(/\s+/g)) {
    if (blanks.length >= manyBlanks) throw new Error(`it has ${manyBlanks} blanks in a row`);
  }
  const parsed = parsedTemplate(jinja, source);
  nameByTexts(parsed);
  /** Where what was thrown came from, the innermost node first. */
  const nodes = new WeakMap<object, Node[]>();
  const Bounded = boundedInterpreter(jinja, nodes);
  return {
    lineOf(thrown) {
      if (thrown instanceof TemplateSyntax) return thrown.line;
      const path = (typeof thrown === "object" && thrown && nodes.get(thrown)) || [];
      const lines = path.length > 0 ? linesOf(jinja, source, parsed) : new Map<object, number>();
      return path.map((node) => lines.get(node)).find((line) => line !== undefined);
    },
    render(items) {
      const environment = new jinja.Environment();
      const all = { ...globals(jinja), ...items };
      for (const [name, value] of Object.entries(all)) environment.set(name, value);
      return String(new Bounded(environment, base + worthOf(items)).run(parsed).value);
    },
  };
}

/** Those of the library, which sets them only for its own interpreter. */
function globals({ Template }: Jinja): Record<string, unknown> {
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null };
  return {
    ...constants,
    range,
    raise_exception: (message: string) => {
      throw new Error(message);
    },
    strftime_now: (format: string) => new Template("{{ strftime_now(f) }}").render({ f: format }),
  };
}

function range(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  const length = Math.max(0, Math.ceil((to - from) / step));
  if (!(length <= longestRange)) throw new Error(`range() has more than ${longestRange} numbers`);
  return Array.from({ length }, (_, i) => from + i * step);
}

/** What may be done for it. */
function worthOf(given: unknown): number {
  if (typeof given === "string") return forEachLetter * given.length;
  if (typeof given !== "object" || given === null) return 0;
  return Object.values(given).reduce((sum: number, item) => sum + worthOf(item), forEachObject);
}

function makingOf({ Environment }: Jinja): Making {
  const made = (value: unknown) => new Environment().set("value", value) as unknown as Value;
  const Called = made(() => null).constructor as new (call: unknown) => Value;
  return { made, called: (call) => new Called(call), none: made(null) };
}

/** Gives a list what Python's has, and the library's has not: Kimi's templates note ids of calls by it. */
function addMethods(list: Value, { called, none }: Making): void {
  const items = list.value as Value[];
  const { builtins } = list;
  if (!builtins || builtins.has("append")) return;
  builtins.set(
    "append",
    called(([item = none]) => {
      items.push(item);
      return none;
    }),
  );
  builtins.set(
    "pop",
    called(([at]) => items.splice(Number(at?.value ?? -1), 1)[0] ?? none),
  );
}

function boundedInterpreter(jinja: Jinja, nodes: WeakMap<object, Node[]>) {
  const making = makingOf(jinja);
  return class extends lenientInterpreter(jinja, making) {
    /** References of which no more than one part is looked at. */
    readonly #glances = new WeakSet<object>();
    /** What loops go through. */
    readonly #loops = new WeakSet<object>();
    #left: number;

    constructor(environment: object, worth: number) {
      super(environment);
      this.#left = worth;
    }

    override evaluate(node: Node | undefined, environment: object): Value {
      if (node && isEvaluated(node)) return node.value;
      this.#take(1);
      const glanced = node && glancedAt(node);
      if (glanced) this.#glances.add(glanced);
      if (node?.type === "For" && node.iterable)
        this.#loops.add(node.iterable.lhs ?? node.iterable);
      const found = this.#evaluated(node, environment);
      const value = node && this.#loops.has(node) ? loopedOver(found, making) : found;
      if (Array.isArray(value.value)) addMethods(value, making);
      if (!node || !this.#glances.has(node)) this.#weigh(value);
      if (node && this.#loops.has(node)) this.#take(forEachRound * sizeOf(value));
      return value;
    }

    /** Notes where what is thrown came from. */
    #evaluated(node: Node | undefined, environment: object): Value {
      try {
        return super.evaluate(node, environment);
      } catch (thrown) {
        if (node && typeof thrown === "object" && thrown) {
          const path = nodes.get(thrown);
          if (path) path.push(node);
          else nodes.set(thrown, [node]);
        }
        throw thrown;
      }
    }

    #take(amount: number): void {
      this.#left -= amount;
      if (this.#left < 0) throw new TooMuch("it does too much for what it is given");
    }

    #weigh({ value }: Value): void {
      if (typeof value === "string") this.#take(value.length);
      const parts = Array.isArray(value) || value instanceof Map;
      for (const item of parts ? (value.values() as Iterable<Value>) : []) {
        this.#take(1);
        this.#weigh(item);
      }
    }
  };
}

const sizeOf = ({ value }: Value): number =>
  value instanceof Map ? value.size : Array.isArray(value) ? value.length : 0;

/** The name, or the path, of which a step looks at a part: that makes nothing, and is at once. */
function glancedAt({ type, object, property, operand, filter }: Node): Node | undefined {
  const glanced =
    (type === "MemberExpression" && property?.type !== "SliceExpression" && object) ||
    (type === "TestExpression" && operand) ||
    (type === "FilterExpression" && looks.has(String(filter?.value)) && operand);
  if (!glanced || !["Identifier", "MemberExpression"].includes(glanced.type)) return undefined;
  return glanced;
}
