/** Errors of MiniMax, which stand in `base_resp` beside an empty `choices`, as a rule with status 200. */
import { isObject, type JsonObject } from "../../core/json.js";
import { string } from "./json.js";

/** The HTTP statuses that its codes have elsewhere; of all others a server's failure. */
const statuses: ReadonlyMap<number, number> = new Map([
  [1001, 504],
  // Of requests, connections, growth and the plan.
  ...[1002, 1041, 2045, 2056].map((code) => [code, 429] as const),
  ...[1004, 2049].map((code) => [code, 401] as const),
  [1008, 402],
  // Sensitive content, too many tokens, invisible characters, wrong parameters.
  ...[1026, 1027, 1039, 1042, 2013].map((code) => [code, 400] as const),
]);

/** What was asked, or what was to be answered, is sensitive. */
const filters: ReadonlySet<number> = new Set([1026, 1027]);

/** What an answer tells of an error there, in the usual form; `undefined` where it tells of none. */
export function errorInBaseResp({ base_resp }: JsonObject): JsonObject | undefined {
  if (!isObject(base_resp)) return undefined;
  const { status_code: code, status_msg } = base_resp;
  if (typeof code !== "number" || code === 0) return undefined;
  const said = string(status_msg);
  return {
    message: said.includes(String(code)) ? said : `${said} (${code})`,
    status: statuses.get(code) ?? 500,
    ...(filters.has(code) && { type: "sensitive_content" }),
  };
}
