/** What docs/observability.md says in its tables. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");
export const page = readFileSync(join(root, "docs/observability.md"), "utf8");

/** The first table under a heading, a row each; of each cell what stands in code. */
export function rows(heading: string): string[][][] {
  const section = page.split(`\n${heading}\n`)[1] ?? "";
  const table = /(?:^\|.*\n)+/m.exec(section)?.[0] ?? "";
  return table
    .trim()
    .split("\n")
    .slice(2)
    .map((row) =>
      row
        .slice(1)
        .split("|")
        .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string)),
    );
}

export const names = (heading: string): string[] => rows(heading).flatMap(([first]) => first ?? []);
