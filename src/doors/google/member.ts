/** Members of objects of Google's APIs, which may be spelled in either of two ways. */
import { isObject, type JsonObject } from "../../core/json.js";
import type { Known } from "../json/known.js";
import { fields } from "../json/known.js";

const snake = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A member, by its name in JSON (`topK`) or in protobuf (`top_k`), as Google reads both; `null` is as none. */
export function member(of: JsonObject, name: string): unknown {
  return of[name] ?? of[snake(name)] ?? undefined;
}

/**
 * A member that is an object; an empty one where there is none.
 * @param wrong hears of one that is something else
 */
export function objectIn(of: JsonObject, name: string, wrong: () => void): JsonObject {
  const value = member(of, name);
  if (isObject(value)) return value;
  if (value !== undefined) wrong();
  return {};
}

/** What is read of an object, by the names in JSON, under both. */
export const either = (table: Readonly<Record<string, Known>>): Known =>
  fields(
    Object.fromEntries(
      Object.entries(table).flatMap(([name, below]) => [
        [name, below],
        [snake(name), below],
      ]),
    ),
  );
