/** What a gateway tells of its inside: memory after collections, what Node waits for, snapshots of its heap. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Of one moment; sizes in MB. */
export interface Inside {
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  /** What keeps Node alive, such as `Timeout` or `TCPSocketWrap`, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

/** Asks gateways that began with its options. */
export class Insight {
  /** For Node. */
  readonly options: readonly string[];
  readonly #folder: string;

  /** @param home a folder for what they tell */
  constructor(home: string) {
    this.#folder = join(home, "inside");
    mkdirSync(this.#folder);
    const program = join(home, "tell.mjs");
    writeFileSync(
      program,
      `import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { writeHeapSnapshot } from "node:v8";
const folder = ${JSON.stringify(this.#folder)};
if (isMainThread) process.on("SIGUSR2", () => {
  gc();
  gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  const resources = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  if (existsSync(folder + "/wanted")) {
    writeHeapSnapshot(folder + "/heap.part");
    rmSync(folder + "/wanted");
    renameSync(folder + "/heap.part", folder + "/heap");
  }
  writeFileSync(folder + "/part", JSON.stringify({ rss, heapUsed, external, resources }));
  renameSync(folder + "/part", folder + "/told");
});
`,
    );
    this.options = ["--expose-gc", "--import", program];
  }

  async of(pid: number): Promise<Inside> {
    const answer = join(this.#folder, "told");
    rmSync(answer, { force: true });
    // What a first collection finds is finalized in turns of the event loop behind it.
    for (let i = 0; i < 2; i++) {
      rmSync(answer, { force: true });
      process.kill(pid, "SIGUSR2");
      while (!existsSync(answer)) await pause(50);
    }
    const { rss, heapUsed, external, resources } = JSON.parse(readFileSync(answer, "utf8"));
    const mb = (bytes: number) => bytes / 2 ** 20;
    return { rss: mb(rss), heap: mb(heapUsed), external: mb(external), resources };
  }

  /** Writes what is in its heap to a file; the gateway stands still meanwhile. */
  async snapshot(pid: number, file: string): Promise<void> {
    writeFileSync(join(this.#folder, "wanted"), "");
    await this.of(pid);
    renameSync(join(this.#folder, "heap"), file);
  }
}
