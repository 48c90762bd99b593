/** The programs in C. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Compiles a program. @returns its path @throws Error with what the compiler said */
export function compile(source: string, folder: string): string {
  const program = join(folder, source.replace(/.*\/|\.c$/g, ""));
  const { status, stderr } = spawnSync("cc", ["-O2", "-o", program, source], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return program;
}
