/** Workers that end, hang, or are told to end. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { redisBinary } from "../support/redis.js";
import { build, folder } from "./lintel.js";
import { chat, gateway, impatient, inWorkers, linesOf, listening, startIn } from "./several.js";

beforeAll(build);

/** New connections, more than there are workers, are all answered. */
async function connectionsAreTaken(base: string): Promise<void> {
  const headers = { authorization: "Bearer me", connection: "close" };
  for (let i = 0; i < 6; i++) {
    expect((await fetch(`${base}/v1/models`, { headers })).status).toBe(200);
  }
}

describe.runIf(redisBinary)("workers", () => {
  test("one that ends is started again, and the others serve meanwhile", async () => {
    const { lintel, base } = await gateway();
    const [first] = listening(lintel);
    process.kill(first?.pid ?? 0, "SIGKILL");
    await lintel.saying(/"worker":1,"ending":"by SIGKILL".*a worker ended: it is started again/);
    expect(await (await chat(base)).text()).toContain(" two");
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    expect(listening(lintel).map(({ worker }) => worker)).toEqual([1, 2, 1]);
    const text = await (await fetch(`${base}/metrics`)).text();
    expect(text).toContain('target_info{worker="1",');
    expect(text).toContain('target_info{worker="2",');
  });

  test("what one had not taken yet when it ended, another one answers", async () => {
    const { lintel, base } = await gateway();
    const [first] = listening(lintel);
    process.kill(first?.pid ?? 0, "SIGSTOP");
    // One of these is handed to it.
    const calls = Array.from({ length: 4 }, () => chat(base));
    await Promise.any(calls);
    process.kill(first?.pid ?? 0, "SIGKILL");
    for (const call of calls) expect(await (await call).text()).toContain(" two");
    // It gets none of those that come before another is in its place.
    await connectionsAreTaken(base);
  });

  test("what none has taken is closed when all end", async () => {
    const { lintel, base } = await gateway();
    const pids = listening(lintel).map(({ pid = 0 }) => pid);
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    const { hostname, port } = new URL(base);
    const sockets = Array.from({ length: 5 }, () => connect(Number(port), hostname));
    const connected = sockets.map((socket) => once(socket, "connect"));
    // `once` would fail where a connection is reset, which is an end as well.
    const closed = sockets.map(
      (socket) => new Promise((resolve) => socket.on("error", () => {}).once("close", resolve)),
    );
    await Promise.all(connected);
    for (const pid of pids) process.kill(pid, "SIGKILL");
    await Promise.all(closed);
    await lintel.saying(/(?:a worker listens[\s\S]*){4}/);
    expect(await (await chat(base)).text()).toContain(" two");
  });

  test("let streams end on SIGTERM, and end themselves", async () => {
    const { lintel, base, server } = await gateway();
    const streams = await Promise.all([chat(base, "tiny", "wait"), chat(base, "tiny", "wait")]);
    lintel.kill("SIGTERM");
    await lintel.saying(/shutting down/);
    server.release();
    for (const stream of streams) expect(await stream.text()).toMatch(/ two[\s\S]*\[DONE\]\n\n$/);
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
  });

  test("are cut off by a second signal, which says how many calls they had", async () => {
    const { lintel, base } = await gateway();
    const streams = await Promise.all([chat(base, "tiny", "wait"), chat(base, "tiny", "wait")]);
    lintel.kill("SIGTERM");
    const again = setInterval(() => lintel.kill("SIGTERM"), 50);
    expect(await lintel.ended).toEqual({ code: 143, signal: null });
    clearInterval(again);
    expect(lintel.stderr).toMatch(/"calls":2,"status":143,"msg":"a second signal ends the/);
    // On a connection for one call fetch takes its mere end for the answer's, too.
    for (const stream of streams) expect(await stream.text().catch(() => "")).not.toMatch(/DONE/);
  });

  test.each([
    ["a service manager", "SIGTERM"],
    ["a terminal", "SIGINT"],
  ] as const)(
    "end once, and none begins anew, where %s tells all of them",
    async (_who, signal) => {
      const { lintel, base, server } = await gateway();
      const streams = await Promise.all([chat(base, "tiny", "wait"), chat(base, "tiny", "wait")]);
      for (const { pid = 0 } of listening(lintel)) {
        // A terminal that closes says so, too.
        process.kill(pid, "SIGHUP");
        process.kill(pid, signal);
      }
      lintel.kill(signal);
      await lintel.saying(/shutting down/);
      server.release();
      for (const stream of streams) expect(await stream.text()).toMatch(/ two[\s\S]*\[DONE\]\n\n$/);
      expect(await lintel.ended).toEqual({ code: 0, signal: null });
      expect(listening(lintel)).toHaveLength(2);
      expect(lintel.stderr).not.toMatch(/a worker (?:ended|leaves)/);
    },
  );

  test("one that is terminated alone ends its calls, and has another in its place", async () => {
    const { lintel, base, server, write } = await gateway();
    const [first] = listening(lintel);
    // Each has one.
    const streams = await Promise.all([chat(base, "tiny", "wait"), chat(base, "tiny", "wait")]);
    process.kill(first?.pid ?? 0, "SIGTERM");
    await lintel.saying(/a worker leaves/);
    // It takes over nothing more, and the one in its place has what was loaded meanwhile from its start on.
    write("models: [{ name: another, model: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/configuration reloaded/);
    server.release();
    for (const stream of streams) expect(await stream.text()).toMatch(/ two[\s\S]*\[DONE\]\n\n$/);
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    for (let i = 0; i < 2; i++) expect(await (await chat(base, "another")).text()).toContain("two");
    expect(linesOf(lintel).filter(({ level }) => level > 30)).toEqual([]);
  });

  test("one that is terminated before it runs any code is started again, which is no error", async () => {
    const preload = join(
      folder({
        "terminated.mjs": `
import cluster from "node:cluster";
if (cluster.worker?.id === 3) process.kill(process.pid, "SIGTERM");
`,
      }),
      "terminated.mjs",
    );
    const options = `--import=${pathToFileURL(preload)}`;
    const { lintel } = await gateway("", { NODE_OPTIONS: options });
    process.kill(listening(lintel)[0]?.pid ?? 0, "SIGTERM");
    await lintel.saying(/(?:a worker left[\s\S]*){2}/);
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    expect(linesOf(lintel).filter(({ level }) => level > 30)).toEqual([]);
  });

  test("one that is terminated alone, and has calls, refuses none that others can take", async () => {
    const { lintel, base, server } = await gateway();
    const [first] = listening(lintel);
    // Each has one, so that none is over at once.
    const streams = await Promise.all([chat(base, "tiny", "wait"), chat(base, "tiny", "wait")]);
    process.kill(first?.pid ?? 0, "SIGTERM");
    await lintel.saying(/a worker leaves/);
    await connectionsAreTaken(base);
    server.release();
    for (const stream of streams) expect(await stream.text()).toMatch(/\[DONE\]\n\n$/);
  });

  test("those that are terminated one by one leave one after the other, so that calls are taken", async () => {
    const { lintel, base, server } = await gateway();
    const streams = await Promise.all([chat(base, "tiny", "wait"), chat(base, "tiny", "wait")]);
    const pids = listening(lintel).map(({ pid = 0 }) => pid);
    for (const pid of pids) process.kill(pid, "SIGTERM");
    await lintel.saying(/a worker leaves/);
    await connectionsAreTaken(base);
    server.release();
    for (const stream of streams) expect(await stream.text()).toMatch(/\[DONE\]\n\n$/);
    await lintel.saying(/(?:a worker listens[\s\S]*){4}/);
    const order = linesOf(lintel).map(({ msg }) => /^a worker (listens|leaves)/.exec(msg)?.[1]);
    expect(order.filter((what) => what !== undefined).slice(2)).toEqual([
      "leaves",
      "listens",
      "leaves",
      "listens",
    ]);
  });

  test("one that ends as soon as a signal told it to leave has a successor that stays", async () => {
    // Once it has told of the signal, and before it is known whether that was for all.
    const killed =
      "process.on('SIGTERM', () => setImmediate(process.kill, process.pid, 'SIGKILL'));";
    const lintel = await impatient("firstPause: 0", inWorkers(killed));
    const [first] = listening(lintel);
    process.kill(first?.pid ?? 0, "SIGTERM");
    await lintel.saying(/"worker":1,"ending":"by SIGKILL".*a worker ended: it is started again/);
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    expect(lintel.stderr).not.toContain("a worker leaves");
  });

  test("one that hangs is ended, and started again", async () => {
    const lintel = await impatient("beatMs: 100, missed: 30");
    const [first, second] = listening(lintel);
    process.kill(first?.pid ?? 0, "SIGKILL");
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    process.kill(second?.pid ?? 0, "SIGSTOP");
    await lintel.saying(/"worker":2,.*"forMs":3000,"msg":"a worker hangs: it is killed"/);
    await lintel.saying(/"worker":2,"ending":"by SIGKILL"/);
    await lintel.saying(/(?:a worker listens[\s\S]*){4}/);
    expect(listening(lintel).map(({ worker }) => worker)).toEqual([1, 2, 1, 2]);
    // Of the one that ended before it nobody said so, which has answered nothing for longer.
    expect(lintel.stderr.match(/a worker hangs/g)).toHaveLength(1);
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
  });

  test("one that hangs holds up nobody who reads the metrics of all", async () => {
    const { lintel, base } = await gateway();
    const [, second] = listening(lintel);
    process.kill(second?.pid ?? 0, "SIGSTOP");
    // Stopped, it would outlive all others: it hears of no end.
    onTestFinished(() => void process.kill(second?.pid ?? 0, "SIGCONT"));
    // One of these is handed to it.
    const headers = { connection: "close" };
    const reads = [1, 2, 3].map(() => fetch(`${base}/metrics`, { headers }));
    for (const read of reads) read.catch(() => {});
    const text = await (await Promise.any(reads)).text();
    expect(text).toContain('target_info{worker="1",');
    expect(text).not.toContain('target_info{worker="2",');
    expect(lintel.stderr).not.toContain("a worker hangs");
  });

  test("one that is terminated, and does not come to its end, is killed, and started again", async () => {
    const never = inWorkers("process.exit = () => new Promise(() => {});");
    const lintel = await impatient("endMs: 10", never);
    const [first] = listening(lintel);
    process.kill(first?.pid ?? 0, "SIGTERM");
    await lintel.saying(/"worker":1,"ending":"by SIGKILL".*a worker ended: it is started again/);
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
  });

  test("end with the first process, however that ends, and start again where it left its socket", async () => {
    const { lintel, base, cwd } = await gateway();
    const { hostname, port } = new URL(base);
    const closed = [1, 2].map(() => {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      socket.resume().write("GET /healthz HTTP/1.1\r\nhost: here\r\n\r\n");
      const over = new Promise<void>((resolve) => {
        socket.on("close", () => resolve());
      });
      const answered = new Promise<void>((resolve) => {
        socket.once("data", () => resolve());
      });
      return { answered, over };
    });
    await Promise.all(closed.map(({ answered }) => answered));
    lintel.kill("SIGKILL");
    await Promise.all(closed.map(({ over }) => over));
    await expect(fetch(`${base}/healthz`)).rejects.toThrow();
    expect(existsSync(join(cwd, "lintel.sock"))).toBe(true);
    const { lintel: next } = await startIn(cwd);
    expect(listening(next).map(({ worker }) => worker)).toEqual([1, 2]);
    expect(next.stderr).not.toContain("a worker ended");
  });
});
