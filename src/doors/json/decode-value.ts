/** Single values of JSON, as messages of the generated shape have them. */
import { type DescField, type DescMessage, fromJson, ScalarType } from "@bufbuild/protobuf";
import type { Violation } from "../../core/errors.js";
import { isObject, maxNesting } from "../../core/json.js";
import { embeddedJson } from "../../core/long-numbers.js";
import { describeRange } from "../../core/range.js";
import { rangeOf } from "../../core/rules.js";
import { isHopeless, shortened } from "../../core/violations.js";
import { wellFormed } from "../../core/well-formed.js";
import { tooManyItems } from "../items.js";

/** The value for the message, or `undefined` after adding what is wrong. */
export type Read = (value: unknown, path: string, into: Violation[]) => unknown;

/** Reads a message that JSON has a text for, as protobuf's JSON form has it. */
export function readText(desc: DescMessage, message: string): Read {
  return (value, path, into) => {
    try {
      if (typeof value === "string") return fromJson(desc, value);
    } catch {
      // It is told as what is no text at all.
    }
    into.push({ field: path, message });
    return undefined;
  };
}

/** Reads a scalar of a field. @throws Error for a type that no field of the contract has */
export function readerOf(type: ScalarType, field: DescField): Read {
  switch (type) {
    case ScalarType.STRING:
      return typed((v) => (typeof v === "string" ? wellFormed(v) : undefined), "must be a string");
    case ScalarType.BOOL:
      return typed((v) => (typeof v === "boolean" ? v : undefined), "must be true or false");
    case ScalarType.DOUBLE:
      // JSON.parse makes Infinity of 1e400.
      return typed(
        (v) => (typeof v === "number" && Number.isFinite(v) ? v : undefined),
        "must be a finite number",
      );
    case ScalarType.INT32:
      return integer(field, -(2 ** 31), 2 ** 31 - 1, (v) => v + 0);
    case ScalarType.UINT32:
      return integer(field, 0, 2 ** 32 - 1, (v) => v + 0);
    case ScalarType.INT64:
      // Further integers are not exact in JSON.
      return integer(field, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, BigInt);
    default:
      throw new Error(`${field}: the JSON doors can't decode scalars of type ${type}`);
  }
}

/** @param convert the value as the message has it, or `undefined` if it is not of the type */
function typed(convert: (value: unknown) => unknown, message: string): Read {
  return (value, path, into) => {
    const converted = convert(value);
    if (converted === undefined) into.push({ field: path, message });
    return converted;
  };
}

/** What is beyond the type is told as what is beyond the contract's range, where that has an end. */
function integer(
  field: DescField,
  min: number,
  max: number,
  convert: (value: number) => number | bigint,
): Read {
  const { min: lowest = min, max: greatest = max, ...range } = rangeOf(field) ?? {};
  const allowed = describeRange({ ...range, min: lowest, max: greatest });
  return (value, path, into) => {
    if (!Number.isInteger(value)) {
      into.push({ field: path, message: "must be an integer" });
    } else if ((value as number) < min || (value as number) > max) {
      into.push({ field: path, message: `must be ${allowed}` });
    } else {
      return convert(value as number);
    }
    return undefined;
  };
}

/** The greatest key of a map. */
const lastKey = 2 ** 31 - 1;

/** Reads a map whose keys are integers, which JSON has as texts. @throws Error for another one */
export function mapReader(field: DescField & { fieldKind: "map" }): Read {
  if (field.mapKey !== ScalarType.INT32 || field.mapKind !== "scalar") {
    throw new Error(`${field}: the JSON doors can't decode maps of this kind`);
  }
  const read = readerOf(field.scalar, field);
  return (value, path, into) => {
    if (!isObject(value)) {
      into.push({ field: path, message: "must be an object" });
      return undefined;
    }
    const keys = Object.keys(value);
    const tooMany = tooManyItems(path, keys.length);
    if (tooMany) {
      into.push(tooMany);
      return undefined;
    }
    const entries: Record<string, unknown> = {};
    const before = into.length;
    for (let i = 0; i < keys.length && !isHopeless(into, before, path, i); i++) {
      const key = keys[i] as string;
      const at = `${path}[${JSON.stringify(shortened(key, longestKey))}]`;
      const number = Number(key);
      // By another spelling the same key may be there twice.
      if (String(number) !== key || !Number.isInteger(number) || Math.abs(number) > lastKey) {
        into.push({ field: at, message: `its key must be an integer from 0 to ${lastKey}` });
        continue;
      }
      const decoded = read(value[key], at, into);
      if (decoded !== undefined) entries[key] = decoded;
    }
    return entries;
  };
}

/** Most bytes of a key that are told of one that is wrong. */
const longestKey = 64;

/** What is nested too deeply becomes another text that is, which the core refuses. */
export const readEmbedded: Read = (value) =>
  typeof value === "string" ? wellFormed(value) : (embeddedJson(value) ?? beyond);

const beyond = `${'{"":'.repeat(maxNesting)}{}${"}".repeat(maxNesting)}`;
