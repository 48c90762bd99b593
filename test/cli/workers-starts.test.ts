/** Workers that begin, can't begin, or begin again and again. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { redisBinary } from "../support/redis.js";
import { build, folder } from "./lintel.js";
import {
  chat,
  gateway,
  impatient,
  inWorkers,
  listening,
  noSeconds,
  preloading,
  startOne,
} from "./several.js";

beforeAll(build);

describe.runIf(redisBinary)("a worker", () => {
  test.each([
    ["counts its ends", 1e9, [1, 2]],
    ["that lived for long enough begins to count them anew", 0, [1, 1]],
  ])("%s", async (_what, healthyAfter, counted) => {
    const lintel = await impatient(`healthyAfter: ${healthyAfter}`);
    for (const [i, ends] of counted.entries()) {
      process.kill(listening(lintel).at(-1)?.pid ?? 0, "SIGKILL");
      const ended = `(?:"ending":"by SIGKILL","ends":\\d[\\s\\S]*){${i}}"ending":"by SIGKILL","ends":(\\d)`;
      const [, count] = await lintel.saying(new RegExp(ended));
      expect(count).toBe(String(ends));
      await lintel.saying(new RegExp(`(?:a worker listens[\\s\\S]*){${i + 3}}`));
    }
  });

  test("that is to begin again later does not where all end meanwhile", async () => {
    const lintel = await impatient("firstPause: 60_000");
    process.kill(listening(lintel).at(-1)?.pid ?? 0, "SIGKILL");
    await lintel.saying(/a worker ended: it is started again/);
    // Its timer would keep the first process, and it nobody would end.
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
    expect(listening(lintel)).toHaveLength(2);
  });

  test("that does not come to its start holds up neither the others, nor their end", async () => {
    const first = join(folder(), "first");
    const { lintel, base, server, write } = await gateway(
      "",
      inWorkers(`
const { openSync } = await import("node:fs");
try {
  openSync(${JSON.stringify(first)}, "wx");
} catch {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}`),
      1,
    );
    write("models: [{ name: another, model: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/configuration reloaded/);
    const stream = await chat(base, "another", "wait");
    lintel.kill("SIGTERM");
    await lintel.saying(/shutting down/);
    server.release();
    expect(await stream.text()).toMatch(/ two[\s\S]*\[DONE\]\n\n$/);
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
  });

  test("that begins while all end holds up nobody", async () => {
    const stuck = join(folder(), "stuck");
    const lintel = await impatient(
      "",
      inWorkers(`
const { existsSync, writeSync } = await import("node:fs");
if (existsSync(${JSON.stringify(stuck)})) {
  writeSync(2, "it waits\\n");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}`),
    );
    writeFileSync(stuck, "");
    process.kill(listening(lintel).at(-1)?.pid ?? 0, "SIGKILL");
    await lintel.saying(/^it waits$/m);
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
  });
});

const unready = {
  "lintel.yaml": `listen: 127.0.0.1:0
workers: 2
state: { redis: { url: "redis://127.0.0.1:1" } }
backends: []
`,
};

test.each([
  ["single", ""],
  ["watched", "reload: watch\n"],
])(
  "workers listen, and leave when told to, though a server hangs that may have models (%s)",
  async (_what, more) => {
    const server = createServer(() => {});
    onTestFinished(() => void server.close().closeAllConnections());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const hanging = unready["lintel.yaml"].replace(
      "backends: []",
      `backends: [{ type: openai, name: hangs, url: "http://127.0.0.1:${port}" }]`,
    );
    const lintel = startOne([], folder({ "lintel.yaml": hanging + more }), noSeconds);
    await lintel.saying(/(?:a worker listens[\s\S]*){2}/);
    expect(lintel.stdout).toBe("");
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
    expect(lintel.stdout).toBe("");
  },
);

test.each([
  [
    "is said",
    "process.kill(process.pid, 'SIGKILL')",
    { code: 1, signal: null },
    /"ending":"by SIG.*the first worker ended before it listened/,
  ],
  [
    "is no failure where all are told to end",
    "process.kill(process.ppid, 'SIGTERM'); process.kill(process.pid, 'SIGTERM')",
    { code: 0, signal: null },
    /"signal":"SIGTERM","graceMs":0,"msg":"shutting down"\}\n$/,
  ],
])("that the first worker is killed before it listens %s", async (_what, kill, ended, said) => {
  const lintel = startOne([], folder(unready), inWorkers(kill));
  expect(await lintel.ended).toEqual(ended);
  expect(lintel.stderr).toMatch(said);
});

test.each([
  // Node tells the one by an event, the other it throws.
  ["ENOENT", "process.execPath = '/there/is/none'"],
  ["E2BIG", "process.env.MUCH = 'x'.repeat(3e6)"],
])("that the system lets no worker begin (%s) is said", async (code, lacking) => {
  const lintel = startOne([], folder(unready), preloading(lacking));
  expect(await lintel.ended).toEqual({ code: 1, signal: null });
  expect(lintel.stderr).toMatch(
    new RegExp(`"ending":"before it began: .*${code}".*the first worker ended before it listened`),
  );
});
