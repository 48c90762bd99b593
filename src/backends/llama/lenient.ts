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

/** The library's interpreter, which takes more. */
export function lenientInterpreter(jinja: Jinja, { made }: Making) {
  const Library = jinja.Interpreter as unknown as new (environment: object) => Interpreter;
  return class extends Library {
    override evaluate(node: Node | undefined, environment: object): Value {
      if (node?.type === "BinaryExpression" && compare.has(node.operator?.value)) {
        return this.#compared(node, environment);
      }
      if (node?.type === "FilterExpression" && ofTexts.has(node.filter?.value)) {
        return this.#filtered(node, environment);
      }
      const { filter } = node ?? {};
      if (node?.type === "FilterExpression" && ofLists.has(filter?.callee?.value)) {
        const operand = this.evaluate(node.operand, environment);
        const list = operand.type === "NullValue" ? made([]) : operand;
        return super.evaluate({ ...node, operand: evaluated(list) } as Node, environment);
      }
      return super.evaluate(node, environment);
    }

    /** Numbers that are names of members are texts here: Seed-OSS looks for its budget among them. */
    #compared(node: Node, environment: object): Value {
      const [left, right] = [node.left, node.right].map((side) => this.evaluate(side, environment));
      const numbers = [left, right].map((side) => side?.value);
      const isMixed = numbers.some((one) => typeof one === "number");
      if (isMixed && numbers.some((one) => typeof one === "string")) {
        const [one = Number.NaN, other = Number.NaN] = numbers.map(Number);
        return made(compare.get(node.operator?.value)?.(one, other) ?? false);
      }
      const sides = { left: evaluated(left as Value), right: evaluated(right as Value) };
      return super.evaluate({ ...node, ...sides }, environment);
    }

    /** What is not defined is an empty text; `None` and what holds others have a text, too. */
    #filtered(node: Node, environment: object): Value {
      const given = this.evaluate(node.operand, environment);
      const operand = given.type === "UndefinedValue" ? made("") : given;
      let { filter } = node;
      if (filter?.value === "string") {
        if (operand.type === "NullValue") return made("None");
        const holds = Array.isArray(operand.value) || operand.value instanceof Map;
        if (holds) filter = { ...filter, value: "tojson" };
      }
      return super.evaluate({ ...node, filter, operand: evaluated(operand) } as Node, environment);
    }
  };
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
