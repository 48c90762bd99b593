import { expect, it, onTestFinished, vi } from "vitest";
import { seldom } from "../../src/server/seldom.js";

it("tells of something again once the time is over", () => {
  let now = 5000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const told: number[] = [];
  const tell = seldom((what: number) => told.push(what), 1000);
  for (const [at, what] of [
    [5000, 1],
    [5999, 2],
    [6000, 3],
    [6001, 4],
  ] as const) {
    now = at;
    tell(what);
  }
  expect(told).toEqual([1, 3]);
});
