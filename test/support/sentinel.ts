/** A real Redis Sentinel, or several, on free loopback ports. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "./port.js";
import { type RedisServer, redisBinary } from "./redis.js";

/** Sentinels of one primary. */
export interface Sentinels {
  /** `redis://127.0.0.1:PORT` of each. */
  readonly urls: readonly string[];
  /** Port of the server that the first of them takes for the primary. */
  primary(): number;
  /** The same of each. */
  primaries(): number[];
  /** Asks one of them something. */
  ask(...words: string[]): string;
  close(): Promise<void>;
}

/**
 * Starts some; `close` them when done.
 * @param count how many, of which more than half agree on what is gone
 * @param more of their configuration, such as `requirepass`
 * @param binary the program
 */
export async function startSentinels(
  name: string,
  primary: RedisServer,
  {
    count = 1,
    more = [] as readonly string[],
    password = "",
    binary = redisBinary as string | undefined,
  } = {},
): Promise<Sentinels> {
  const folder = mkdtempSync(join(tmpdir(), "lintel-sentinel-"));
  const ports: number[] = [];
  const children = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const port = await freePort();
      ports[i] = port;
      const file = join(folder, `${port}.conf`);
      const watched = [
        `monitor ${name} 127.0.0.1 ${primary.port} ${Math.floor(count / 2) + 1}`,
        `down-after-milliseconds ${name} 1000`,
        `failover-timeout ${name} 3000`,
      ];
      const lines = [`port ${port}`, "bind 127.0.0.1", `dir ${folder}`, ...more];
      writeFileSync(file, [...lines, ...watched.map((line) => `sentinel ${line}`), ""].join("\n"));
      const child = spawn(binary ?? "redis-server", [file, "--sentinel"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      for await (const line of createInterface({ input: child.stdout })) {
        if (!line.includes("+monitor")) continue;
        child.stdout.resume();
        return child;
      }
      throw new Error("the sentinel did not start");
    }),
  );
  const secret = password ? ["-a", password, "--no-auth-warning"] : [];
  const askAt = (port: number | undefined, ...words: string[]) =>
    execFileSync("redis-cli", ["-p", `${port}`, ...secret, "sentinel", ...words], {
      encoding: "utf8",
    }).trim();
  const ask = (...words: string[]) => askAt(ports[0], ...words);
  const primaryAt = (port: number | undefined) =>
    Number(askAt(port, "get-master-addr-by-name", name).split("\n")[1]);
  return {
    urls: ports.map((port) => `redis://127.0.0.1:${port}`),
    primary: () => primaryAt(ports[0]),
    primaries: () => ports.map(primaryAt),
    ask,
    async close() {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const gone = once(child, "exit");
          child.kill("SIGKILL");
          await gone;
        }),
      );
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
