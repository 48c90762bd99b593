/**
 * Checks of messages, compiled from the buf/validate options in the proto: the
 * one source of the rules for all doors. Compiled closures instead of the
 * protovalidate library, because the operator may move the bounds, and because
 * of what the library costs at start and in every call (`npm run
 * bench:validation`); a test holds the two to the same verdicts.
 */
import {
  type DescField,
  type DescMessage,
  getExtension,
  getOption,
  hasExtension,
} from "@bufbuild/protobuf";
import {
  type FieldRules,
  field as fieldRules,
  type StringRules,
} from "../../gen/buf/validate/validate_pb.js";
import { multiple_of } from "../../gen/lintel/v1/rules_pb.js";
import { defaultOf, isOfAskedSize } from "./defaults.js";
import type { Violation } from "./errors.js";
import { describeRange, type Range } from "./range.js";
import type { Bound, Bounds } from "./settings.js";
import { isHopeless } from "./violations.js";

/** Adds what is wrong with a message to `into`; of a list that is wrong in many places, the first. */
export type Check = (message: object, path: string, into: Violation[]) => void;

/** Most items of one list, where the contract says nothing of it. */
export const mostItems = 10_000;

type Values = Record<string, unknown>;

const known = new WeakMap<DescField, FieldRules>();

/** The rules of a field in the proto. Protobuf decodes an option anew each time it is asked for one: here once. */
export function rulesOf(field: DescField): FieldRules {
  const rules = known.get(field) ?? getOption(field, fieldRules);
  known.set(field, rules);
  return rules;
}

/**
 * Compiles the checks of a message type, those of nested messages included.
 * @param bounds the operator's, by field name; they replace the proto's
 * @throws Error if the proto uses a rule that is not known here
 */
export function compileRules(desc: DescMessage, bounds: Bounds): Check {
  const checks = desc.fields
    .map((field) => compileField(field, bounds))
    .filter((c) => c !== undefined);
  return (message, path, into) => {
    for (const check of checks) check(message, path, into);
  };
}

function compileField(field: DescField, bounds: Bounds): Check | undefined {
  const rules = rulesOf(field);
  const bound = bounds[field.name];
  if (field.fieldKind === "list") return compileList(field, rules, bound, bounds);
  if (field.fieldKind === "map") return compileMap(field, rules, bound);
  if (field.fieldKind === "message") return compileNested(field, rules, bounds);
  const check = compileValue(rules, bound, field);
  const required = rules.required;
  // A default counts as not set, and one outside of the operator's bound is moved into it.
  const unset = bound && defaultOf(field);
  if (!check && !required) return undefined;
  return (message, path, into) => {
    const value = (message as Values)[field.localName];
    if (value === undefined) {
      if (required) into.push({ field: path + field.name, message: "is required" });
      return;
    }
    const wrong = check?.(value);
    if (wrong && (value !== unset || isOfAskedSize(field, message)))
      into.push({ field: path + field.name, message: wrong });
  };
}

function compileNested(
  field: DescField & { fieldKind: "message" },
  { required }: FieldRules,
  bounds: Bounds,
): Check {
  const nested = compileRules(field.message, bounds);
  return (message, path, into) => {
    const value = (message as Values)[field.localName];
    const name = path + field.name;
    if (value !== undefined) nested(value as object, `${name}.`, into);
    else if (required) into.push({ field: name, message: "is required" });
  };
}

function compileList(
  field: DescField & { fieldKind: "list" },
  rules: FieldRules,
  bound: Bound | undefined,
  bounds: Bounds,
): Check | undefined {
  const list = rules.type.case === "repeated" ? rules.type.value : undefined;
  const min = bound?.min ?? Number(list?.minItems ?? 0n);
  const max = bound?.max ?? (list?.maxItems ? Number(list.maxItems) : Number.POSITIVE_INFINITY);
  const item = list?.items && compileValue(list.items, undefined, field);
  const nested = field.listKind === "message" ? compileRules(field.message, bounds) : undefined;
  if (min === 0 && max === Number.POSITIVE_INFINITY && !item && !nested) return undefined;
  const allowed = describeRange({ min, max: max === Number.POSITIVE_INFINITY ? undefined : max });
  return (message, path, into) => {
    const values = (message as Values)[field.localName] as readonly unknown[];
    const name = path + field.name;
    if (values.length < min || values.length > max) {
      into.push({ field: name, message: `number of items must be ${allowed}` });
    }
    const before = into.length;
    for (let i = 0; i < values.length && !isHopeless(into, before, name, i); i++) {
      const wrong = item?.(values[i]);
      if (wrong) into.push({ field: `${name}[${i}]`, message: wrong });
      nested?.(values[i] as object, `${name}[${i}].`, into);
    }
  };
}

function compileMap(
  field: DescField & { fieldKind: "map" },
  { type }: FieldRules,
  bound: Bound | undefined,
): Check {
  const map = type.case === "map" ? type.value : undefined;
  const max = bound?.max ?? Number(map?.maxPairs || mostItems);
  const isWrongKey = map?.keys && compileValue(map.keys, undefined, field);
  const isWrong = map?.values && compileValue(map.values, undefined, field);
  return (message, path, into) => {
    const values = (message as Values)[field.localName] as Values;
    const name = path + field.name;
    let count = 0;
    for (const _ in values) count++;
    if (count > max) into.push({ field: name, message: `number of items must be at most ${max}` });
    const before = into.length;
    let i = 0;
    for (const key in values) {
      if (isHopeless(into, before, name, i++)) break;
      const wrongKey = isWrongKey?.(key);
      const wrong = wrongKey === undefined ? isWrong?.(values[key]) : `its key ${wrongKey}`;
      if (wrong) into.push({ field: `${name}["${key}"]`, message: wrong });
    }
  };
}

/** What the values of a field must be multiples of; `undefined`: of nothing. */
export const multipleOf = (field: DescField): number | undefined => multipleIn(rulesOf(field));

/** Says what is wrong with a value; `undefined` if nothing is. */
type ValueCheck = (value: unknown) => string | undefined;

function compileValue(
  rules: FieldRules,
  bound: Bound | undefined,
  field: DescField,
): ValueCheck | undefined {
  const range = rangeIn(rules);
  if (range) return compileRange(moved(range, bound));
  switch (rules.type.case) {
    case undefined:
      return bound && compileRange({ ...bound, multipleOf: undefined });
    case "string": {
      const allowed = rules.type.value.in;
      // Of the items of a list they stand among those of the list.
      const named = allowed.filter(isNamed);
      const choice = `must be ${named.length > 1 ? "one of " : ""}${named.join(", ")}`;
      const minLength = Number(rules.type.value.minLen ?? 0n);
      const isOther = compileText(rules.type.value, field);
      return (value) => {
        if (allowed.length > 0 && !allowed.includes(value as string)) {
          return choice;
        }
        if ((value as string).length < minLength) return "must not be empty";
        return isOther?.(value);
      };
    }
    default:
      throw new Error(`${field}: rules of kind ${rules.type.case} are not known to compileRules`);
  }
}

/** Patterns of the proto, and what they allow in words. */
const patterns = new Map([["^\\P{Cc}*$", "without control characters"]]);

/** Compiles what the rules say of a text's length in characters, and of these. */
function compileText({ maxLen, pattern }: StringRules, field: DescField): ValueCheck | undefined {
  if (!maxLen && !pattern) return undefined;
  const most = maxLen ? Number(maxLen) : Number.POSITIVE_INFINITY;
  const words = patterns.get(pattern);
  if (pattern && !words) throw new Error(`${field}: the pattern ${pattern} is not known`);
  const allowed = [...(maxLen ? [`of at most ${most} characters`] : []), ...(words ? [words] : [])];
  const message = `must be ${allowed.join(", ")}`;
  const fits = pattern ? new RegExp(pattern, "u") : undefined;
  return (value) => {
    const text = value as string;
    // A character has one or two code units: few texts are counted.
    const long = text.length > most && (text.length > 2 * most || [...text].length > most);
    return long || fits?.test(text) === false ? message : undefined;
  };
}

function multipleIn({ type }: FieldRules): number | undefined {
  if (type.case !== "int32" || !hasExtension(type.value, multiple_of)) return undefined;
  return getExtension(type.value, multiple_of);
}

/** The texts that a field, or each of its list, may have, but for the empty one. */
export function choicesOf(field: DescField): string[] {
  const { type: own } = rulesOf(field);
  const type = own.case === "repeated" ? (own.value.items?.type ?? own) : own;
  return type.case === "string" ? type.value.in.filter(isNamed) : [];
}

const isNamed = (choice: string) => choice !== "";

/** A range whose ends are moved, each to where the operator has it, and allowed itself there. */
export const moved = (range: Range, { min, max }: Bound = {}): Range => ({
  ...range,
  ...(min !== undefined && { min, above: false }),
  ...(max !== undefined && { max, below: false }),
});

/** The contract's range of a field's numbers; `undefined`: any. */
export const rangeOf = (field: DescField): Range | undefined => rangeIn(rulesOf(field));

/** The range of numbers that rules, also of a map's values, allow; `undefined`: any. */
export function rangeIn(rules: FieldRules): Range | undefined {
  const { type } = rules;
  if (type.case !== "double" && type.case !== "int32" && type.case !== "int64") return undefined;
  const { greaterThan, lessThan } = type.value;
  return {
    min: number(greaterThan.value),
    above: greaterThan.case === "gt",
    max: number(lessThan.value),
    below: lessThan.case === "lt",
    multipleOf: multipleIn(rules),
  };
}

const number = (value: number | bigint | undefined) =>
  value === undefined ? undefined : Number(value);

/** Compiles the check of a number. */
export function compileRange(range: Range): ValueCheck {
  const { min, above, max, below, multipleOf } = range;
  const message = `must be ${describeRange(range)}`;
  return (value) => {
    const v = Number(value);
    // Written so that NaN is refused by every bound.
    if (!Number.isFinite(v)) return message;
    if (min !== undefined && !(above ? v > min : v >= min)) return message;
    if (max !== undefined && !(below ? v < max : v <= max)) return message;
    if (multipleOf !== undefined && v % multipleOf !== 0) return message;
    return undefined;
  };
}
