/** Names of tokens that are kept. */
import { LintelError, type Violation } from "../errors.js";
import { holdsToken } from "../tokens.js";

/** What a name must not do that has a meaning beside it. */
export const noBlanks = "must not begin or end with a blank";

/** Adds what is wrong with a new token's name, besides its length and its characters. */
export function checkTokenName(name: string, into: Violation[]): void {
  const add = (message: string) => into.push({ field: "name", message });
  if (name.startsWith("tok_")) add("must not begin with tok_");
  if (holdsToken(name)) add("must be a name, and no token");
  if (name !== name.trim()) add(noBlanks);
}

/** The error for a name or an id of no token. @param absent what to say of it */
export function noSuchToken(which: string, absent: string): LintelError {
  // Who confuses them is not told it back: errors are logged.
  const message = holdsToken(which)
    ? "token has to be a name or an id, and not the token itself"
    : absent;
  return new LintelError("token_not_found", message, { param: "token" });
}
