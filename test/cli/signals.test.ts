/** Leaving on signals, without sending any: what npm and terminals send twice is one. */
import { expect, onTestFinished, test, vi } from "vitest";
import { untilSignal } from "../../src/cli/signals.js";

test("a signal again within a moment is the same one; a later one ends the process at once", async () => {
  let now = 5000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const left: [string, number][] = [];
  const signalled = untilSignal((signal, status) => void left.push([signal, status]));
  const send = (signal: "SIGINT" | "SIGTERM") => process.listeners(signal).at(-1)?.(signal);
  onTestFinished(() => {
    clock.mockRestore();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const own = process.listeners(signal).at(-1);
      if (own) process.off(signal, own);
    }
  });
  send("SIGINT");
  now += 300;
  send("SIGINT");
  send("SIGTERM");
  expect([await signalled, left]).toEqual(["SIGINT", []]);
  now += 1;
  send("SIGTERM");
  send("SIGINT");
  expect(left).toEqual([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ]);
});
