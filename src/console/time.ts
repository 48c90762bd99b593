/** Spans of time, in words. */

const units = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
] as const;

/** Seconds in the largest unit of which there are at least two. */
export function span(seconds: number): string {
  const [unit, length] = units.find(([, length]) => seconds >= 2 * length) ?? ["s", 1];
  return `${Math.round(seconds / length)} ${unit}`;
}

/** Milliseconds as seconds, to the hundredth. */
export const seconds = (ms: number): string => (ms / 1000).toFixed(2);

/** In less an answer came in one piece, which tells nothing of how fast it was made; milliseconds. */
const shortest = 100;

/** How many tokens came in a second, to three digits; `undefined`: too few, or in too little time, to tell. */
export const rateOf = (tokens: number, ms: number): number | undefined =>
  tokens < 2 || ms < shortest ? undefined : Number(((tokens / ms) * 1000).toPrecision(3));
