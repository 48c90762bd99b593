import { expect, it } from "vitest";
import { overlap, overlapsAny } from "../../src/core/pattern.js";

it.each([
  ["gpt-4o", "gpt-4o", true],
  ["gpt-4o", "gpt-4", false],
  ["gpt-*", "gpt-4o", true],
  ["gpt-*", "llama-3", false],
  ["*", "", true],
  ["*", "a*", true],
  ["gpt-*", "*-mini", true],
  ["gpt-*", "gpt-4*", true],
  ["*-mini", "*-nano", false],
  ["*-mini", "4-*-mini", true],
  ["a*b", "ac*db", true],
  ["a*b", "ac*d", false],
  ["a*b", "c*b", false],
  // The same letters may stand for the end of one and the beginning of the other.
  ["ab*", "*ba", true],
])("names may fit both %j and %j: %s", (one, other, both) => {
  expect([overlap(one, other), overlap(other, one)]).toEqual([both, both]);
  // As of one of many.
  const asked = [overlapsAny(["-", one])(other), overlapsAny(["-", other])(one)];
  expect(asked).toEqual([both, both]);
});

it("no name fits one of none", () => {
  expect(["a", "a*", "*"].map(overlapsAny([]))).toEqual([false, false, false]);
});
