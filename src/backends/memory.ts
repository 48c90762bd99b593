/** How much memory local models can still have. */
import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";

/** What the system says of this process's memory, bytes; another one only in tests. */
export interface MemoryFigures {
  /** What may still be taken before a limit, or the end of the machine's memory, is reached. */
  available(): number;
  /** The limit of the container or control group; 0, or more than `total`: none. */
  limit(): number;
  /** What the machine has. */
  total(): number;
  /** @throws if there is no such file */
  read(path: string): string;
}

const own: MemoryFigures = {
  available: () => process.availableMemory(),
  limit: () => process.constrainedMemory(),
  total: totalmem,
  read: (path) => readFileSync(path, "utf8"),
};

/**
 * Bytes of memory that this process can still have. In a container, what the
 * kernel keeps of files counts as free: it gives that up when it must.
 */
export function freeMemory(figures: MemoryFigures = own): number {
  const free = figures.available();
  // Without a limit, what the system says has them in it already.
  return memoryLimit(figures) === figures.total() ? free : free + keptOfFiles(figures);
}

/** Bytes of memory that this process may have: the limit of its container or control group, or else the machine's. */
export function memoryLimit(figures: MemoryFigures = own): number {
  const limit = figures.limit();
  const total = figures.total();
  return limit === 0 ? total : Math.min(limit, total);
}

/** Bytes in gigabytes, as errors tell them. */
export const inGb = (bytes: number): string => (bytes / 1e9).toFixed(1);

/**
 * Of both versions of control groups; what lies in memory file systems is not given up. The
 * group's own folder first: outside of a container the topmost one tells of the whole machine.
 */
function keptOfFiles({ read }: MemoryFigures): number {
  const groups = textOf(read, "/proc/self/cgroup") ?? "";
  const versions = [
    ["/sys/fs/cgroup", /^0::(.*)$/m, /^(?:in)?active_file (\d+)$/gm],
    [
      "/sys/fs/cgroup/memory",
      /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m,
      /^total_(?:in)?active_file (\d+)$/gm,
    ],
  ] as const;
  for (const [folder, group, lines] of versions) {
    const own = join(folder, group.exec(groups)?.[1] ?? "", "memory.stat");
    // In a container the group's name may be that on the machine around it, whose folder is not there.
    const text = textOf(read, own) ?? textOf(read, join(folder, "memory.stat"));
    if (text === undefined) continue;
    return [...text.matchAll(lines)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
  }
  return 0;
}

function textOf(read: MemoryFigures["read"], path: string): string | undefined {
  try {
    return read(path);
  } catch {
    return undefined;
  }
}
