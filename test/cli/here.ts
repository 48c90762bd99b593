/** The command line in this process: for what needs no process of its own. */
import type { Readable } from "node:stream";
import { onTestFinished, vi } from "vitest";
import { run } from "../../src/cli/run.js";

/** Runs `lintel` and answers what it wrote. */
export async function runHere(
  args: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = "";
  let stderr = "";
  const write = (text: unknown, ...more: unknown[]) => {
    stdout += text;
    const written = more.at(-1);
    if (typeof written === "function") written();
    return true;
  };
  const out = vi.spyOn(process.stdout, "write").mockImplementation(write);
  const err = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    stderr += text;
    return true;
  });
  try {
    const code = await run(args);
    return { code, stdout, stderr };
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
}

/** What is typed at a terminal, until the test ends. */
export function typing(stdin: Readable): void {
  const isTTY = Object.assign(stdin, { isTTY: true }) as unknown as typeof process.stdin;
  const input = vi.spyOn(process, "stdin", "get").mockReturnValue(isTTY);
  onTestFinished(() => input.mockRestore());
}
