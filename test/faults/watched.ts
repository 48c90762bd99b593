/** A built gateway whose memory, handles and log are looked at. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { childrenOf } from "../support/children.js";
import { Memory } from "./memory.js";

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
  const memory = new Memory(home);
  const file = join(home, "log");
  const args = [program, "serve", "--config", config, "--listen", "127.0.0.1:0"];
  const child = spawn(process.execPath, [...memory.options, ...args], {
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
  const processes = () => (workers === 1 ? [pid] : childrenOf(pid));
  return {
    url,
    pid,
    processes,
    log,
    async look() {
      const said: string[] = [];
      const mb = (amount: number) => `${amount.toFixed(1)} MB`;
      for (const one of processes()) {
        const { resident, js } = await memory.of(one);
        const handles = readdirSync(`/proc/${one}/fd`).length;
        said.push(`${mb(resident)}, JavaScript's ${mb(js)}, ${handles} handles`);
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
