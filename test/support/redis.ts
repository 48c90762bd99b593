/** A real Redis or Valkey on a free loopback port, without persistence. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The program, or `undefined`, which is said once. `LINTEL_REQUIRE_SERVERS=1` makes that a failure. */
export const redisBinary = find(["redis-server", "valkey-server"]);

function find(names: readonly string[]): string | undefined {
  const wanted = process.env.LINTEL_REDIS_SERVER;
  for (const name of wanted ? [wanted] : names) {
    try {
      execFileSync(name, ["--version"], { stdio: "ignore" });
      return name;
    } catch {}
  }
  const message = `there is no ${names.join(" or ")} on the PATH: what needs one is not tested`;
  if (process.env.LINTEL_REQUIRE_SERVERS === "1") throw new Error(message);
  console.warn(message);
  return undefined;
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

/**
 * Starts one; `close` it when done.
 * @param args more of the command line
 * @param tls files of a certificate and its key, for TLS only
 */
export async function startRedis(
  args: readonly string[] = [],
  tls?: { readonly cert: string; readonly key: string },
): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), "lintel-redis-"));
  const port = await freePort();
  const secured = tls && ["--tls-cert-file", tls.cert, "--tls-key-file", tls.key];
  const listening = secured
    ? ["--port", "0", "--tls-port", `${port}`, "--tls-auth-clients", "no", ...secured]
    : ["--port", `${port}`];
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
      child = await launch(directory, [...listening, ...args]);
    },
    async close() {
      await server.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

async function launch(directory: string, args: readonly string[]): Promise<ChildProcess> {
  const fixed = ["--bind", "127.0.0.1", "--dir", directory];
  const child = spawn(
    redisBinary ?? "redis-server",
    [...fixed, "--save", "", "--appendonly", "no", ...args],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
