/** The memory that local models find free, by what different systems say. */
import { describe, expect, it } from "vitest";
import { freeMemory, memoryLimit } from "../../src/backends/memory.js";

const GB = 1e9;

/** A machine of 64 GB, with a limit, and what is still free under it. */
const machine = (limit: number, available: number, files: Readonly<Record<string, string>>) => ({
  available: () => available,
  limit: () => limit,
  total: () => 64 * GB,
  read(path: string) {
    const text = files[path];
    if (text === undefined) throw new Error("ENOENT");
    return text;
  },
});

/** As the kernel writes them, shortened; `shmem` lies in memory file systems and is part of `file`. */
const second = {
  "/sys/fs/cgroup/memory.stat": `anon 900000000
file 5700000000
shmem 700000000
inactive_anon 1000000000
active_anon 600000000
inactive_file 4000000000
active_file 1000000000
unevictable 0
`,
};
const first = {
  "/sys/fs/cgroup/memory/memory.stat": `cache 5700000000
inactive_file 300
active_file 400
total_cache 5700000000
total_inactive_anon 1000000000
total_inactive_file 4000000000
total_active_file 1000000000
`,
};

describe("the memory that is free", () => {
  it.each([
    ["the second version of control groups", second],
    ["the first", first],
  ])("has the files in it that a container keeps, in %s", (_, files) => {
    expect(freeMemory(machine(8 * GB, 2 * GB, files))).toBe(7 * GB);
  });

  it.each([
    [
      "the second version of control groups",
      { "/sys/fs/cgroup/memory.stat": second["/sys/fs/cgroup/memory.stat"] },
      "0::/system.slice/lintel.service\n",
      "/sys/fs/cgroup/system.slice/lintel.service/memory.stat",
      "inactive_file 300\nactive_file 400\n",
    ],
    [
      "the first",
      first,
      "9:cpu,cpuacct:/elsewhere\n4:memory:/system.slice/lintel.service\n",
      "/sys/fs/cgroup/memory/system.slice/lintel.service/memory.stat",
      "total_inactive_file 300\ntotal_active_file 400\n",
    ],
  ])(
    "has only the files of its own group outside of a container, in %s",
    (_, files, groups, path, own) => {
      const outside = { ...files, "/proc/self/cgroup": groups };
      expect(freeMemory(machine(8 * GB, 2 * GB, { ...outside, [path]: own }))).toBe(2 * GB + 700);
      // In a container that has no name space of its own the folder is not there.
      expect(freeMemory(machine(8 * GB, 2 * GB, outside))).toBe(7 * GB);
    },
  );

  it("is what is available where nothing tells of files", () => {
    expect(freeMemory(machine(8 * GB, 2 * GB, {}))).toBe(2 * GB);
  });

  it.each([0, 64 * GB, 2 ** 64])(
    "is what is available without a limit, which reads %d",
    (limit) => {
      expect(freeMemory(machine(limit, 30 * GB, { ...first, ...second }))).toBe(30 * GB);
    },
  );

  it("is some on this machine", () => {
    expect(freeMemory()).toBeGreaterThan(0);
  });
});

describe("what the process may have", () => {
  it.each([
    ["its container's limit", 8 * GB, 8 * GB],
    ["the machine's memory without one", 0, 64 * GB],
    ["the machine's memory where version 1 says that there is none", 2 ** 63, 64 * GB],
  ])("is %s", (_, limit, most) => {
    expect(memoryLimit(machine(limit, GB, {}))).toBe(most);
  });
});
