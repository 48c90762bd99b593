/** A real cluster of Redis or Valkey on free loopback ports. */
import { execFileSync } from "node:child_process";
import { onTestFinished, vi } from "vitest";
import { type RedisServer, startRedis } from "./redis.js";

/** How many slots a cluster has. */
const slots = 16_384;

/** A node, and what it can be asked. */
export interface ClusterNode extends RedisServer {
  /** Asks it something; @returns what it said, without the line's end */
  cli(...words: string[]): string;
}

/**
 * Starts nodes that share the slots, the first ones at the first node, until the test is over.
 * @param binary default: whichever is here
 */
export async function startCluster(
  count: number,
  { binary, args = [] }: { readonly binary?: string | undefined; readonly args?: string[] } = {},
): Promise<readonly ClusterNode[]> {
  const nodes: ClusterNode[] = [];
  onTestFinished(async () => {
    await Promise.all(nodes.map((node) => node.close()));
  });
  for (let i = 0; i < count; i++) {
    const server = await startRedis({ cluster: true, args, binary });
    const cli = (...words: string[]) =>
      execFileSync("redis-cli", ["-p", `${server.port}`, ...words], { encoding: "utf8" }).trim();
    nodes.push({ ...server, cli });
    const [from, to] = [Math.ceil((i * slots) / count), Math.ceil(((i + 1) * slots) / count) - 1];
    cli("cluster", "addslotsrange", `${from}`, `${to}`);
    const bus = cli("config", "get", "cluster-port").split("\n")[1] ?? "";
    if (i > 0) nodes[0]?.cli("cluster", "meet", "127.0.0.1", `${server.port}`, bus);
  }
  for (const { cli } of nodes) {
    await vi.waitFor(() => {
      if (!/cluster_state:ok[\s\S]*cluster_slots_ok:16384/.test(cli("cluster", "info"))) {
        throw new Error(cli("cluster", "info"));
      }
    });
  }
  return nodes;
}
