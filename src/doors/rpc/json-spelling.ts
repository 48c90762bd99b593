/** Protobuf's JSON form in the spelling of the other doors: what they do not know they would pass over. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Violation } from "../../core/errors.js";
import { isObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";
import { partsFor } from "../json/decode.js";

/**
 * A field's value with names as they stand in the contract (`requests_per_minute` for `requestsPerMinute`), and
 * with numbers for texts that are some. All else stays, what is wrong with it, too.
 * @param path of the field
 * @param into gets fields that are there under both of their names
 */
export function asContract(
  field: DescField,
  value: unknown,
  path: string,
  into: Violation[],
): unknown {
  if (field.fieldKind === "list") {
    const { listKind } = field;
    if (!Array.isArray(value) || listKind === "enum") return value;
    if (tooManyItems(path, value.length)) return value;
    return value.map((item, i) =>
      listKind === "message"
        ? messageAs(field.message, item, `${path}[${i}]`, into)
        : numberAs(field.scalar, item),
    );
  }
  if (field.fieldKind === "map") {
    const { scalar } = field;
    if (!isObject(value) || scalar === undefined) return value;
    if (tooManyItems(path, Object.keys(value).length)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, it]) => [key, numberAs(scalar, it)]),
    );
  }
  if (field.fieldKind === "message") return messageAs(field.message, value, path, into);
  return field.fieldKind === "scalar" ? numberAs(field.scalar, value) : value;
}

function messageAs(desc: DescMessage, value: unknown, path: string, into: Violation[]): unknown {
  if (!isObject(value)) return value;
  const own = { ...value };
  for (const field of desc.fields) {
    const { name, jsonName } = field;
    const at = `${path}.${name}`;
    const [first, second] = name === jsonName ? [value[name]] : [value[name], value[jsonName]];
    if (first !== undefined && second !== undefined) {
      into.push({ field: at, message: "must be set once" });
    }
    const given = first ?? second ?? undefined;
    if (given === undefined) continue;
    const parts = Array.isArray(given) ? partsFor(desc, field) : undefined;
    own[name] = asContract(parts ?? field, given, at, into);
  }
  return own;
}

/** Most characters of a number: of many more it takes time to find out that they are none. */
const longest = 100;

function numberAs(type: ScalarType, value: unknown): unknown {
  const textual = type === ScalarType.STRING || type === ScalarType.BYTES;
  if (textual || typeof value !== "string" || value.length > longest) return value;
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value) ? Number(value) : value;
}
