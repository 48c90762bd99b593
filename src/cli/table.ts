/** Rows for people and for programs. What others named is printable in both. */
import { printable } from "./output.js";

/** Rows under a heading, each column as wide as it has to be; numbers stand to the right. */
export function table(heading: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(printable));
  const widths = heading.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const isNumber = heading.map((_, i) =>
    rows.every((row) => /^$|^-?[\d,]+(\.\d+)?$/.test(row[i] ?? "")),
  );
  return [heading, ...rows]
    .map((row) =>
      row
        .map((cell, i) => {
          const width = widths[i] ?? 0;
          return isNumber[i] ? cell.padStart(width) : cell.padEnd(width);
        })
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

/** A moment as people read it: to the minute, in UTC. @param ms since the epoch */
export const minuteOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16)}Z`;

/** Rows under a heading as RFC 4180 has them. */
export function csv(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const quoted = (cell: string) =>
    // A program that takes a cell for a formula must not run what a caller chose.
    /[",\r\n]|^[=+@-](?![\d.]+$)/.test(cell) ? `"${guard(cell).replaceAll('"', '""')}"` : cell;
  return [heading, ...rows]
    .map((row) => row.map((cell) => quoted(printable(cell))).join(","))
    .join("\r\n");
}

const guard = (cell: string) => (/^[=+@-]/.test(cell) ? `'${cell}` : cell);
