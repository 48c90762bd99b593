/** Tokens that an operator issues: made here, kept only as hashes. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** A new token: `lt_` and 256 random bits in base64url. Shown once, never stored. */
export function createToken(): string {
  return `lt_${randomBytes(32).toString("base64url")}`;
}

/**
 * What is stored of a token: `sha256:` and 64 hex digits. A plain hash is
 * enough, because a token has 256 random bits: there is nothing to guess.
 */
export function hashToken(token: string): string {
  return `sha256:${digest(token).toString("hex")}`;
}

const digest = (token: string) => createHash("sha256").update(token).digest();

/** Finds presented tokens among stored hashes, in time that does not depend on them. */
export class TokenTable<T extends { readonly hash: string }> {
  readonly #entries: readonly { readonly digest: Buffer; readonly value: T }[];

  /** @param values each with a `hash` as `hashToken` makes it */
  constructor(values: readonly T[]) {
    this.#entries = values.map((value) => ({
      digest: Buffer.from(value.hash.replace(/^sha256:/, ""), "hex"),
      value,
    }));
  }

  /** The entry of a token, or `undefined`. Always compares with every entry. */
  find(token: string): T | undefined {
    const presented = digest(token);
    let found: T | undefined;
    for (const entry of this.#entries) {
      if (entry.digest.length === presented.length && timingSafeEqual(entry.digest, presented)) {
        found = entry.value;
      }
    }
    return found;
  }
}

/** A caller's stable name, from a token that nobody issued; can't be turned back. */
export function anonymousName(token: string): string {
  return `anon-${digest(token).toString("hex").slice(0, 16)}`;
}
