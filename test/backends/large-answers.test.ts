import { describe, expect, test } from "vitest";
import { LargeAnswer } from "../../src/backends/http/large.js";

const signal = new AbortController().signal;

/** Whether a promise has settled once everything that is ready has run. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

describe("large answers", () => {
  test("eight at once; the others wait their turn, and who leaves gives up its place", async () => {
    const all = Array.from({ length: 11 }, () => new LargeAnswer());
    const [inside, waiting] = [all.slice(0, 8), all.slice(8)];
    for (const answer of inside) await answer.enter(signal);
    const left = new AbortController();
    const [first, second, third] = waiting.map((answer, i) =>
      answer.enter(i === 1 ? left.signal : signal),
    ) as [Promise<void>, Promise<void>, Promise<void>];
    expect(await settled(first)).toBe(false);
    left.abort(new Error("left"));
    await expect(second).rejects.toThrow("left");
    inside[0]?.leave();
    inside[0]?.leave();
    await first;
    expect(await settled(third)).toBe(false);
    inside[1]?.leave();
    await third;
    for (const answer of all) answer.leave();
    await new LargeAnswer().enter(signal);
  });
});
