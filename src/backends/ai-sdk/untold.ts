/** What servers of OpenAI's form send, and providers for them leave out or don't know. */
import { isObject } from "../../core/json.js";
import { firstChoice } from "../completions/completion.js";
import { string } from "../http/json.js";

/** What a chunk or a whole answer says in `refusal`, which stands in place of content; some providers tell it as text. */
export function refusalOf(raw: unknown): string {
  const choice = isObject(raw) ? firstChoice(raw) : undefined;
  const said = choice?.delta ?? choice?.message;
  return isObject(said) ? string(said.refusal) : "";
}
