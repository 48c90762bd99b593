/** What chat templates do that Python's Jinja takes, and the library does not. */
import type { Interpreter, Jinja, Making, Node, Value } from "./bounded.js";

/** A value in the place of the expression that it is of. */
interface Evaluated extends Node {
  readonly type: "Evaluated";
  readonly value: Value;
}

const evaluated = (value: Value): Evaluated => ({ type: "Evaluated", value });

/** Whether it need not be evaluated, nor weighed, again. */
export const isEvaluated = (node: Node): node is Evaluated => node.type === "Evaluated";

/** Comparisons of numbers. */
const compare: ReadonlyMap<unknown, (one: number, other: number) => boolean> = new Map([
  ["<", (one, other) => one < other],
  ["<=", (one, other) => one <= other],
  [">", (one, other) => one > other],
  [">=", (one, other) => one >= other],
]);

/** Filters of texts, and the length of what may be one. */
const ofTexts: ReadonlySet<unknown> = new Set(["string", "trim", "length", "lower", "upper"]);

/** Filters of lists: Functionary's selects from tools also where there are none. */
const ofLists: ReadonlySet<unknown> = new Set(["selectattr", "rejectattr"]);

/** Filters that choose a number. */
const ofNumbers: ReadonlyMap<unknown, (...numbers: number[]) => number> = new Map([
  ["min", Math.min],
  ["max", Math.max],
]);

/** What objects can do; and what texts can, which the library's can't. */
const methods: ReadonlySet<unknown> = new Set(["items", "keys", "values", "get", "format"]);

/** Parts in brackets that are a member's name, or a place, as they stand. */
const plain: ReadonlySet<unknown> = new Set(["StringLiteral", "IntegerLiteral", "SliceExpression"]);

/** The library's interpreter, which takes more. */
export function lenientInterpreter(jinja: Jinja, { made }: Making) {
  const Library = jinja.Interpreter as unknown as new (environment: object) => Interpreter;
  return class extends Library {
    override evaluate(node: Node | undefined, environment: object): Value {
      switch (node?.type) {
        case "BinaryExpression":
          return this.#binary(node, environment);
        case "FilterExpression":
          return this.#filter(node, environment);
        case "CallExpression":
          return this.#call(node, environment);
        case "MemberExpression":
          return this.#member(node, environment);
        default:
          return super.evaluate(node, environment);
      }
    }

    #binary(node: Node, environment: object): Value {
      const operator = node.operator?.value;
      if (compare.has(operator)) return this.#compared(node, environment);
      if (operator === "in" || operator === "not in") return this.#sought(node, environment);
      return super.evaluate(node, environment);
    }

    /** Numbers that are names of members are texts here: Seed-OSS looks for its budget among them. */
    #compared(node: Node, environment: object): Value {
      const [left, right] = this.#sides(node, environment);
      const numbers = [left.value, right.value];
      const isMixed = numbers.some((one) => typeof one === "number");
      if (isMixed && numbers.some((one) => typeof one === "string")) {
        const [one = Number.NaN, other = Number.NaN] = numbers.map(Number);
        return made(compare.get(node.operator?.value)?.(one, other) ?? false);
      }
      return this.#with(node, left, right, environment);
    }

    /** A list may be looked for in one, and what is not there: schemas have several types, or none. */
    #sought(node: Node, environment: object): Value {
      const [left, right] = this.#sides(node, environment);
      const isOther = !["string", "number", "boolean"].includes(typeof left.value);
      if (!isOther || !Array.isArray(right.value)) {
        return this.#with(node, left, right, environment);
      }
      const isIn = (right.value as Value[]).some((item) => isSame(item, left));
      return made(isIn === (node.operator?.value === "in"));
    }

    #sides(node: Node, environment: object): [left: Value, right: Value] {
      return [this.evaluate(node.left, environment), this.evaluate(node.right, environment)];
    }

    #with(node: Node, left: Value, right: Value, environment: object): Value {
      const sides = { left: evaluated(left), right: evaluated(right) };
      return super.evaluate({ ...node, ...sides } as Node, environment);
    }

    /** An object has no members besides those that texts name. */
    #member(node: Node, environment: object): Value {
      if (!node.computed || plain.has(node.property?.type))
        return super.evaluate(node, environment);
      const object = this.evaluate(node.object, environment);
      const property = this.evaluate(node.property, environment);
      if (object.value instanceof Map && typeof property.value !== "string") return made(undefined);
      const parts = { object: evaluated(object), property: evaluated(property) };
      return super.evaluate({ ...node, ...parts } as Node, environment);
    }

    /** What objects can do goes before what they have: a tool's parameter may be called `items`. */
    #call(node: Node, environment: object): Value {
      const { callee, args = [] } = node;
      const isNamed = callee?.type === "MemberExpression" && !callee.computed;
      const name = isNamed ? callee.property?.value : undefined;
      if (!methods.has(name)) return super.evaluate(node, environment);
      const object = this.evaluate(callee?.object, environment);
      if (name === "format" && typeof object.value === "string") {
        return made(
          formatted(
            object.value,
            args.map((arg) => this.evaluate(arg, environment).value),
          ),
        );
      }
      const own = object.value instanceof Map ? object.builtins?.get(String(name)) : undefined;
      const found = own ? evaluated(own) : { ...callee, object: evaluated(object) };
      return super.evaluate({ ...node, callee: found } as Node, environment);
    }

    #filter(node: Node, environment: object): Value {
      const { filter } = node;
      if (ofTexts.has(filter?.value)) return this.#ofText(node, environment);
      const choose = ofNumbers.get(filter?.value);
      const isList = ofLists.has(filter?.callee?.value);
      if (!choose && !isList && filter?.value !== "items" && !isMapped(filter)) {
        return super.evaluate(node, environment);
      }
      const operand = this.evaluate(node.operand, environment);
      if (choose && Array.isArray(operand.value)) {
        return made(choose(...(operand.value as Value[]).map(({ value }) => Number(value))));
      }
      if (isMapped(filter) && Array.isArray(operand.value)) {
        const [by] = filter?.args ?? [];
        const each = { type: "FilterExpression", filter: { type: "Identifier", value: by?.value } };
        const items = (operand.value as Value[]).map((item) =>
          this.evaluate({ ...each, operand: evaluated(item) }, environment),
        );
        return Object.assign(made([]), { value: items });
      }
      const isNone = operand.type === "NullValue" || operand.type === "UndefinedValue";
      const given = isNone && (isList || filter?.value === "items") ? made([]) : operand;
      if (given !== operand && filter?.value === "items") return given;
      return super.evaluate({ ...node, operand: evaluated(given) } as Node, environment);
    }

    /** What is not defined is an empty text; all that is none has one, too. */
    #ofText(node: Node, environment: object): Value {
      const given = this.evaluate(node.operand, environment);
      const operand = given.type === "UndefinedValue" ? made("") : given;
      const { filter } = node;
      if (filter?.value === "length" || typeof operand.value === "string") {
        return super.evaluate({ ...node, operand: evaluated(operand) } as Node, environment);
      }
      const text = this.#textOf(operand, environment);
      return filter?.value === "string"
        ? text
        : super.evaluate({ ...node, operand: evaluated(text) } as Node, environment);
    }

    #textOf(value: Value, environment: object): Value {
      if (value.type === "NullValue") return made("None");
      const holds = Array.isArray(value.value) || value.value instanceof Map;
      const filter = { type: "Identifier", value: holds ? "tojson" : "string" };
      const node = { type: "FilterExpression", operand: evaluated(value), filter };
      return super.evaluate(node as Node, environment);
    }
  };
}

/** Whether it does something to each item: `map("upper")`. */
const isMapped = (filter: Node | undefined): boolean =>
  filter?.callee?.value === "map" && filter.args?.[0]?.type === "StringLiteral";

/** A text with values in the place of its brackets, in their order: Hy3's marks are made so. */
function formatted(text: string, values: readonly unknown[]): string {
  let next = 0;
  return text.replaceAll("{}", () => String(values[next++] ?? ""));
}

/** Whether two values are the same; objects are not looked into. */
function isSame(one: Value, other: Value): boolean {
  if (!Array.isArray(one.value) || !Array.isArray(other.value)) {
    return one.type === other.type && one.value === other.value;
  }
  const [items, others]: [Value[], Value[]] = [one.value, other.value];
  return (
    items.length === others.length && items.every((item, i) => isSame(item, others[i] as Value))
  );
}

/** What a loop goes through: nothing where there is none, and of tuples lists, which alone it takes apart. */
export function loopedOver(value: Value, { made }: Making): Value {
  if (value.type === "UndefinedValue") return made([]);
  if (!Array.isArray(value.value)) return value;
  for (const item of value.value as Value[]) {
    if (item.type === "TupleValue") item.type = "ArrayValue";
  }
  return value;
}

/** Makes texts of numbers that are names of members. */
export function nameByTexts(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  const { type, value } = node as { type?: unknown; value?: unknown };
  if (type === "ObjectLiteral" && value instanceof Map) {
    for (const key of value.keys()) {
      if (key.type === "IntegerLiteral") {
        Object.assign(key, { type: "StringLiteral", value: String(key.value) });
      }
    }
  }
  const parts = node instanceof Map ? [...node.keys(), ...node.values()] : Object.values(node);
  for (const part of parts) nameByTexts(part);
}
