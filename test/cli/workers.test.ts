/** Several processes at one address, as a user starts them. */
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { backend, type ModelServer, modelServer } from "../reload/model-server.js";
import { freePort } from "../support/port.js";
import { redisBinary, startRedis } from "../support/redis.js";
import { build, entry, folder, type Lintel, run, start } from "./lintel.js";

beforeAll(build);

const started: Lintel[] = [];
afterEach(async () => {
  for (const lintel of started.splice(0)) {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  }
});

interface Gateway {
  readonly lintel: Lintel;
  readonly base: string;
  readonly server: ModelServer;
  readonly cwd: string;
  /** Writes its file anew. */
  write(more: string): void;
}

/** New connections, more than there are workers, are all answered. */
async function connectionsAreTaken(base: string): Promise<void> {
  const headers = { authorization: "Bearer me", connection: "close" };
  for (let i = 0; i < 6; i++) {
    expect((await fetch(`${base}/v1/models`, { headers })).status).toBe(200);
  }
}

/** Two workers with a model `tiny`, once they listen. */
async function gateway(more = "", env: NodeJS.ProcessEnv = {}): Promise<Gateway> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const server = await modelServer("tiny");
  // Not any free one: another would be free once all of them have ended.
  const port = await freePort();
  const text = (more: string) => `listen: ["127.0.0.1:${port}", "unix:./lintel.sock"]
workers: 2
state: { directory: ./state, redis: { url: "${redis.url}" } }
telemetry: { prometheus: true }
backends:
${backend("tiny", server.url)}${more}`;
  const cwd = folder({ "lintel.yaml": text(more) });
  const { lintel, base } = await startIn(cwd, env);
  return {
    lintel,
    base,
    server,
    cwd,
    write: (more) => writeFileSync(join(cwd, "lintel.yaml"), text(more)),
  };
}

async function startIn(cwd: string, env: NodeJS.ProcessEnv = {}) {
  const lintel = start([], cwd, env);
  started.push(lintel);
  const [, base = ""] = await lintel.until(/ on (http:[^\s,]+)[\s\S]*curl [\s\S]*\n.*-d .*\n/);
  await lintel.saying(/(?:a worker listens[\s\S]*){2}/);
  return { lintel, base };
}

/** A call over a connection of its own: workers take turns with these. */
const chat = (base: string, model = "tiny", content = "Hello", token = "me") =>
  fetch(`${base}/llm`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      connection: "close",
    },
    body: JSON.stringify({ model, messages: [{ role: "user", content }], stream: true }),
  });

const linesOf = ({ stderr }: Lintel) =>
  stderr
    .trimEnd()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { msg: string; level: number; worker?: number; pid?: number },
    );

const listening = (lintel: Lintel) =>
  linesOf(lintel).filter(({ msg }) => msg === "a worker listens");

describe.runIf(redisBinary)("workers", () => {
  test("share their address, limits and metrics", async () => {
    const { lintel, base, cwd } = await gateway("limits: { caller: { requests_per_minute: 5 } }\n");
    expect(lintel.stdout.match(/^Lintel /gm)).toHaveLength(1);
    expect(lintel.stdout).toMatch(/Workers: +2 processes/);
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) {
      const answer = await chat(base);
      await answer.text();
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const text = await (await fetch(`${base}/metrics`)).text();
    const counted = [
      ...text.matchAll(/^gen_ai_server_request_duration_seconds_count\{worker="(\d)",.*} (\d+)$/gm),
    ];
    expect(new Set(counted.map(([, worker]) => worker))).toEqual(new Set(["1", "2"]));
    expect(counted.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(8);
    const seen = await run(["top", "--json"], cwd);
    expect(JSON.parse(seen.stdout)).toMatchObject({
      workers: 2,
      models: [{ model: "tiny", requests: 8, failed: 3 }],
      targets: [{ backend: "tiny", state: "in", attempts: 5 }],
    });
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(types).toEqual([...new Set(types)]);
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
    const workers = linesOf(lintel).filter(({ msg }) => msg === "call");
    expect(new Set(workers.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
  });

  test("know every key that their logs must not show, also a proxy's password", async () => {
    const password = "s3cret-of-a-proxy";
    const proxy = { HTTPS_PROXY: `http://user:${password}@127.0.0.1:1` };
    const { lintel, base } = await gateway("", proxy);
    expect((await chat(base, password)).status).toBe(404);
    lintel.kill("SIGTERM");
    await lintel.ended;
    expect(linesOf(lintel).filter(({ msg }) => msg === "call")).toHaveLength(1);
    expect(lintel.stderr).not.toContain(password);
  });

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

  test("take over a configuration together, and refuse a broken one once", async () => {
    const { lintel, base, write } = await gateway();
    write("models: [{ name: another, model: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/configuration reloaded/);
    const answers = await Promise.all(Array.from({ length: 4 }, () => chat(base, "another")));
    for (const answer of answers) expect(await answer.text()).toContain(" two");
    write("models: [{ name: another, modle: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/configuration not reloaded/);
    expect(await (await chat(base, "another")).text()).toContain(" two");
    lintel.kill("SIGTERM");
    await lintel.ended;
    const said = (msg: string) => linesOf(lintel).filter((line) => line.msg === msg);
    expect(said("configuration reloaded")).toHaveLength(1);
    expect(said("configuration not reloaded: the one before stays")).toHaveLength(1);
    const served = linesOf(lintel).filter((line) => line.msg === "call");
    expect(new Set(served.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
  });

  test("one that is started after a reload has what was loaded", async () => {
    const { lintel, base, write } = await gateway();
    write("models: [{ name: another, model: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/configuration reloaded/);
    // What stands in the file by then does not count: nobody has said so.
    write("models: [{ name: unsaid, modle: tiny }]\n");
    for (const { pid = 0 } of listening(lintel)) process.kill(pid, "SIGKILL");
    await lintel.saying(/(?:a worker listens[\s\S]*){4}/);
    for (let i = 0; i < 2; i++) expect(await (await chat(base, "another")).text()).toContain("two");
  });

  test("all of which begin anew take over what is loaded meanwhile, once one listens", async () => {
    const { lintel, base, write } = await gateway();
    for (const { pid = 0 } of listening(lintel)) process.kill(pid, "SIGKILL");
    await lintel.saying(/(?:a worker ended: it is started again[\s\S]*){2}/);
    write("models: [{ name: another, model: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/configuration reloaded/);
    for (let i = 0; i < 2; i++) expect(await (await chat(base, "another")).text()).toContain("two");
    expect(lintel.stderr).not.toContain("mistake in the new configuration");
  });

  test("that end while a configuration is handed to them say nothing against it", async () => {
    const { lintel, server, write } = await gateway();
    const [, second] = listening(lintel);
    process.kill(second?.pid ?? 0, "SIGSTOP");
    const asked = `  - { type: openai, name: asked, url: "${server.url}" }`;
    write(`${asked}\nmodels: [{ name: another, model: nowhere }]\n`);
    lintel.kill("SIGHUP");
    // The first has it, and warns of it; the second is told of it, and of its end, in one.
    await lintel.saying(/"worker":1,.*nowhere/);
    lintel.kill("SIGTERM");
    await lintel.saying(/shutting down/);
    process.kill(second?.pid ?? 0, "SIGCONT");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
    expect(linesOf(lintel).filter(({ level }) => level > 40)).toEqual([]);
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

  test("end once, and none begins anew, where a service manager tells all of them", async () => {
    const { lintel, base, server } = await gateway();
    const streams = await Promise.all([chat(base, "tiny", "wait"), chat(base, "tiny", "wait")]);
    for (const { pid = 0 } of listening(lintel)) process.kill(pid, "SIGTERM");
    lintel.kill("SIGTERM");
    await lintel.saying(/shutting down/);
    server.release();
    for (const stream of streams) expect(await stream.text()).toMatch(/ two[\s\S]*\[DONE\]\n\n$/);
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
    expect(listening(lintel)).toHaveLength(2);
    expect(lintel.stderr).not.toContain("a worker ended");
  });

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

  test("one that began to listen while others took over a configuration has it, too", async () => {
    const { lintel, base, write } = await gateway();
    const [first, second] = listening(lintel);
    process.kill(first?.pid ?? 0, "SIGSTOP");
    process.kill(second?.pid ?? 0, "SIGKILL");
    await lintel.saying(/a worker ended: it is started again/);
    write("models: [{ name: another, model: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    process.kill(first?.pid ?? 0, "SIGCONT");
    await lintel.saying(/configuration reloaded/);
    for (let i = 0; i < 2; i++) expect(await (await chat(base, "another")).text()).toContain("two");
  });

  /** Two workers without models whose first process has other times. */
  async function impatient(times: string, env: NodeJS.ProcessEnv = {}): Promise<Lintel> {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const cwd = folder({
      "lintel.yaml": `listen: 127.0.0.1:0
workers: 2
timeouts: { shutdown: 1s }
state: { redis: { url: "${redis.url}" } }
backends: []
`,
      "impatient.mjs": `
const built = (path) => import(new URL(path, process.argv[2]));
const { loadConfig } = await built("config/load.js");
const { createLogger, logWriter } = await built("cli/logger.js");
const { Workers } = await built("workers/workers.js");
const { restartTimes } = await built("restart-pause.js");
const writer = logWriter();
const { config, file } = await loadConfig({});
const workers = new Workers(
  { config, file, log: createLogger("info", writer), lines: (text) => writer.write(text) },
  { ...restartTimes, ${times} },
);
await workers.start();
process.on("SIGTERM", () => workers.close(0));
`,
    });
    const modules = String(new URL("./", pathToFileURL(entry)));
    const lintel = start([modules], cwd, env, { program: join(cwd, "impatient.mjs") });
    started.push(lintel);
    await lintel.saying(/(?:a worker listens[\s\S]*){2}/);
    return lintel;
  }

  test("one that hangs is ended, and started again", async () => {
    const lintel = await impatient("beatMs: 100, missed: 30, endMs: 15_000");
    const [, second] = listening(lintel);
    process.kill(second?.pid ?? 0, "SIGSTOP");
    await lintel.saying(/"worker":2,.*"forMs":3000,"msg":"a worker hangs: it is killed"/);
    await lintel.saying(/"worker":2,"ending":"by SIGKILL"/);
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    expect(listening(lintel).map(({ worker }) => worker)).toEqual([1, 2, 2]);
    lintel.kill("SIGTERM");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
  });

  test("one that is terminated, and does not come to its end, is killed, and started again", async () => {
    const never = "if (process.env.LINTEL_WORKER) process.exit = () => new Promise(() => {});";
    const lintel = await impatient("beatMs: 5000, missed: 6, endMs: 10", {
      NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(never)}"`,
    });
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

  test("that can't listen are said once", async () => {
    const { base } = await gateway();
    const { port } = new URL(base);
    const cwd = folder({
      "lintel.yaml": `listen: 127.0.0.1:${port}
workers: 2
state: { redis: { url: "redis://127.0.0.1:1" } }
backends: []
`,
    });
    const second = start([], cwd);
    started.push(second);
    expect((await second.ended).code).toBe(1);
    expect(second.stderr.match(/can't listen on .*another program/g)).toHaveLength(1);
  });
});

test.each([
  ["is said", "process.kill(process.pid, 'SIGKILL')", { code: 1, signal: null }],
  [
    "is no failure where all are told to end",
    "process.kill(process.ppid, 'SIGTERM'); process.kill(process.pid, 'SIGTERM')",
    { code: 0, signal: null },
  ],
])("that the first worker is killed before it listens %s", async (_what, kill, ended) => {
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
workers: 2
state: { redis: { url: "redis://127.0.0.1:1" } }
backends: []
`,
    "killed.mjs": `if (process.env.LINTEL_WORKER) { ${kill}; }`,
  });
  const killed = pathToFileURL(join(cwd, "killed.mjs"));
  const lintel = start([], cwd, { NODE_OPTIONS: `--import=${killed}` });
  started.push(lintel);
  expect(await lintel.ended).toEqual(ended);
  expect(lintel.stderr).toMatch(/"ending":"by SIG.*the first worker ended before it listened/);
});

test("a gateway that another program runs several times by node:cluster serves, and starts no workers", async () => {
  const port = await freePort();
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:${port}\nbackends: []\n`,
    "several.yaml": `listen: 127.0.0.1:${port}
workers: 2
state: { redis: { url: "redis://127.0.0.1:1" } }
backends: []
`,
    // As pm2 does with -i.
    "manager.mjs": `
import cluster from "node:cluster";
const [exec, ...args] = process.argv.slice(2);
cluster.setupPrimary({ exec, args });
cluster.fork();
cluster.on("exit", (_worker, code) => process.exit(code));
`,
  });
  const around = { program: join(cwd, "manager.mjs") };
  const lintel = start([entry, "serve"], cwd, {}, around);
  started.push(lintel);
  await lintel.until(/ on http:/);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  const several = start([entry, "serve", "--config", "several.yaml"], cwd, {}, around);
  started.push(several);
  expect((await several.ended).code).toBe(1);
  expect(several.stderr).toMatch(/^lintel: workers can't be started by one of several processes/);
});

test("every configuration can be handed to a worker as it is", async () => {
  const example = readFileSync(new URL("../../lintel.example.yaml", import.meta.url), "utf8");
  const cwd = folder({ "lintel.yaml": example });
  const { config } = await loadConfig({
    cwd,
    env: { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b" },
  });
  expect(structuredClone(config)).toEqual(config);
});
