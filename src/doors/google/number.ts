/** Numbers as protobuf's JSON has them. */

const written = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The number that a text stands for, which Google's own reader takes as well; all else as it is. */
export function numberOf(value: unknown): unknown {
  if (typeof value !== "string" || !written.test(value)) return value;
  const number = Number(value);
  return Number.isFinite(number) ? number : value;
}
