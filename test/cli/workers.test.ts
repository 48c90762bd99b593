/** Several processes at one address, as a user starts them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { freePort } from "../support/port.js";
import { redisBinary } from "../support/redis.js";
import { openSamples } from "../telemetry/openmetrics.js";
import { build, entry, folder, run } from "./lintel.js";
import { chat, gateway, linesOf, listening, startOne } from "./several.js";

beforeAll(build);

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
    for (const worker of [1, 2]) expect(text).toContain(`\nlintel_workers{worker="${worker}"} 2\n`);
    const accept = "application/openmetrics-text";
    const open = await (await fetch(`${base}/metrics`, { headers: { accept } })).text();
    const byWorker = openSamples(open).map(({ labels }) => labels.worker);
    expect(new Set(byWorker)).toEqual(new Set(["1", "2"]));
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

  test("take over the log's level, and keys that it must not show; what is wrong for all is said by one", async () => {
    const { lintel, base, server, write } = await gateway();
    const key = "k3y-of-a-backend";
    const away = `{ type: openai, name: away, url: "http://127.0.0.1:1", api_key: ${key}, models: [gone] }`;
    const asked = `{ type: openai, name: asked, url: "${server.url}" }`;
    const models = "models: [{ name: lost, model: nowhere }]";
    write(`  - ${away}\n  - ${asked}\n${models}\nlog: { level: debug }\n`);
    lintel.kill("SIGHUP");
    await lintel.saying(/configuration reloaded/);
    await lintel.saying(/"worker":1,.*leads nowhere/);
    for (let i = 0; i < 2; i++) expect((await chat(base, "gone")).status).toBe(502);
    for (let i = 0; i < 2; i++) expect((await chat(base, key)).status).toBe(404);
    lintel.kill("SIGTERM");
    await lintel.ended;
    const failed = linesOf(lintel).filter(({ msg }) => msg === "attempt failed");
    expect(new Set(failed.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
    expect(lintel.stderr).not.toContain(key);
    expect(lintel.stderr.match(/leads nowhere/g)).toHaveLength(1);
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

  test("know how the last reload of all went, also those that are started later", async () => {
    const { lintel, base, cwd, write } = await gateway();
    const told = async () => {
      const text = await (await fetch(`${base}/metrics`)).text();
      return [...text.matchAll(/^lintel_config_(\w+\{worker="\d"} \d)$/gm)].map(([, it]) => it);
    };
    const well = [1, 2].map((worker) => `last_reload_successful{worker="${worker}"} 1`);
    const failed = well.map((line) => line.replace(/1$/, "0"));
    const pending = (count: number) =>
      [1, 2].map((worker) => `restart_pending{worker="${worker}"} ${count}`);
    expect(await told()).toEqual([...well, ...pending(0)]);
    write("body_limit: 2MiB\n");
    lintel.kill("SIGHUP");
    await expect.poll(told).toEqual([...well, ...pending(1)]);
    write("modles: []\n");
    lintel.kill("SIGHUP");
    await expect.poll(told).toEqual([...failed, ...pending(1)]);
    const [{ pid = 0 } = {}] = listening(lintel);
    process.kill(pid, "SIGKILL");
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    await expect.poll(told).toEqual([...failed, ...pending(1)]);
    const seen = await run(["top", "--json"], cwd);
    expect(JSON.parse(seen.stdout).lastReload).toEqual({ successful: false, restart: 1 });
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

  /** Two of them, of which the first has another configuration, and warns of it, and the second stands still. */
  async function handing() {
    const running = await gateway();
    const { lintel, server, write } = running;
    const [, second] = listening(lintel);
    process.kill(second?.pid ?? 0, "SIGSTOP");
    const asked = `  - { type: openai, name: asked, url: "${server.url}" }`;
    write(`${asked}\nmodels: [{ name: another, model: nowhere }]\n`);
    lintel.kill("SIGHUP");
    await lintel.saying(/"worker":1,.*nowhere/);
    return { ...running, second };
  }

  test("that end while a configuration is handed to them say nothing against it", async () => {
    const { lintel, second } = await handing();
    // The second is told of it, and of its end, in one.
    lintel.kill("SIGTERM");
    await lintel.saying(/shutting down/);
    process.kill(second?.pid ?? 0, "SIGCONT");
    expect(await lintel.ended).toEqual({ code: 0, signal: null });
    expect(linesOf(lintel).filter(({ level }) => level > 40)).toEqual([]);
  });

  test("one that is killed while a configuration is handed to it holds up no one after it", async () => {
    const { lintel, base, write, second } = await handing();
    process.kill(second?.pid ?? 0, "SIGKILL");
    await lintel.saying(/configuration reloaded/);
    await lintel.saying(/(?:a worker listens[\s\S]*){3}/);
    write("models: [{ name: another, model: tiny }]\n");
    lintel.kill("SIGHUP");
    await lintel.saying(/(?:configuration reloaded[\s\S]*){2}/);
    for (let i = 0; i < 2; i++) expect(await (await chat(base, "another")).text()).toContain("two");
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
    const second = startOne([], cwd);
    expect((await second.ended).code).toBe(1);
    expect(second.stderr.match(/can't listen on .*another program/g)).toHaveLength(1);
    expect(second.stderr).not.toContain("ended before it listened");
  });
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
  const lintel = startOne([entry, "serve"], cwd, {}, around);
  await lintel.until(/ on http:/);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  const several = startOne([entry, "serve", "--config", "several.yaml"], cwd, {}, around);
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
