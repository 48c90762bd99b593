/** How much V8's old space may grow. */
import { expect, test } from "vitest";
import { growthFor } from "../src/v8.js";

test.each([
  ["text", 20, 80, 50],
  ["images", 45, 80, 200],
  ["a start", 8, 20, 50],
])("%s: %i MB outside beside a heap of %i MB let it grow by %i%%", (_, outside, heap, percent) => {
  const told = { external_memory: outside * 1e6, used_heap_size: heap * 1e6 };
  expect(growthFor(told)).toBe(percent);
});
