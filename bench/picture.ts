/** The picture of the report: CPU time of one request, of everyone, as bars. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Results } from "./report.js";
import { median } from "./targets.js";

const width = 760;
const row = 30;
const left = 120;

/** Writes `cpu.svg` into a folder; nothing if the scenario has not run. */
export function writePicture({ scenarios }: Results, into: string): void {
  const figures = scenarios.json?.figures;
  if (!figures) return;
  const bars = Object.entries(figures)
    .flatMap(([name, of]) => {
      const values = of["cpu@32"];
      return values ? [{ name, micros: median(values) }] : [];
    })
    .sort((a, b) => a.micros - b.micros);
  const most = Math.log10(Math.max(...bars.map(({ micros }) => micros)));
  const height = 50 + bars.length * row;
  const body = bars.map(({ name, micros }, i) => {
    const y = 40 + i * row;
    const length = Math.round((Math.log10(micros) / most) * (width - left - 110));
    const colour = name.startsWith("lintel") ? "#2563eb" : "#94a3b8";
    return `<text x="${left - 8}" y="${y + 15}" text-anchor="end">${name}</text>
<rect x="${left}" y="${y}" width="${length}" height="20" rx="3" fill="${colour}"/>
<text x="${left + length + 8}" y="${y + 15}">${Math.round(micros)} µs</text>`;
  });
  writeFileSync(
    join(into, "cpu.svg"),
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="14">
<title>CPU time of one request of each contestant</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${left}" y="24" font-weight="bold">CPU time of one request, JSON, 32 connections (logarithmic)</text>
${body.join("\n")}
</svg>
`,
  );
}
