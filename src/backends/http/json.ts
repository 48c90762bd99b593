/** Looks into JSON that somebody else wrote. */

/** A count that fits into uint32, else 0. */
export function uint32(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32
    ? value
    : 0;
}

/** A text, else the empty one. */
export function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * A text that a model said, else the empty one. Cloudflare's Workers AI writes a token that is a
 * number, or one of JSON's words, as that: the text would lose its digits.
 */
export function word(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
