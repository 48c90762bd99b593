/** What callers are told beside an answer: what was dropped, or could not be done. */

/** Adds a warning once. */
export function warn(warnings: string[], text: string): void {
  if (!warnings.includes(text)) warnings.push(text);
}
