/** Random texts that name things: calls, completions. Not for secrets. */
import { randomFillSync } from "node:crypto";

/** Filled at once: asking for each id alone costs many times as much. */
const pool = Buffer.allocUnsafeSlow(8192);
let used = pool.length;

/**
 * A random text of base64url letters.
 * @param bytes of randomness, at most 8192
 */
export function randomId(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const text = pool.toString("base64url", used, used + bytes);
  used += bytes;
  return text;
}
