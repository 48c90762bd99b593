/** Stores in a cluster of Redis or Valkey, as its nodes say where they are and move slots. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Claim } from "../../src/core/limits/store.js";
import type { Logger } from "../../src/core/log.js";
import { RedisLimits } from "../../src/state/limits/redis.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { type ClusterNode, startCluster } from "../support/cluster.js";
import { redisBinary, redisServers } from "../support/redis.js";
import { ofDay } from "./claims.js";

/** Milliseconds to wait for an answer that comes, however busy the machine. */
const patient = 30_000;

const images = (amount: number): Claim => ({
  counter: ofDay("images", 1000),
  amount,
});

/** A connection, and what the log hears. */
function connected(url: string | readonly string[], timeoutMs?: number) {
  const said: string[] = [];
  const say = ({ reason = "" }: { reason?: string }, text: string) =>
    void said.push(reason ? `${text}: ${reason}` : text);
  const log = { warn: say, info: say } as unknown as Logger;
  const connection = new RedisConnection({ url, timeoutMs }, log);
  onTestFinished(() => connection.close());
  return { connection, said };
}

const there = (connection: RedisConnection) =>
  vi.waitFor(() => expect(connection.available).toBe(true));

/** The node that has the limits, the other one, and the slot of the limits. */
function ofLimits([one, other]: readonly ClusterNode[]) {
  if (!one || !other) throw new Error("two nodes are needed");
  const slot = one.cli("cluster", "keyslot", "{limits}");
  return Number(slot) < 8192 ? { from: one, to: other, slot } : { from: other, to: one, slot };
}

describe.skipIf(!redisBinary).each(redisServers)("a cluster of %s", (_, binary) => {
  it("is told of where one address alone stands for it", async () => {
    const { from, to } = ofLimits(await startCluster(2, { binary }));
    const hint = expect.stringMatching(
      /^this Redis is a node of a cluster: state\.redis\.url must/,
    );
    const lucky = connected(from.url);
    await vi.waitFor(() => expect(lucky.said).toEqual([hint]));
    await there(lucky.connection);
    const other = connected(to.url);
    await vi.waitFor(() => expect(other.said).toHaveLength(2));
    expect(other.said).toContainEqual(hint);
    expect(other.said).toContainEqual(
      expect.stringMatching(/away.*for which state\.redis\.url must be a list: MOVED \d+ /),
    );
    const list = connected([to.url]);
    await there(list.connection);
    expect(list.said).toEqual([]);
  });

  it("counts as away once while the limits move to another node, and counts each call once", async () => {
    const { from, to, slot } = ofLimits(await startCluster(2, { binary }));
    // Half of it is for trying again: the rest has to be enough on a busy machine, too.
    const { connection, said } = connected([from.url], 5000);
    await there(connection);
    const limits = new RedisLimits(connection, {});
    onTestFinished(() => limits.close());
    let calls = 0;
    const call = async () => {
      const verdict = await limits.reserve([images(1)]);
      if (!verdict.granted) throw new Error("refused");
      limits.settle(verdict.reservation, [1]);
      calls++;
    };
    const probes = vi.spyOn(connection.client, "eval");
    /** Calls go on until it was looked several times whether the store is back. */
    const goOn = async () => {
      const before = probes.mock.calls.length;
      await vi.waitFor(async () => {
        await call();
        expect(probes.mock.calls.length).toBeGreaterThan(before + 2);
      });
    };
    const move = (key: string) =>
      from.cli("migrate", "127.0.0.1", `${to.port}`, key, "0", `${patient}`);
    await call();
    to.cli("cluster", "setslot", slot, "importing", from.cli("cluster", "myid"));
    from.cli("cluster", "setslot", slot, "migrating", to.cli("cluster", "myid"));
    await goOn();
    move("lintel:{limits}:images");
    await goOn();
    for (const key of from.cli("cluster", "getkeysinslot", slot, "1000").split("\n")) {
      if (key) move(key);
    }
    await goOn();
    expect(said).toEqual([
      expect.stringMatching(/^the store is away.*: the slot .* moves to another node/),
    ]);
    for (const { cli } of [to, from]) {
      cli("cluster", "setslot", slot, "node", to.cli("cluster", "myid"));
    }
    await there(connection);
    expect(said).toEqual([expect.anything(), "the store is back"]);
    await call();
    await vi.waitFor(async () => {
      const { standings } = await limits.reserve([images(0)]);
      expect(standings[0]?.remaining).toBe(1000 - calls);
    });
    expect(await limits.peek([images(1).counter])).toMatchObject([{ remaining: 1000 - calls }]);
    expect(limits.state).toMatchObject({ available: true, outages: 1 });
  });

  it("whose nodes announce what can't be reached is told of by that, and how to mend it", async () => {
    const [node] = await startCluster(1, { binary, args: ["--cluster-announce-port", "1"] });
    const { connection, said } = connected([node?.url ?? ""]);
    await connection.settled(patient);
    await vi.waitFor(() =>
      expect(said.at(-1)).toMatch(
        /node 127\.0\.0\.1:1 can't be reached .*cluster-announce-ip.*ECONNREFUSED/,
      ),
    );
    expect(said.filter((line) => line.includes("announce"))).toHaveLength(1);
  });

  it("is found by the names that its nodes announce, whatever their numbers are", async () => {
    const names = ["--cluster-announce-hostname", "localhost"];
    const preferred = ["--cluster-preferred-endpoint-type", "hostname"];
    // The last one counts.
    const args = ["--cluster-announce-ip", "192.0.2.7", ...names, ...preferred];
    const [node] = await startCluster(1, { binary, args });
    expect(node?.cli("cluster", "slots")).toMatch(/localhost[\s\S]*192\.0\.2\.7/);
    await there(connected([node?.url ?? ""]).connection);
  });
});
