/** Tokens that an operator issues: made here, kept only as hashes. */
import { hash, randomBytes } from "node:crypto";

/** A new token: `lt_` and 256 random bits in base64url. Shown once, never stored. */
export function createToken(): string {
  return `lt_${randomBytes(32).toString("base64url")}`;
}

/** Whether a text could be a token of ours. */
export function isToken(text: string): boolean {
  return text.length === 46 && text.startsWith("lt_");
}

const ours = /lt_[\w-]{43}/g;
const webTokens = /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+/g;

/** Whether a token of ours is in a text that is to name one, as where its header was copied: nobody is told it back. */
export const holdsToken = (text: string): boolean => text.search(ours) >= 0;

/** A text without tokens of ours, and JWTs: somebody may have put theirs where a model is named, or a user. */
export function withoutTokens(text: string): string {
  // Hardly a text has the begin of one, and to look for that takes next to no time.
  const left = text.includes("lt_") ? text.replace(ours, "[token]") : text;
  return left.includes("eyJ") ? left.replace(webTokens, "[token]") : left;
}

/**
 * What is stored of a token: `sha256:` and 64 hex digits. A plain hash is
 * enough, because a token has 256 random bits: there is nothing to guess, and
 * nothing is learnt from how long a look-up by hash takes.
 */
export function hashToken(token: string): string {
  return `sha256:${hash("sha256", token, "hex")}`;
}

/** A caller's stable name, from a token that nobody issued; can't be turned back. */
export function anonymousName(token: string): string {
  return `anon-${hash("sha256", token, "hex").slice(0, 16)}`;
}
