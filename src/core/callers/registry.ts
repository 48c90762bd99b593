/** Tokens that are kept, as whoever administers them sees them. */
import type { CallerLimits, OwnLimits } from "../limits/settings.js";
import type { StoredToken } from "./store.js";

/** What a token is made with. */
export interface NewToken {
  readonly name: string;
  readonly models?: readonly string[] | undefined;
  /** Addresses and networks that it may be used from. */
  readonly from?: readonly string[] | undefined;
  readonly limits?: OwnLimits | undefined;
  /** Name of the team that its holder is a member of. */
  readonly team?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number | undefined;
}

/** What becomes another one of a token; absent: it stays, `null`: nothing of its own any more. */
export interface TokenChange {
  readonly models?: readonly string[] | null | undefined;
  readonly from?: readonly string[] | null | undefined;
  readonly limits?: LimitChanges | undefined;
  readonly team?: string | null | undefined;
  /** Milliseconds since the epoch; `null`: never. */
  readonly expiresAt?: number | null | undefined;
}

/** The same of limits, one by one. */
export type LimitChanges = Changes<CallerLimits> & {
  readonly user?: Changes<CallerLimits> | undefined;
};

type Changes<T> = { readonly [L in keyof T]: T[L] | null };

/** How a token is rotated. */
export interface Rotation {
  /** How long the old token counts besides, milliseconds. */
  readonly graceMs: number;
  /** Milliseconds since the epoch; `null`: never; absent: as it was. */
  readonly expiresAt?: number | null | undefined;
  /** Ends the token before the old one, too, where that still counts. */
  readonly force?: boolean | undefined;
}

/** A token with what leads to it, which is not kept anywhere. */
export interface IssuedSecret {
  readonly secret: string;
  readonly token: StoredToken;
}

/** Why a token was not rotated; `raced`: another rotation came in between. */
export type NotRotated = "expired" | "grace" | "raced";

/** A token that was rotated, or why it was not. */
export type Rotated = IssuedSecret | { readonly refused: NotRotated; readonly token: StoredToken };

/** Which tokens are listed. */
export interface TokenPage {
  /** The last one of the page before; absent: from the oldest on. */
  readonly after?: Pick<StoredToken, "createdAt" | "id"> | undefined;
  /** Those that were revoked are left out. */
  readonly liveOnly?: boolean | undefined;
  /** Only those that this caller made for itself; absent: all. */
  readonly owner?: string | undefined;
  /** Most of them; absent: all. */
  readonly limit?: number | undefined;
}

/** The tokens of a store. Everything throws an Error while it is away. */
export interface TokenRegistry {
  /** Tokens, oldest first. */
  list(page?: TokenPage): Promise<readonly StoredToken[]>;
  /**
   * One token.
   * @param which its id, or the name of one that was issued and not revoked
   */
  get(which: string): Promise<StoredToken | undefined>;
  /**
   * Issues a token.
   * @returns `undefined` if the name is taken
   */
  create(wanted: NewToken): Promise<IssuedSecret | undefined>;
  /**
   * Changes what a token may do, other than one that a caller made for itself; the token itself and its name stay.
   * @param which its name or its id
   * @returns the token as it is now, or `undefined` if there is none that counts and can be changed
   */
  update(which: string, change: TokenChange): Promise<StoredToken | undefined>;
  /**
   * Gives a token's holder a new one; name, models and limits stay. Refused are a token that
   * expired, unless it gets another expiry, and one whose last rotation left a token that still
   * counts, unless `force` ends that one: it may be the one that is in use. Of several rotations at the
   * same time one is made: else the new token of another would have ended before anybody used it.
   * @param which its name or its id; none that a caller made for itself
   * @returns `undefined` if there is none that counts and can be rotated
   */
  rotate(which: string, rotation: Rotation): Promise<Rotated | undefined>;
  /**
   * Ends a token at once.
   * @param which its name or its id; of one that a caller made for itself its id
   * @returns the token, or `undefined` if there is none that counts
   */
  revoke(which: string): Promise<StoredToken | undefined>;
}
