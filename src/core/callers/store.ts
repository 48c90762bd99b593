/** Tokens that are kept in a database, as the gateway reads them. */
import type { OwnLimits } from "../limits/settings.js";
import type { TokenOwner } from "./own.js";

/** A token as it is stored: nothing of it leads back to the token itself. */
export interface StoredToken {
  /** Names the token in usage; stays the same when it is rotated. */
  readonly id: string;
  /** Who it was issued to, the caller's id; or what its owner calls it. */
  readonly name: string;
  /** Who made it for itself, and may do by it what the configuration says; absent: it was issued. */
  readonly owner?: TokenOwner | undefined;
  /** As `hashToken` makes it. */
  readonly hash: string;
  /** The token before the last rotation, which counts a while longer. */
  readonly previous?: { readonly hash: string; readonly until: number } | undefined;
  readonly models?: readonly string[] | undefined;
  /** Addresses and networks that it may be used from; absent: all. */
  readonly from?: readonly string[] | undefined;
  readonly limits?: OwnLimits | undefined;
  /** Name of the team that its holder is a member of. */
  readonly team?: string | undefined;
  /** These times in milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt?: number | undefined;
  readonly revokedAt?: number | undefined;
}

/**
 * Until when the token counts that was there before the last rotation, milliseconds since the epoch: a grace
 * ends with the token. Absent: there is none.
 */
export const graceEnd = ({ previous, expiresAt = Infinity }: StoredToken): number | undefined =>
  previous && Math.min(previous.until, expiresAt);

/** What changed in the store. */
export interface TokenChanges {
  /** Grows with every change. */
  readonly version: number;
  /** The tokens that were changed since, as they are now. */
  readonly tokens: readonly StoredToken[];
}

/** Where the gateway looks tokens up. Everything throws an Error while the store is away. */
export interface TokenStore {
  /** The tokens with one of these hashes, now or before the last rotation; revoked ones too. */
  find(hashes: readonly string[]): Promise<readonly StoredToken[]>;
  /** @param since a version; absent: no tokens, only the version */
  changes(since?: number): Promise<TokenChanges>;
}
