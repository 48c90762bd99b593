/** A built gateway whose memory, handles and log are looked at. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** One that runs. */
export interface Watched {
  readonly url: string;
  readonly pid: number;
  /** Ids of the processes that serve: its own, or those of its workers. */
  processes(): number[];
  /** Memory of each of them after garbage was collected, and how many handles it has, as text. */
  look(): Promise<string>;
  /** Its lines so far. */
  log(): string[];
  /** Ends it as an operator would. @returns its exit status */
  stop(): Promise<number | null>;
}

const program = fileURLToPath(new URL("../../dist/src/main.js", import.meta.url));

/**
 * Starts one on a free port of loopback.
 * @param home folder for its log and what it tells of its memory
 */
export async function startWatched(
  config: string,
  home: string,
  workers: number,
): Promise<Watched> {
  const held = join(home, "memory");
  mkdirSync(held);
  const collect = join(home, "collect.mjs");
  writeFileSync(
    collect,
    `import { writeFileSync } from "node:fs";
process.on("SIGUSR2", () => {
  gc();
  gc();
  writeFileSync(${JSON.stringify(`${held}/`)} + process.pid, JSON.stringify(process.memoryUsage()));
});
`,
  );
  const file = join(home, "log");
  const args = [program, "serve", "--config", config, "--listen", "127.0.0.1:0"];
  const child = spawn(process.execPath, ["--expose-gc", "--import", collect, ...args], {
    stdio: ["ignore", "pipe", openSync(file, "w")],
  });
  const gone = once(child, "exit");
  const log = () => readFileSync(file, "utf8").split("\n").filter(Boolean);
  let url = "";
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    url = / on (http:\S+:\d+)$/.exec(line)?.[1] ?? "";
    if (url) break;
  }
  if (!url) throw new Error(`the gateway did not start: ${log().join("\n")}`);
  child.stdout?.resume();
  const pid = child.pid as number;
  const processes = () => {
    if (workers === 1) return [pid];
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").match(/\d+/g) ?? [];
    return children.map(Number);
  };
  return {
    url,
    pid,
    processes,
    log,
    async look() {
      const said: string[] = [];
      for (const one of processes()) {
        const answer = join(held, `${one}`);
        rmSync(answer, { force: true });
        process.kill(one, "SIGUSR2");
        while (!existsSync(answer)) await pause(100);
        await pause(100);
        const { rss, heapUsed, external } = JSON.parse(readFileSync(answer, "utf8"));
        const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
        const handles = readdirSync(`/proc/${one}/fd`).length;
        said.push(`${mb(rss)}, JavaScript's ${mb(heapUsed + external)}, ${handles} handles`);
      }
      return said.join("; ");
    },
    async stop() {
      child.kill("SIGTERM");
      const [status] = await gone;
      return status;
    },
  };
}
