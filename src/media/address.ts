/** How long the address of an image leads to it. */
import type { MediaConfig } from "../config/media.js";

/** The longest that S3 lets a signed address live, milliseconds. */
const longestSignedMs = 7 * 24 * 3_600_000;

/** How long a signed address lives, milliseconds. */
export const signedMs = (ttlMs: number): number => Math.min(ttlMs, longestSignedMs);

/** How long, milliseconds; `undefined` where responses carry the images themselves. */
export function addressMs({ delivery, store, s3, ttl }: MediaConfig): number | undefined {
  if (delivery === "data") return undefined;
  return store === "s3" && s3?.address === "presigned" ? signedMs(ttl) : ttl;
}
