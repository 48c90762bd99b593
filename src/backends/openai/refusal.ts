/** Finds out which optional field a server refused, so that it can be asked again without. */

import { messageOf } from "../http/failure.js";
import { isObject, parseJson, string } from "../http/json.js";
import type { Optional } from "./request.js";

const optional = ["stream_options", "temperature", "top_p", "top_k", "max_tokens"] as const;

const refuses =
  /unsupported|not supported|does not support|unrecognized|unknown|unexpected|extra|not permitted|not allowed/i;

/**
 * The optional field that an error names as not known or not supported;
 * `undefined` if the error is about something else, for example its value.
 */
export function refusedField(status: number, body: string): Optional | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const text = `${messageOf(body)} ${codesOf(body)}`;
  const named = (field: string) =>
    new RegExp(
      `(?<![\\w.])${field === "max_tokens" ? "max_(?:completion_)?tokens" : field}(?!\\w)`,
    );
  return optional.find(
    (field) => named(field).test(text) && (field === "stream_options" || refuses.test(text)),
  );
}

/** What an error says besides its message: `param`, `code`, and FastAPI's `loc` and `type`. */
function codesOf(body: string): string {
  const value = parseJson(body);
  if (!isObject(value)) return "";
  const error = isObject(value.error) ? value.error : value;
  const details = Array.isArray(error.detail) ? error.detail.filter(isObject) : [];
  return [
    string(error.param),
    string(error.code),
    ...details.flatMap(({ loc, type }) => [
      Array.isArray(loc) ? loc.filter((part) => part !== "body").join(" ") : "",
      string(type),
    ]),
  ].join(" ");
}
