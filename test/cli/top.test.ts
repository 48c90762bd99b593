import { statSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { screen, topView } from "../../src/cli/top-view.js";
import type { Status } from "../../src/telemetry/status.js";
import { Upstream } from "../backends/upstream.js";
import { runHere } from "./here.js";
import { build, folder, type Lintel, run, start } from "./lintel.js";

beforeAll(build);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const answer = {
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }],
  usage: { prompt_tokens: 3, completion_tokens: 20, total_tokens: 23 },
};

async function gateway(more = "") {
  const upstream = await Upstream.start((exchange) =>
    exchange.json().messages[0].content === "fail"
      ? exchange.sendJson(500, { error: { message: "no" } })
      : exchange.sendJson(200, answer),
  );
  closing.push(() => upstream.close());
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
state: { directory: state }
backends: [{ type: openai, name: remote, url: "${upstream.url}/v1", models: [tiny] }]
${more}`,
  });
  const lintel = run0(cwd);
  const [, base = ""] = await lintel.until(/ on (http:\S+)\n/);
  return { cwd, lintel, base };
}

function run0(cwd: string): Lintel {
  const lintel = start([], cwd);
  closing.push(async () => {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  });
  return lintel;
}

const chat = async (base: string, content: string) => {
  const response = await fetch(`${base}/llm`, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content }] }),
  });
  await response.text();
  return response.status;
};

test("shows models and targets of a gateway that runs; nobody else is told", {
  timeout: 60_000,
}, async () => {
  const { cwd, base, lintel } = await gateway();
  expect(await chat(base, "hello")).toBe(200);
  expect(await chat(base, "fail")).toBe(502);
  const { code, stdout, stderr } = await run(["top", "--once"], cwd);
  expect([code, stderr]).toEqual([0, ""]);
  const rows = stdout.split("\n").map((line) => line.trim().split(/ {2,}/));
  expect(rows[0]?.join(" ")).toMatch(
    /^lintel \d.* pid \d+ up \d+s 0 running [\d.]+ requests\/s [\d.]+ tokens\/s$/,
  );
  const model = rows.find(([name]) => name === "tiny");
  const [, rate, requests, failed, cancelled, hits, , tokens] = model ?? [];
  expect([requests, failed, cancelled, hits, tokens]).toEqual(["2", "1", "0", "0", "23"]);
  expect(Number(rate)).toBeGreaterThan(0);
  expect(rows.find(([name]) => name === "remote")?.slice(0, 7)).toEqual([
    "remote",
    "tiny",
    "in",
    "0",
    "0",
    "2",
    "1",
  ]);
  expect(stdout).toContain("upstream_failed");
  const json = JSON.parse((await run(["top", "--json"], cwd)).stdout) as Status;
  expect(json.models).toMatchObject([{ model: "tiny", requests: 2, completionTokens: 20 }]);
  // Not over the doors; and the socket is its owner's alone.
  for (const path of ["/status", "/metrics"]) {
    expect((await fetch(base + path)).status, path).toBe(404);
  }
  const socket = join(cwd, "state", "run", `${json.pid}.sock`);
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  expect(statSync(join(cwd, "state", "run")).mode & 0o777).toBe(0o700);
  // It goes on until it is told to stop.
  const live = start(["top"], cwd);
  closing.push(() => live.kill("SIGKILL"));
  await live.until(/tiny[\s\S]*lintel \d[\s\S]*tiny/);
  live.kill("SIGINT");
  expect(await live.ended).toEqual({ code: 0, signal: null });
  lintel.kill("SIGTERM");
  await lintel.ended;
  const after = await run(["top", "--once"], cwd);
  expect([after.code, after.stdout]).toEqual([1, ""]);
  expect(after.stderr).toContain("no gateway runs here");
  expect(await runHere(["top", "--once", "--socket", socket])).toMatchObject({
    code: 1,
    stderr: `lintel: the gateway at ${socket} does not answer\n`,
  });
});

test("where no gateway answers it is told where one was looked for, and what closes that", async () => {
  const cwd = folder({
    "lintel.yaml": "state: { directory: state }\n",
    "closed.yaml": "state: { directory: state }\ntelemetry: { top: false }\n",
  });
  const where = `lintel: no gateway runs here: none answers in ${join(cwd, "state", "run")}`;
  const told = async (file: string) =>
    (await runHere(["top", "--once", "--config", join(cwd, file)])).stderr;
  expect(await told("lintel.yaml")).toBe(`${where}\n`);
  expect(await told("closed.yaml")).toBe(`${where}, where telemetry.top: false lets none\n`);
});

test("of several gateways one is chosen; one that was killed is not among them", {
  timeout: 60_000,
}, async () => {
  const { cwd } = await gateway();
  const killed = run0(cwd);
  await killed.until(/ on (http:\S+)\n/);
  const both = await run(["top", "--once"], cwd);
  expect(both.code).toBe(1);
  const [, pids = ""] = /--pid: (.*)\n/.exec(both.stderr) ?? [];
  expect(pids.split(", ")).toHaveLength(2);
  const [first = ""] = pids.split(", ");
  const chosen = await run(["top", "--once", "--pid", first], cwd);
  expect(chosen.stdout).toContain(`pid ${first} `);
  killed.kill("SIGKILL");
  await killed.ended;
  expect((await run(["top", "--once"], cwd)).code).toBe(0);
});

test("is closed where the operator says so; metrics may have an address of their own", {
  timeout: 60_000,
}, async () => {
  const socket = join(folder(), "metrics.sock");
  const { cwd, base } = await gateway(
    `telemetry: { top: false, prometheus: { listen: "unix:${socket}" } }`,
  );
  expect((await run(["top", "--once"], cwd)).code).toBe(1);
  expect((await fetch(`${base}/metrics`)).status).toBe(404);
  const { request } = await import("node:http");
  const text = await new Promise<string>((resolve, reject) => {
    const asked = request({ socketPath: socket, path: "/metrics" }, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      resolve(`${response.headers["content-type"]}\n${Buffer.concat(parts).toString()}`);
    });
    asked.on("error", reject);
    asked.end();
  });
  expect(text).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(text).toContain("lintel_target_available");
});

test("Ctrl-C waits for no gateway that hangs", async () => {
  const socket = join(folder(), "hangs.sock");
  const hanging = createServer(() => process.emit("SIGINT"));
  await new Promise<void>((resolve) => {
    hanging.listen(socket, resolve);
  });
  closing.push(() => hanging.close());
  expect(await runHere(["top", "--socket", socket])).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("an answer that breaks off is none", async () => {
  const socket = join(folder(), "broken.sock");
  const breaking = createHttpServer((_, response) => {
    response.write('{"version":', () => response.destroy());
  });
  await new Promise<void>((resolve) => {
    breaking.listen(socket, resolve);
  });
  closing.push(() => breaking.close());
  expect(await runHere(["top", "--once", "--socket", socket])).toEqual({
    code: 1,
    stdout: "",
    stderr: `lintel: the gateway at ${socket} does not answer\n`,
  });
});

test("is cut to the terminal; one that says it has no size gets what is usual", () => {
  const text = Array.from({ length: 30 }, (_, i) => `${i}${"x".repeat(100)}`).join("\n");
  const shown = (rows: number, columns: number) =>
    stripVTControlCharacters(screen(text, { rows, columns })).trimEnd().split("\n");
  expect(shown(4, 10)).toEqual(["0xxxxxxxxx", "1xxxxxxxxx", "2xxxxxxxxx"]);
  expect(shown(0, 0)).toEqual(shown(24, 80));
  expect(shown(1, 10)).toEqual(["0xxxxxxxxx"]);
  // What stood there before goes: behind each line, and below the last.
  expect(screen("a\nb", { rows: 9, columns: 9 })).toBe("\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
});

/** Columns of a line. */
const cells = (line = "") => line.trim().split(/ {2,}/);

test("workers, calls without a model, targets that are out, and times in few digits", () => {
  const model = {
    ...{ model: "", requests: 12, failed: 1, cancelled: 2, promptTokens: 30, completionTokens: 4 },
    ...{ cacheHits: 3, images: 5, requestRate: 0, tokenRate: 99.94 },
    ...{ firstMs: { p50: 9.94, p95: 10.4, p99: 0 }, totalMs: { p50: 12.5, p95: 1234.5, p99: 0 } },
  };
  const target = {
    ...{ backend: "b", model: "m", state: "resting" as const, outForMs: 2001 },
    ...{ inFlight: 1, maxInFlight: 4, waiting: 3, attempts: 20, failures: 6 },
    lastFailure: "timeout" as const,
  };
  const status = {
    ...{ version: "1", pid: 7, gateway: 7, workers: 2, uptime: 59.9, running: 8, away: [] },
    models: [model],
    targets: [
      { ...target, quota: { requests: { used: 3, limit: 60 }, tokens: { used: 9, limit: 8 } } },
      { ...target, quota: { requests: { used: 3, limit: 60 } }, state: "used_up" as const },
      { ...target, state: "due" as const, outForMs: 0 },
    ],
    retries: { requests: 0, retries: 0, denied: 0 },
  };
  const [head, models, targets] = topView(status).split("\n\n");
  expect(cells(head)).toEqual([
    ...["lintel 1", "pid 7", "2 workers", "up 59s", "8 running"],
    ...["0 requests/s", "99.9 tokens/s"],
  ]);
  expect(cells(models?.split("\n")[1])).toEqual([
    ...["(none)", "0", "12", "1", "2", "3", "99.9", "34", "5", "9.9", "10", "13", "1235"],
  ]);
  expect(targets?.split("\n").slice(1).map(cells)).toEqual([
    ["b", "m", "resting 3s", "1/4", "3", "113%", "20", "6", "timeout"],
    ["b", "m", "used_up 3s", "1/4", "3", "5%", "20", "6", "timeout"],
    ["b", "m", "due", "1/4", "3", "20", "6", "timeout"],
  ]);
  const up = (uptime: number) => /up (\w+(?: \w+)?) {3}/.exec(topView({ ...status, uptime }))?.[1];
  expect([60, 3599, 3600, 86_399, 86_400].map(up)).toEqual([
    ...["1m", "59m", "1h 0m", "23h 59m", "1d 0h"],
  ]);
  expect(topView({ ...status, models: [], targets: [] })).toMatch(
    /No calls yet\.\n\nNo targets\.$/,
  );
  const endsAt = Date.UTC(2027, 1, 1) + 20_000;
  const budgets = [
    {
      ...{ scope: "caller_model" as const, name: "m-*", caller: "ann", period: "month" as const },
      ...{ amount: 2, used: 0.58, ratio: 0.29, endsAt },
    },
    {
      ...{ scope: "global" as const, name: "", period: "lifetime" as const },
      ...{ amount: 30, used: 0.1234567, ratio: 0.0041 },
    },
    {
      ...{ scope: "team_model" as const, name: "m", team: "red", period: "day" as const },
      ...{ amount: 1, used: 0, ratio: 0, endsAt },
    },
  ];
  const [heading, ...rows] =
    topView({ ...status, budgets })
      .split("\n\n")[3]
      ?.split("\n") ?? [];
  expect(cells(heading)).toEqual([
    ...["BUDGET", "OF", "USED", "SPENT", "AMOUNT", "PERIOD", "BEGINS ANEW"],
  ]);
  expect(rows.map(cells)).toEqual([
    ["caller_model", "ann, m-*", "29%", "0.58", "2", "month", "2027-02-01T00:00Z"],
    ["global", "0%", "0.123457", "30", "lifetime", "never"],
    ["team_model", "red, m", "0%", "0", "1", "day", "2027-02-01T00:00Z"],
  ]);
});

test("a gateway is chosen by its process id, or by its socket's address", async () => {
  const { cwd } = await gateway();
  const config = ["--config", join(cwd, "lintel.yaml")];
  const { pid } = JSON.parse((await runHere(["top", "--json", ...config])).stdout) as Status;
  expect(await runHere(["top", "--once", "--pid", "1", ...config])).toEqual({
    code: 1,
    stdout: "",
    stderr: "lintel: no gateway of this state folder has the process id 1\n",
  });
  const named = await runHere(["top", "--once", "--pid", "me", ...config]);
  expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining("--pid must be a") });
  const socket = `unix:${join(cwd, "state", "run", `${pid}.sock`)}`;
  const chosen = [`--pid=${pid}`, `--socket=${socket}`];
  for (const option of chosen) {
    const { code, stdout } = await runHere(["top", "--once", option, ...config]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`pid ${pid} `)]);
  }
});

test("on a terminal it has a screen of its own, and ends with its gateway", async () => {
  const socket = join(folder(), "top.sock");
  const status = {
    ...{ version: "1", pid: 7, gateway: 7, uptime: 1, running: 0, models: [], targets: [] },
    ...{ retries: { requests: 0, retries: 0, denied: 0 }, away: [] },
  };
  let looks = 0;
  const server = createHttpServer((_, response) => {
    if (++looks > 1) response.statusCode = 500;
    response.end(JSON.stringify(status));
  });
  await new Promise<void>((resolve) => {
    server.listen(socket, resolve);
  });
  const { isTTY } = process.stdout;
  closing.push(
    () => server.close(),
    () => Object.assign(process.stdout, { isTTY }),
    () => vi.unstubAllEnvs(),
  );
  vi.stubEnv("TERM", "xterm");
  Object.assign(process.stdout, { isTTY: true });
  const { code, stdout, stderr } = await runHere(["top", "--socket", socket]);
  expect([code, stderr]).toEqual([1, `lintel: the gateway at ${socket} does not answer\n`]);
  const [enter, leave] = ["\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"];
  expect(stdout.startsWith(`${enter}\x1b[Hlintel 1 `)).toBe(true);
  expect(stdout.endsWith(leave)).toBe(true);
  expect(stdout.match(/lintel 1 /g)).toHaveLength(1);
});

test("a model's name can't steer the terminal", () => {
  const model = {
    model: "\x1b[2Jx",
    requests: 1,
    failed: 0,
    cancelled: 0,
    promptTokens: 0,
    completionTokens: 0,
    images: 0,
    requestRate: 0.1,
    tokenRate: 250,
  };
  const retries = { requests: 0, retries: 0, denied: 2 };
  const status = {
    version: "1",
    pid: 1,
    gateway: 1,
    uptime: 90_061,
    running: 0,
    targets: [],
    retries,
  };
  const lastReload = { successful: false, restart: 2 };
  const text = topView({
    ...status,
    models: [model],
    away: ["limits", "issuer corp"],
    lastReload,
  });
  expect(text).not.toContain("\x1b");
  expect(text).toMatch(/^x +0\.1 +1 +0 +0 +0 +250 /m);
  expect(text).toContain("up 1d 1h");
  expect(text).toContain("250 tokens/s");
  expect(text).toContain("2 retries denied");
  expect(text).toContain("\n\nAway: limits, issuer corp\n\n");
  expect(text).toContain("\n\nThe last reload failed: the configuration before stays.\n\n");
  expect(text).toContain("\n\nChanges that wait for a restart: 2\n\n");
  const well = topView({
    ...{ ...status, models: [model], away: [], lastReload: { successful: true, restart: 0 } },
  });
  expect(well).not.toMatch(/Away|reload|restart/);
});

test("where the state folder's path is too long for sockets, gateway and command say so", async () => {
  const state = "s".repeat(100);
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0\nbackends: []\nstate: { directory: ${state} }\n`,
  });
  const lintel = run0(cwd);
  await lintel.saying(/"code":"ENAMETOOLONG".*no socket for lintel top/);
  const { code, stderr } = await run(["top", "--once"], cwd);
  expect([code, stderr]).toEqual([
    1,
    `lintel: no gateway can have a socket in ${join(cwd, state, "run")}: the path is too long\n`,
  ]);
  const named = await runHere(["top", "--socket", `/${state}/${state}`]);
  expect(named).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--socket must lead to"),
  });
});
