/**
 * How much is said of what is wrong. Callers choose how much that is, and gRPC
 * says it in trailers: 8 KiB is what its clients take by default, the message
 * stands there twice, once with up to three characters for a byte, and the rest
 * is base64.
 */
import type { Violation } from "./errors.js";

/** Most violations that are looked for in one list. */
export const mostInList = 8;
/** Most that an error's message names. */
const mostInMessage = 16;
/** Bytes of all that an error has, each with what frames it. */
const mostBytes = 2000;
const frameBytes = 10;

/**
 * Text as UTF-8 has it, so without lone surrogates, and cut where it is too long.
 * @param most bytes
 */
export function shortened(text: string, most: number): string {
  // No character takes fewer bytes than it has places in a string.
  const bytes = Buffer.from(text.slice(0, most + 1));
  if (bytes.length <= most) return bytes.toString();
  let end = most - 3;
  // Not within a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.toString("utf8", 0, end)}…`;
}

/**
 * Asked before each item of a list: whether enough is wrong with those before it. The
 * list itself is then said to be at fault too, so that nobody takes the others for good.
 * @param into all violations so far
 * @param before how many of these there were before the list
 * @param path of the list
 * @param index of the item
 */
export function isHopeless(
  into: Violation[],
  before: number,
  path: string,
  index: number,
): boolean {
  if (into.length - before < mostInList) return false;
  into.push(unchecked(path, index));
  return true;
}

/** What is said of a list that is not looked at from an item on. */
export const unchecked = (field: string, from: number): Violation => ({
  ...{ field, from },
  message: `the items from ${from} on were not checked`,
});

/** The first violations, as many and as much of each as an error may carry. */
export function bounded(violations: readonly Violation[]): readonly Violation[] {
  const first: Violation[] = [];
  let bytes = 0;
  for (const violation of violations) {
    const field = shortened(violation.field, 200);
    const message = shortened(violation.message, 500);
    bytes += Buffer.byteLength(field) + Buffer.byteLength(message) + frameBytes;
    if (bytes > mostBytes) break;
    first.push({ ...violation, field, message });
  }
  return first;
}

/** Violations in one line. */
export function inWords(violations: readonly Violation[]): string {
  const words = violations.slice(0, mostInMessage).map((v) => `${v.field}: ${v.message}`);
  const more = violations.length - words.length;
  return words.join("; ") + (more > 0 ? `; and ${more} more` : "");
}
