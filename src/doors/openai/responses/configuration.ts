/** Items that change how answers are made from there on: what they say goes before the request's own. */
import type { Violation } from "../../../core/errors.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { tooManyItems } from "../../items.js";

/** The type of such items. */
export const configurationUpdate = "configuration_update";

/** A request with what its items say. */
export interface Configured {
  readonly json: JsonObject;
  /** Where `reasoning.effort` and `text.format` stand at the client, where items have them. */
  readonly effortAt?: string;
  readonly formatAt?: string;
}

/**
 * Puts what such items say of `reasoning.effort` and `text.format`, the last of each, into the request.
 * @param into gets what is wrong of them, by the client's names
 */
export function configured(json: JsonObject, into: Violation[]): Configured {
  const { input } = json;
  if (!Array.isArray(input) || tooManyItems("input", input.length)) return { json };
  let said: Configured = { json };
  for (const [i, item] of (input as unknown[]).entries()) {
    if (!isObject(item) || item.type !== configurationUpdate) continue;
    for (const [name, member] of settings) {
      const at = `input[${i}].${name}`;
      const update = item[name] ?? {};
      if (!isObject(update)) into.push({ field: at, message: "must be an object" });
      else if ((update[member] ?? undefined) !== undefined) {
        const before = said.json[name];
        const now = { ...(isObject(before) && before), [member]: update[member] };
        said = { ...said, json: { ...said.json, [name]: now }, [`${member}At`]: `${at}.${member}` };
      }
    }
  }
  return said;
}

const settings = [
  ["reasoning", "effort"],
  ["text", "format"],
] as const;
