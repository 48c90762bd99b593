/** Processes of a fault run, that can be killed and started again at the same port. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/port.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const fromSources = ["--import", `${root}scripts/typescript-loader.js`];

/** A process with an address. */
export interface Running {
  readonly url: string;
  readonly pid: number;
  /** `kill -9`, and waits for the end. */
  kill(): Promise<void>;
  /** Ends it as an operator would. */
  stop(): Promise<void>;
  /** After a kill: again, at the same port. */
  restart(): Promise<void>;
}

/** Starts a scripted model server: a program that takes the port and these arguments. */
export const startTarget = (
  program = "test/faults/target.ts",
  ...args: readonly string[]
): Promise<Running> =>
  run(async (port) => {
    const child = fork(`${root}${program}`, [`${port}`, ...args], { execArgv: fromSources });
    const [said] = (await once(child, "message")) as [{ port: number }];
    return { child, port: said.port };
  });

/**
 * Starts a gateway, as `lintel serve` does.
 * @param options Node's own; @param entry its program, by default the sources
 * @param stderr where its log goes; a number is an open file
 */
export const startGateway = (
  config: string,
  options: readonly string[] = fromSources,
  entry = "src/main.ts",
  stderr: "ignore" | "inherit" | number = "ignore",
): Promise<Running> =>
  run(async (known) => {
    // Of workers that share a port of the system's choice, the first has another one whenever none of them listens.
    const port = known || (await freePort());
    const args = [...options, `${root}${entry}`, "serve", "--config", config];
    const child = spawn(process.execPath, [...args, "--listen", `127.0.0.1:${port}`], {
      stdio: ["ignore", "pipe", stderr],
    });
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const found = / on http:\S+:(\d+)$/.exec(line)?.[1];
      if (!found) continue;
      child.stdout?.resume();
      return { child, port: Number(found) };
    }
    throw new Error("the gateway did not start");
  });

async function run(
  launch: (port: number) => Promise<{ child: ChildProcess; port: number }>,
): Promise<Running> {
  const first = await launch(0);
  let { child } = first;
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  };
  return {
    url: `http://127.0.0.1:${first.port}`,
    get pid() {
      return child.pid ?? 0;
    },
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    async restart() {
      child = (await launch(first.port)).child;
    },
  };
}
