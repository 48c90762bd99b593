/** Memory of processes after garbage was collected: what is left then is held by something. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** In MB. */
export interface Held {
  readonly resident: number;
  /** What JavaScript holds of it. */
  readonly js: number;
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
      `import { writeFileSync } from "node:fs";
process.on("SIGUSR2", () => {
  gc();
  gc();
  writeFileSync(${JSON.stringify(`${this.#answers}/`)} + process.pid, JSON.stringify(process.memoryUsage()));
});
`,
    );
    this.options = ["--expose-gc", "--import", collect];
  }

  async of(pid: number): Promise<Held> {
    const answer = join(this.#answers, `${pid}`);
    rmSync(answer, { force: true });
    process.kill(pid, "SIGUSR2");
    while (!existsSync(answer)) await pause(100);
    await pause(100);
    const { rss, heapUsed, external } = JSON.parse(readFileSync(answer, "utf8"));
    const mb = (bytes: number) => bytes / 2 ** 20;
    return { resident: mb(rss), js: mb(heapUsed + external) };
  }
}
