/** Text that UTF-8 has bytes for. */

/**
 * Text with U+FFFD for each lone surrogate: JSON has them by escapes, UTF-8 does not, and some
 * model servers and clients fail on them. Protobuf's encoder replaces them likewise.
 */
export function wellFormed(text: string): string {
  const known = text as string & { isWellFormed(): boolean; toWellFormed(): string };
  return known.isWellFormed() ? text : known.toWellFormed();
}
