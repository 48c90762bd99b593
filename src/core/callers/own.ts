/** Tokens that callers make for themselves: whom an issuer vouches for, and what is kept of that. */
import type { Caller } from "../call.js";
import { LintelError, toLintelError } from "../errors.js";
import type { IssuedSecret } from "./registry.js";
import type { CallerSource } from "./source.js";
import type { StoredToken } from "./store.js";

/** Claims of a JWT, by the names that the configuration had for them. */
export type Claims = Readonly<Record<string, unknown>>;

/** What callers of an issuer may make. */
export interface OwnTokenSettings {
  /** Most tokens of one caller that count at the same time. */
  readonly max: number;
  /** Longest that one counts, milliseconds. */
  readonly maxTtlMs: number;
  /** Most that one caller makes within 24 hours, whatever became of them. */
  readonly maxPerDay: number;
}

/** The issuer of a caller who may make tokens. */
export interface Voucher {
  /** `iss` of its JWTs. */
  readonly issuer: string;
  readonly settings: OwnTokenSettings;
  /** The claims of one of them, which was verified, by which the configuration says what its holder may do. */
  claimsIn(token: string): Claims;
}

/** Who made a token for itself. */
export interface TokenOwner {
  /** The caller's id. */
  readonly caller: string;
  /** `iss` of the JWT that it was made with, and its claims as `Voucher.claimsIn` told them. */
  readonly issuer: string;
  readonly claims: Claims;
}

/** A token that is wanted. */
export interface NewOwnToken {
  readonly owner: TokenOwner;
  /** What its owner calls it. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Most that the owner may have with it. */
  readonly max: number;
  /** Most that the owner may have made with it within 24 hours. */
  readonly maxPerDay: number;
}

/**
 * Why a token was not made: its owner has one of the name, or as many as there may be, or made as many within 24 hours
 * as may be, and may make the next one at a time in milliseconds since the epoch.
 */
export type NotMade = "taken" | "most" | { readonly nextAt: number };

/** The tokens that callers made. Everything throws LintelError `unavailable` while the store is away. */
export interface OwnTokens {
  /** Makes one; those of its owner that expired go, so that names are free again. */
  create(wanted: NewOwnToken): Promise<IssuedSecret | NotMade>;
  /**
   * Those that count, oldest first.
   * @param owner the caller's id
   */
  list(owner: string): Promise<readonly StoredToken[]>;
  /**
   * Ends one at once.
   * @param which its name or its id
   * @returns `undefined` if the owner has none of that name that counts
   */
  revoke(owner: string, which: string): Promise<StoredToken | undefined>;
}

/**
 * Finds what the owner of a token may do by the configuration of now. What a token that callers made gives is not
 * kept with it: what is changed for its owner holds for it, too.
 * @returns callers without an owner as they are
 */
export function ownership(sources: readonly CallerSource[]): (caller: Caller) => Caller {
  // Sources remember callers, so that each is looked up once.
  const known = new WeakMap<Caller, Caller>();
  return (caller) => {
    const { owner, token, expiresAt } = caller;
    if (owner === undefined) return caller;
    const before = known.get(caller);
    if (before) return before;
    const found = grantOf(owner, sources);
    const owned = { ...found, token, expiresAt };
    known.set(caller, owned);
    return owned;
  };
}

function grantOf(owner: TokenOwner, sources: readonly CallerSource[]): Caller {
  const found = vouchedFor(owner, sources);
  if (!found) throw notLetIn("its issuer lets nobody make tokens here now");
  if (found.id !== owner.caller) throw notLetIn("its issuer's callers are called otherwise now");
  return found;
}

function vouchedFor(owner: TokenOwner, sources: readonly CallerSource[]): Caller | undefined {
  for (const source of sources) {
    try {
      const found = source.vouch?.(owner);
      if (found) return found;
    } catch (thrown) {
      throw notLetIn(toLintelError(thrown).message, thrown);
    }
  }
  return undefined;
}

const notLetIn = (why: string, cause?: unknown) =>
  new LintelError("invalid_token", `the bearer token's owner is not let in any more: ${why}`, {
    cause,
  });
