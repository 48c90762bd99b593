/** What an id token says of who signed in, beside its signature. */
import { decodeJwt, type JWTPayload } from "jose";
import { invalidFields, LintelError } from "../core/errors.js";

/** Whether it answers what was begun. @throws LintelError `invalid_value` if it does not */
export function checkNonce({ nonce }: JWTPayload, begun: string): void {
  if (nonce !== begun) throw notOf("what was begun here", "nonce");
}

/**
 * The claims of an id token that whoever signed in holds, and that was checked when it came. Its signature is not
 * looked at: its key may be gone by now.
 * @throws LintelError `invalid_fields` if it is none
 */
export function claimsOf(idToken: string): JWTPayload {
  try {
    return decodeJwt(idToken);
  } catch {
    throw invalidFields([{ field: "id_token", message: "must be a JWT" }]);
  }
}

/**
 * Whether a renewed one is of who signed in (OpenID Connect Core 1.0, 12.2).
 * @throws LintelError `invalid_value` if it is not
 */
export function checkRenewed(renewed: JWTPayload, before: JWTPayload): void {
  for (const claim of ["iss", "sub", "aud"] as const) {
    if (listed(renewed[claim]) !== listed(before[claim])) throw notOf("who signed in here", claim);
  }
}

/** One, or several in any order. */
const listed = (claim: string | string[] | undefined): string =>
  JSON.stringify([claim].flat().sort());

const notOf = (whose: string, claim: string): LintelError =>
  new LintelError("invalid_value", `the id token is not of ${whose}: its ${claim} does not fit`);
