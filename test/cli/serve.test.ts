import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { redisBinary, startRedis } from "../support/redis.js";
import { closeAfter, gateway, killAfter, silentServer } from "./gateway.js";
import { build, folder, start } from "./lintel.js";

beforeAll(build);

const headers = { authorization: "Bearer me" };

const chat = (base: string) =>
  fetch(`${base}/llm`, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
  });

test("the banner says what there is and what to try; SIGTERM ends with 0", async () => {
  const { lintel, base, server } = await gateway();
  expect(lintel.stdout).toMatch(/^Lintel \d+\.\d+\.\d+ on http:\/\/127\.0\.0\.1:\d+\n/);
  expect(lintel.stdout).toContain("any bearer token will do");
  expect(lintel.stdout).toMatch(/chat +tiny \(default\) +remote, http:\/\/127\.0\.0\.1:\d+ +\w+$/m);
  expect(lintel.stdout).toContain(server.url);
  expect(lintel.stdout).toContain(`curl ${base}/llm -H 'Authorization: Bearer me'`);
  expect(lintel.stdout).not.toContain("/text-to-image");
  expect((await fetch(`${base}/healthz`)).status).toBe(200);
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
  const logged = lintel.stderr.trimEnd().split("\n");
  for (const line of logged) expect(JSON.parse(line)).toHaveProperty("msg");
  expect(logged.join()).toContain("shutting down");
});

test.runIf(existsSync("/dev/full"))("a log on a full disk is in nobody's way", async () => {
  const full = openSync("/dev/full", "w");
  const { lintel, base } = await gateway("", full);
  closeSync(full);
  const models = () => fetch(`${base}/v1/models`, { headers });
  const some = await Promise.all(Array.from({ length: 100 }, models));
  expect(some.map(({ status }) => status)).toEqual(some.map(() => 200));
  expect((await fetch(`${base}/healthz`)).status).toBe(200);
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
});

test("the banner says where backends are that do not answer yet", async () => {
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
backends:
  - { type: comfyui, name: pictures, url: "http://127.0.0.1:1" }
  - { type: openai, name: both, url: "http://127.0.0.1:1/v1", image_models: [draw] }
  - type: ai-sdk
    name: others
    package: "@ai-sdk/none-such"
    models: [{ id: any, task: chat }]
`,
  });
  const lintel = start([], cwd);
  killAfter(lintel);
  await lintel.until(/ pictures +http:\/\/127\.0\.0\.1:1 +does not answer yet\n/);
  // It may have models that chat besides.
  await lintel.until(/ both +http:\/\/127\.0\.0\.1:1\/v1 +does not answer yet\n/);
  expect(lintel.stdout).toMatch(/others,? +@ai-sdk\/none-such +\w/);
});

test("it says at the start where a model runs, and who stands by", async () => {
  const at = "{ type: openai, models: [tiny]";
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
backends: [${at}, name: a, url: "http://127.0.0.1:1/v1" }, ${at}, name: b, url: "http://127.0.0.1:2/v1" }]
models: [{ name: chat, targets: [{ backend: b, model: tiny, priority: 1 }, { backend: a, model: tiny }] }]
`,
  });
  const lintel = start([], cwd);
  killAfter(lintel);
  await lintel.until(/ chat +chat \(default\) +a, http:\/\/127\.0\.0\.1:1\/v1; b +ready\n/);
});

test("the log says which models no backend has, once they have said what they have", async () => {
  const { url } = await silentServer();
  const warnings = async (away: string) => {
    const cwd = folder({
      "lintel.yaml": `listen: 127.0.0.1:0
default_models: { chat: big, image: tiny }
models: [{ name: m, model: large }, { name: tiny }, { name: late, backends: [remote, away] }]
backends:
  - { type: openai, name: remote, url: "${url}" }
  - { type: openai, name: away, url: "http://127.0.0.1:1"${away} }
`,
    });
    const lintel = start([], cwd);
    killAfter(lintel);
    await lintel.until(/ on http:/);
    lintel.kill("SIGTERM");
    await lintel.ended;
    const lines = lintel.stderr.trimEnd().split("\n");
    return lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => /leads nowhere|default model/.test(msg))
      .map(({ model, problem }) => model ?? problem);
  };
  expect(await warnings(", models: [late]")).toEqual([
    "m",
    'there is no model "big"',
    'the model "tiny" does not make images',
  ]);
  expect(await warnings("")).toEqual([]);
});

test("a start in front of many servers that are slow to answer warns of nothing", async () => {
  const { url } = await silentServer();
  const backends = Array.from(
    { length: 12 },
    (_, i) => `  - { type: sdapi, name: webui${i}, url: "${url}" }\n`,
  );
  const cwd = folder({ "lintel.yaml": `listen: 127.0.0.1:0\nbackends:\n${backends.join("")}` });
  const lintel = start([], cwd);
  killAfter(lintel);
  await lintel.until(/ on http:\S+\n/);
  expect(lintel.stderr).toBe("");
});

test("running calls end in their time; what they may not, is ended", async () => {
  const { lintel, base, server } = await gateway("timeouts: { shutdown: 1ms }\n");
  const answer = chat(base);
  await server.asked;
  lintel.kill("SIGINT");
  expect((await answer).status).toBe(503);
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)(
  "the same %s handed on by npm does not count; a later one leaves at once",
  async (signal, code) => {
    const { lintel, base, server } = await gateway();
    const answer = chat(base).catch(() => "cut off");
    await server.asked;
    lintel.kill(signal);
    lintel.kill(signal);
    const again = setInterval(() => lintel.kill(signal), 50);
    const ended = await lintel.ended;
    clearInterval(again);
    expect(ended).toEqual({ code, signal: null });
    expect(await answer).toBe("cut off");
    expect(lintel.stderr).toContain("shutting down");
    const [last = ""] = lintel.stderr.trimEnd().split("\n").slice(-1);
    expect(JSON.parse(last)).toMatchObject({
      ...{ signal, calls: 1, status: code },
      msg: "a second signal ends the process at once",
    });
  },
);

test.skipIf(!redisBinary)(
  "a user of Redis who may do little is enough, and is not spoken of",
  async () => {
    const rights = "on >secret ~lintel:* resetchannels +@all -@dangerous";
    const redis = await startRedis({ args: ["--user", "lintel", ...rights.split(" ")] });
    onTestFinished(() => redis.close());
    const { lintel, base, server } = await gateway(`limits: { caller: { concurrent: 1 } }
state: { redis: { url: "redis://lintel:secret@127.0.0.1:${redis.port}" } }
telemetry: { prometheus: true }
`);
    const answer = chat(base).catch(() => "cut off");
    await server.asked;
    const metrics = await (await fetch(`${base}/metrics`, { headers })).text();
    expect(metrics).toContain('lintel_store_available{lintel_store="limits"} 1\n');
    expect(metrics).toContain("lintel_store_decided_without_total 0\n");
    lintel.kill("SIGKILL");
    await answer;
    await lintel.ended;
    // All of it is the log's own: its readers expect JSON.
    const lines = lintel.stderr.split("\n").filter((line) => line !== "");
    expect(lines.filter((line) => !line.startsWith("{"))).toEqual([]);
  },
);

test("SIGHUP takes over a changed file; a bad one is named and changes nothing", async () => {
  const { lintel, base, cwd } = await gateway();
  const file = join(cwd, "lintel.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("models: [tiny]", "models: [other]"));
  lintel.kill("SIGHUP");
  await lintel.saying(/"changed":\["backends"\].*configuration reloaded/);
  expect(await (await fetch(`${base}/v1/models`, { headers })).text()).toContain('"other"');
  writeFileSync(file, `${text}nonsense: 1\n`);
  lintel.kill("SIGHUP");
  await lintel.saying(/lintel\.yaml:3:1: nonsense: unknown key/);
  await lintel.saying(/configuration not reloaded/);
  expect(await (await fetch(`${base}/v1/models`, { headers })).text()).toContain('"other"');
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
});

test("a changed file is taken over by itself where it is watched", async () => {
  const { lintel, base, cwd } = await gateway("reload: watch\n");
  const file = join(cwd, "lintel.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("models: [tiny]", "models: [other]"));
  await lintel.saying(/configuration reloaded/);
  // Not because it is looked at for the first time.
  expect(lintel.stderr.match(/"why":"lintel.yaml changed","changed":\[.*/g)).toEqual([
    expect.stringContaining(`"changed":["backends"]`),
  ]);
  expect(await (await fetch(`${base}/v1/models`, { headers })).text()).toContain('"other"');
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
});

test("SIGHUP during the start is taken over after it", async () => {
  // A store that says that the bucket is there once the configuration was changed.
  const store = createServer((_request, response) => void response.end());
  store.prependOnceListener("request", () => {
    writeFileSync(file, text.replace("backends: []", more));
    lintel.kill("SIGHUP");
  });
  closeAfter(store);
  await new Promise<void>((resolve) => store.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
  const text = `backends: []
listen: 127.0.0.1:0
media:
  store: s3
  s3: { bucket: pictures, endpoint: "${endpoint}", access_key_id: a, secret_access_key: b }
`;
  const more =
    'backends: [{ type: openai, name: late, url: "http://127.0.0.1:1", models: [tiny] }]';
  const cwd = folder({ "lintel.yaml": text });
  const file = join(cwd, "lintel.yaml");
  const lintel = start([], cwd);
  killAfter(lintel);
  await lintel.saying(/"added":\["late"\].*configuration reloaded/);
  expect(lintel.stderr.match(/configuration reloaded/g)).toHaveLength(1);
  await lintel.until(/ on http:/);
});
