/** Ranges of numbers, in words for callers. */

/** A range of allowed numbers. */
export interface Range {
  readonly min?: number | undefined;
  /** Whether `min` itself is excluded. */
  readonly above?: boolean | undefined;
  readonly max?: number | undefined;
  /** Whether `max` itself is excluded. */
  readonly below?: boolean | undefined;
  readonly multipleOf?: number | undefined;
}

/** What is allowed, for example `from 0 to 2` or `a multiple of 8 from 64 to 2048`. */
export function describeRange({ min, above, max, below, multipleOf }: Range): string {
  const words: string[] = [];
  if (multipleOf !== undefined) words.push(`a multiple of ${multipleOf}`);
  if (min !== undefined && max !== undefined && !above && !below) {
    words.push(`from ${min} to ${max}`);
  } else {
    const ends: string[] = [];
    if (min !== undefined) ends.push(`${above ? "above" : "at least"} ${min}`);
    if (max !== undefined) ends.push(`${below ? "below" : "at most"} ${max}`);
    if (ends.length > 0) words.push(ends.join(" and "));
  }
  return words.length > 0 ? words.join(" ") : "a number";
}
