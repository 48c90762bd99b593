/** From a token that is known to its caller, if it still counts. */
import type { Caller } from "../call.js";
import { LintelError } from "../errors.js";
import { Addresses } from "./addresses.js";

/** What is known of a token. */
export interface KnownToken {
  readonly caller: Caller;
  readonly revoked?: boolean | undefined;
}

/**
 * The caller of a token.
 * @throws LintelError `invalid_token` if it expired or was revoked
 */
export function admit({ caller, revoked }: KnownToken): Caller {
  if (revoked) throw new LintelError("invalid_token", "the bearer token was revoked");
  const { expiresAt } = caller;
  if (expiresAt !== undefined && Date.now() >= expiresAt) {
    const when = new Date(expiresAt).toISOString();
    throw new LintelError("invalid_token", `the bearer token expired at ${when}`);
  }
  return caller;
}

/** @throws LintelError `address_not_allowed` where a caller may not call from an address */
export function inPlace(caller: Caller, client: string | undefined): Caller {
  if (caller.from === undefined || caller.from.has(client)) return caller;
  // For the log, which has the address beside it: the token may be in wrong hands.
  const cause = new Error(`the token of ${JSON.stringify(caller.id)}`);
  const message = "this token may not be used from this address";
  throw new LintelError("address_not_allowed", message, { cause });
}

/** Callers who may do the same have one list, which is made once. */
const lists = new WeakMap<readonly string[], Addresses>();

function addressesOf(networks: readonly string[]): Addresses {
  const known = lists.get(networks) ?? new Addresses(networks);
  lists.set(networks, known);
  return known;
}

/** What a token gives its holder. */
export interface Given extends Pick<Caller, "expiresAt" | "models" | "limits" | "team"> {
  /** Addresses and networks; absent: all. */
  readonly from?: readonly string[] | undefined;
}

/** A caller without the keys that would say nothing. */
export function callerOf(
  id: string,
  token: string,
  { expiresAt, from, models, limits, team }: Given,
): Caller {
  return {
    id,
    token,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(from && { from: addressesOf(from) }),
    ...(models && { models }),
    ...(limits && { limits }),
    ...(team !== undefined && { team }),
  };
}
