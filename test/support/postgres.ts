/** A real PostgreSQL of a test's own: in a temporary folder, on a Unix socket. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import pg from "pg";
import { childrenOf } from "./children.js";

/** A server that can be stopped and started again. */
export interface PostgresServer {
  /** Of a database that is empty at first. */
  readonly url: string;
  /** Creates one more empty database; answers its URL. */
  create(name: string): Promise<string>;
  /** Ends it at once, as a crash would, also where it stands still. */
  kill(): Promise<void>;
  /** Ends it as an operator does who waits for nobody: open transactions are undone, and each connection is told why. */
  stop(): Promise<void>;
  /** Makes it deaf, with all processes that it has: connections stay, nothing is answered. */
  pause(): void;
  resume(): void;
  /** Whether transactions that begin from now on may only read, as of a server that is no primary any more. */
  readOnly(only: boolean): Promise<void>;
  /** Starts it again, with what it kept; nothing happens if it runs. */
  start(): Promise<void>;
  /** Ends it and forgets everything. */
  remove(): Promise<void>;
}

/** Where the programs are: on the path, or where Debian has them. */
const folder = [
  ...(process.env.PATH ?? "").split(delimiter),
  ...(existsSync("/usr/lib/postgresql")
    ? readdirSync("/usr/lib/postgresql").map((version) => `/usr/lib/postgresql/${version}/bin`)
    : []),
].find((path) => existsSync(join(path, "postgres")) && existsSync(join(path, "initdb")));

/** Why the server can't be run here; `undefined` if it can. */
export const noPostgres: string | undefined = folder
  ? undefined
  : "PostgreSQL is not installed: no postgres and initdb on the path";

if (noPostgres !== undefined && process.env.LINTEL_REQUIRE_SERVERS === "1") {
  throw new Error(`${noPostgres}, and LINTEL_REQUIRE_SERVERS is 1`);
}
if (noPostgres !== undefined) console.warn(`tests with PostgreSQL are not run: ${noPostgres}`);

/** PostgreSQL refuses to run as root; any other user will do. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Starts a server; `remove` it when done. */
export async function startPostgres(): Promise<PostgresServer> {
  const home = mkdtempSync(join(tmpdir(), "lintel-postgres-"));
  const data = join(home, "data");
  chmodSync(home, 0o700);
  if (nobody.uid !== undefined) chownSync(home, nobody.uid, nobody.gid);
  const options = { cwd: home, ...nobody, env: { PATH: process.env.PATH ?? "", LC_ALL: "C" } };
  const initdb = ["-D", data, "-U", "lintel", "-A", "trust", "-E", "UTF8", "--no-sync"];
  execFileSync(join(folder ?? "", "initdb"), initdb, { ...options, stdio: "pipe" });
  const settings = ["listen_addresses=", `unix_socket_directories=${home}`, "max_connections=50"];
  let server: ChildProcess | undefined;
  const urlOf = (database: string) =>
    `postgres://lintel@localhost/${database}?host=${encodeURIComponent(home)}`;
  const isRunning = () =>
    server !== undefined && server.exitCode === null && server.signalCode === null;
  const end = async (signal: NodeJS.Signals) => {
    if (!server || !isRunning()) return;
    const gone = once(server, "close");
    server.kill(signal);
    // What stands still heeds nothing.
    self.resume();
    await gone;
  };
  const run = async (...statements: string[]) => {
    const client = new pg.Client(urlOf("postgres"));
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  /** The server first, which alone makes more of them. */
  const signal = (name: "SIGSTOP" | "SIGCONT") => {
    const pid = server?.pid;
    if (!isRunning() || pid === undefined) return;
    process.kill(pid, name);
    for (const child of childrenOf(pid)) {
      try {
        process.kill(child, name);
      } catch {
        // One that served a connection that is gone.
      }
    }
  };
  const self: PostgresServer = {
    url: urlOf("postgres"),
    async create(name) {
      await run(`CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    // Of the server itself a SIGKILL would leave its children and their memory behind.
    kill: () => end("SIGQUIT"),
    stop: () => end("SIGINT"),
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    readOnly: (only) =>
      run(
        "SET default_transaction_read_only = off",
        `ALTER SYSTEM SET default_transaction_read_only = ${only ? "on" : "off"}`,
        "SELECT pg_reload_conf()",
      ),
    async start() {
      if (isRunning()) return;
      const args = ["-D", data, "-F", ...settings.flatMap((setting) => ["-c", setting])];
      const child = spawn(join(folder ?? "", "postgres"), args, {
        ...options,
        stdio: ["ignore", "ignore", "pipe"],
      });
      server = child;
      let said = "";
      await new Promise<void>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", () => reject(new Error(`PostgreSQL ended: ${said}`)));
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          said += text;
          if (said.includes("ready to accept connections")) resolve();
        });
      });
    },
    async remove() {
      await self.kill();
      rmSync(home, { recursive: true, force: true });
    },
  };
  await self.start();
  return self;
}
