/** Memory of processes after garbage was collected: what is left then is held by something. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** In MB. */
export interface Held {
  readonly resident: number;
  /** What JavaScript holds of it. */
  readonly js: number;
}

/** All that a process tells; sizes in MB. */
export interface Inside {
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  /** What keeps Node alive, such as `Timeout` or `TCPSocketWrap`, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

/** Looks at processes that began with its options, and at theirs. */
export class Memory {
  /** For Node. */
  readonly options: readonly string[];
  readonly #answers: string;

  /** @param home a folder for what they tell */
  constructor(home: string) {
    const collect = join(home, "collect.mjs");
    this.#answers = join(home, "memory");
    mkdirSync(this.#answers);
    writeFileSync(
      collect,
      `import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { writeHeapSnapshot } from "node:v8";
const answer = ${JSON.stringify(`${this.#answers}/`)} + process.pid;
process.on("SIGUSR2", () => {
  gc();
  gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  const resources = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  if (existsSync(answer + ".wanted")) {
    writeHeapSnapshot(answer + ".heap");
    rmSync(answer + ".wanted");
  }
  writeFileSync(answer + ".part", JSON.stringify({ rss, heapUsed, external, resources }));
  renameSync(answer + ".part", answer);
});
`,
    );
    this.options = ["--expose-gc", "--import", collect];
  }

  async of(pid: number): Promise<Held> {
    const { rss, heap, external } = await this.inside(pid);
    return { resident: rss, js: heap + external };
  }

  /** @throws Error if it ends meanwhile */
  async inside(pid: number): Promise<Inside> {
    const answer = join(this.#answers, `${pid}`);
    rmSync(answer, { force: true });
    process.kill(pid, "SIGUSR2");
    while (!existsSync(answer)) {
      await pause(100);
      process.kill(pid, 0);
    }
    const { rss, heapUsed, external, resources } = JSON.parse(readFileSync(answer, "utf8"));
    const mb = (bytes: number) => bytes / 2 ** 20;
    return { rss: mb(rss), heap: mb(heapUsed), external: mb(external), resources };
  }

  /** Writes what is in its heap to a file; the process stands still meanwhile. */
  async snapshot(pid: number, file: string): Promise<void> {
    const answer = join(this.#answers, `${pid}`);
    writeFileSync(`${answer}.wanted`, "");
    await this.inside(pid);
    renameSync(`${answer}.heap`, file);
  }
}
