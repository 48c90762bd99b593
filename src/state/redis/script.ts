/** Lua scripts: what happens in one step at the store. */
import { createHash } from "node:crypto";
import type { RedisClient } from "./client.js";
import type { RedisConnection } from "./connection.js";

/** A script with the name under which the store keeps it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** Names a script. */
export function script(source: string): Script {
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}

/**
 * Sends scripts whenever the store is there, ahead of those who want to run them. Not to a cluster:
 * what has no key goes to any node there, also to one that is gone.
 */
export function preload(connection: RedisConnection, scripts: readonly Script[]): void {
  if (connection.client.isCluster) return;
  connection.onAvailable(() => {
    for (const { source } of scripts) {
      connection.ask((client) => client.script("LOAD", source).catch(forbidden)).catch(() => {});
    }
  });
}

/** A user may be allowed to run scripts, and not to send them ahead: they come along then. */
function forbidden(error: unknown): void {
  if (!(error instanceof Error) || !error.message.startsWith("NOPERM")) throw error;
}

/**
 * Runs a script, and brings it along where the store does not have it (any more).
 * @param keys all of one slot, where the store is a cluster
 * @param as what strings of the answer come as
 */
export async function runScript(
  client: RedisClient,
  { source, sha }: Script,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
  as: "text" | "bytes" = "text",
): Promise<unknown> {
  const run = (command: "evalsha" | "eval", text: string) =>
    as === "text"
      ? client.call(command, text, keys.length, ...keys, ...args)
      : client.callBuffer(command, text, keys.length, ...keys, ...args);
  try {
    return await run("evalsha", sha);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
    return run("eval", source);
  }
}
