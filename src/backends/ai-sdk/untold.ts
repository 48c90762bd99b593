/** What servers of OpenAI's form send, and providers for them leave out or don't know. */
import { isObject, type JsonObject } from "../../core/json.js";
import { firstChoice } from "../completions/completion.js";
import { string } from "../http/json.js";

/** What a chunk or a whole answer says in `refusal`, which stands in place of content; some providers tell it as text. */
export const refusalOf = (raw: unknown): string => string(saidIn(raw).refusal);

/** What a chunk or a whole answer has in `reasoning_details`, as JSON; empty where that is nothing. */
export function detailsOf(raw: unknown): string {
  const { reasoning_details: details } = saidIn(raw);
  const told = Array.isArray(details) ? details.filter(isObject) : [];
  return told.length > 0 ? JSON.stringify(told) : "";
}

function saidIn(raw: unknown): JsonObject {
  const choice = isObject(raw) ? firstChoice(raw) : undefined;
  const said = choice?.delta ?? choice?.message;
  return isObject(said) ? said : {};
}
