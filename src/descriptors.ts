/** File descriptors of this process: how many it has, and how many it may have. */
import { readdirSync, readFileSync, statSync } from "node:fs";

/** How many the process may have; `Infinity` where the system does not say. */
export function descriptorLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** How many it has; `undefined` where the system does not say. */
export function descriptorCount(): number | undefined {
  const folder = "/proc/self/fd";
  try {
    // Linux counts them itself from 6.2 on; to list thousands takes milliseconds.
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return undefined;
  }
}
