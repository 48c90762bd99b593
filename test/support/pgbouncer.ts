/** A real PgBouncer before a PostgreSQL, in transaction mode, on a free loopback port. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { freePort } from "./port.js";

const program = "pgbouncer";

/** Why it can't be run here; `undefined` if it can. */
export const noPgBouncer: string | undefined =
  spawnSync(program, ["--version"]).status === 0 ? undefined : "PgBouncer is not installed";

if (noPgBouncer !== undefined) {
  const message = `a pooler before PostgreSQL is not tested: ${noPgBouncer}`;
  if (process.env.LINTEL_REQUIRE_SERVERS === "1") throw new Error(message);
  console.warn(message);
}

/** As PostgreSQL, it does not run as root. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/**
 * Starts one until the test is over.
 * @param database the URL of a database, on a Unix socket
 * @param connections that it has to the server, at most
 * @returns the URL of the same database through it
 */
export async function startPgBouncer(database: string, connections: number): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "lintel-pgbouncer-"));
  if (nobody.uid !== undefined) chownSync(home, nobody.uid, nobody.gid);
  const port = await freePort();
  const { username, searchParams } = new URL(database);
  const file = join(home, "pgbouncer.ini");
  const lines = [
    "[databases]",
    `* = host=${searchParams.get("host")} user=${username}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    `default_pool_size = ${connections}`,
  ];
  writeFileSync(file, lines.join("\n"));
  const child = spawn(program, [file], { ...nobody, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  let said = "";
  for await (const line of createInterface({ input: child.stderr })) {
    said += `${line}\n`;
    if (!line.includes("process up")) continue;
    child.stderr.resume();
    return `postgres://${username}@127.0.0.1:${port}${new URL(database).pathname}`;
  }
  throw new Error(`PgBouncer did not start:\n${said}`);
}
