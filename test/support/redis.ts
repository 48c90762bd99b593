/** A real Redis or Valkey on a free loopback port, without persistence. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "./port.js";

const redis = find("redis-server", process.env.LINTEL_REDIS_SERVER);
const valkey = find("valkey-server", process.env.LINTEL_VALKEY_SERVER);

/** A program, or `undefined`, which is said once. `LINTEL_REQUIRE_SERVERS=1` makes that a failure. */
export const redisBinary = redis ?? valkey;
if (!redisBinary) {
  const message =
    "there is no redis-server or valkey-server on the PATH: what needs one is not tested";
  if (process.env.LINTEL_REQUIRE_SERVERS === "1") throw new Error(message);
  console.warn(message);
}

if (redis && !valkey) {
  console.warn("there is no valkey-server on the PATH: stores are tested with Redis alone");
}

/** Names and programs of all that are here, for suites that every one of them has to pass; at least one. */
export const redisServers: readonly (readonly [name: string, binary: string | undefined])[] = [
  ...(redis || !valkey ? [["Redis", redis] as const] : []),
  ...(valkey ? [["Valkey", valkey] as const] : []),
];

function find(usual: string, wanted: string | undefined): string | undefined {
  const name = wanted || usual;
  try {
    execFileSync(name, ["--version"], { stdio: "ignore" });
    return name;
  } catch (cause) {
    if (wanted) throw new Error(`${wanted} does not run`, { cause });
    return undefined;
  }
}

/** A server that runs, or can be started again on the same port. */
export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:PORT`, or `rediss://` */
  readonly url: string;
  /** Ends it without a word, as `kill -9` does. */
  kill(): Promise<void>;
  /** Makes it deaf: connections stay, nothing is answered. */
  pause(): void;
  resume(): void;
  /** Starts it again, empty. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What can be said of a server. */
export interface RedisOptions {
  /** More of the command line. */
  readonly args?: readonly string[];
  /** Whether it is a node of a cluster, which has no slots yet. */
  readonly cluster?: boolean;
  /** Files of a certificate and its key, for TLS only. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The program. Default: whichever is here. */
  readonly binary?: string | undefined;
}

/** Starts one; `close` it when done. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { args = [], cluster, tls, binary = redisBinary ?? "redis-server" } = options;
  const directory = mkdtempSync(join(tmpdir(), "lintel-redis-"));
  const port = await freePort();
  const secured = tls && ["--tls-cert-file", tls.cert, "--tls-key-file", tls.key];
  const listening = secured
    ? ["--port", "0", "--tls-port", `${port}`, "--tls-auth-clients", "no", ...secured]
    : ["--port", `${port}`];
  if (cluster) {
    // Else its nodes speak at a port that is 10,000 higher, and many have none.
    const bus = ["--cluster-port", `${await freePort()}`];
    listening.push("--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", ...bus);
  }
  let child: ChildProcess | undefined;
  const server: RedisServer = {
    port,
    url: `${tls ? "rediss" : "redis"}://127.0.0.1:${port}`,
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    async start() {
      child = await launch(binary, directory, [...listening, ...args]);
    },
    async close() {
      await server.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

async function launch(
  binary: string,
  directory: string,
  args: readonly string[],
): Promise<ChildProcess> {
  const fixed = ["--bind", "127.0.0.1", "--dir", directory];
  const child = spawn(binary, [...fixed, "--save", "", "--appendonly", "no", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    said += `${line}\n`;
    if (line.includes("eady to accept connections")) {
      child.stdout?.resume();
      return child;
    }
  }
  throw new Error(`the server did not start:\n${said}`);
}
