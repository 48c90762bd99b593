/** Times in the console. */
import { expect, it } from "vitest";
import { rateOf } from "../../src/console/time.js";

it.each([
  [23, 250, 92],
  [5000, 1000, 5000],
  [123_456, 1000, 123_000],
  [2, 6000, 0.333],
  [23, 0.4, undefined],
  [1, 500, undefined],
])("%d tokens in %d ms are %s in a second", (tokens, ms, rate) => {
  expect(rateOf(tokens, ms)).toBe(rate);
});
