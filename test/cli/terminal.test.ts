/** What stands on a terminal that can go back over it, and on one that can't. */
import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { ProgressLine } from "../../src/cli/progress.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What is written to a terminal, or to a file, of a kind. */
function shown(isTTY: boolean, TERM: string): string {
  vi.stubEnv("TERM", TERM);
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 80 });
  const line = new ProgressLine(stream as unknown as NodeJS.WriteStream);
  line.show(50, "step 1 of 2");
  line.clear();
  return stream.setEncoding("utf8").read() ?? "";
}

test("progress is one line that goes away, on a terminal that can go back over it", () => {
  const away = "\r\x1b[K";
  const bar = `[${"#".repeat(15)}${"-".repeat(15)}]  50%  step 1 of 2`;
  expect(shown(true, "xterm")).toBe(`${away}${bar}${away}`);
});

test("elsewhere there is nothing of it, as in an editor's own terminal", () => {
  expect(shown(true, "dumb")).toBe("");
  expect(shown(false, "xterm")).toBe("");
});
