import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { redisBinary, startRedis } from "../support/redis.js";
import { build, folder, type Lintel, run, start } from "./lintel.js";
import { noSeconds } from "./several.js";

beforeAll(build);

const started: Lintel[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const lintel of started.splice(0)) {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  }
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A server that lists one model and answers no chat: calls to it stay open. */
async function silentServer(): Promise<{ url: string; asked: Promise<void> }> {
  let ask: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const server = createServer((request, response) => {
    if (request.url !== "/v1/models") return ask();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: [{ id: "tiny", object: "model" }] }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A gateway in front of that server, once it listens. */
async function gateway(more = "", stderr?: number) {
  const server = await silentServer();
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
backends: [{ type: openai, name: remote, url: "${server.url}", models: [tiny] }]
${more}`,
  });
  const lintel = start([], cwd, {}, { stderr });
  started.push(lintel);
  const [, base = ""] = await lintel.until(/ on (http:\S+)\n[\s\S]*curl [\s\S]*\n.*-d .*\n/);
  return { lintel, base, server, cwd };
}

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
  started.push(lintel);
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
  started.push(lintel);
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
    started.push(lintel);
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
  started.push(lintel);
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

test("an address that is in use is one line and 1", async () => {
  const { base } = await gateway();
  const { host } = new URL(base);
  const cwd = folder({ "lintel.yaml": "backends: []\n" });
  const { code, stdout, stderr } = await run(["--listen", host], cwd);
  expect([code, stdout]).toEqual([1, ""]);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.filter((line) => !line.startsWith("{"))).toEqual([
    `lintel: can't listen on ${host}: another program uses this address`,
  ]);
});

test("a socket's address is the same for who listens and who calls; a shell can take its path", async () => {
  const { url } = await silentServer();
  const cwd = folder();
  const address = `unix://${cwd}/it's%20here/l.sock`;
  writeFileSync(
    join(cwd, "lintel.yaml"),
    `listen: "${address}"\nbackends: [{ type: openai, name: remote, url: "${url}", models: [tiny] }]\n`,
  );
  mkdirSync(join(cwd, "it's here"));
  const lintel = start([], cwd);
  started.push(lintel);
  const [, path] = await lintel.until(/curl --unix-socket (.*) http:/);
  expect(path).toBe(`'${cwd}/it'\\''s here/l.sock'`);
  for (const server of [address, `unix:${cwd}/it's here/l.sock`]) {
    expect(await run(["models", "--server", server])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("tiny"),
    });
  }
});

test("a socket whose folder is missing is told so", async () => {
  const cwd = folder({ "lintel.yaml": "backends: []\n" });
  const { code, stderr } = await run(["--listen", "unix:none/a.sock"], cwd);
  expect(code).toBe(1);
  expect(stderr).toContain(
    `lintel: can't listen on ${join(cwd, "none", "a.sock")}: the socket's folder does not exist`,
  );
});

test("a socket in the place of a file is told so, and the file stays", async () => {
  const cwd = folder({ "lintel.yaml": "backends: []\n" });
  const { code, stderr } = await run(["--listen", "unix:lintel.yaml"], cwd);
  expect(code).toBe(1);
  const path = join(cwd, "lintel.yaml");
  expect(stderr).toContain(`lintel: can't listen on ${path}: a file or a folder is there already`);
  expect(readFileSync(path, "utf8")).toBe("backends: []\n");
});

test("a folder for images that can't be written to is one line and 1", async () => {
  const cwd = folder({
    "lintel.yaml": "backends: []\nlisten: 127.0.0.1:0\nmedia: { directory: lintel.yaml/x }\n",
  });
  const { code, stderr } = await run([], cwd);
  expect(code).toBe(1);
  expect(stderr).toContain("lintel: media.directory:");
  expect(stderr).not.toContain("    at ");
});

// /proc is where folders can't be made, also by root, and where Node's own way never ends.
test.runIf(existsSync("/proc/self")).each(["lintel.yaml/x", "/proc/nope", "/proc/nope/x"])(
  "state in %s is one line and 1",
  async (directory) => {
    const cwd = folder({
      "lintel.yaml": `backends: []\nlisten: 127.0.0.1:0\nstate: { directory: ${directory} }\n`,
    });
    const lintel = start([], cwd);
    started.push(lintel);
    expect(await lintel.ended).toMatchObject({ code: 1 });
    expect(lintel.stderr).toMatch(/^lintel: state\.directory: .+ can't be written to \(E\w+\)$/m);
    expect(lintel.stderr).not.toContain("    at ");
  },
);

test("check warns of folders that can't be written to, and makes none", async () => {
  const cwd = folder({
    "lintel.yaml": `state: { directory: lintel.yaml/x }
media: { directory: new/media }
public_url: https://ai.example.com
listen: unix:none/a.sock
`,
  });
  const checked = await run(["check"], cwd);
  expect(checked).toMatchObject({ code: 0, stdout: "lintel.yaml: ok\n" });
  const state = join(cwd, "lintel.yaml", "x");
  expect(checked.stderr).toBe(
    `warning: state.directory: ${state} can't be written to now (ENOTDIR)
warning: listen: there is no folder ${join(cwd, "none")} now, and none is made for a socket
`,
  );
  expect(readdirSync(cwd)).toEqual(["lintel.yaml"]);
});

test("a signal while a start waits for a bucket that hangs ends it, with 0", async () => {
  let ask: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const server = createServer(() => ask());
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
media: { store: s3, s3: { bucket: pictures, endpoint: "${endpoint}", access_key_id: a, secret_access_key: b } }
`,
  });
  const lintel = start([], cwd);
  started.push(lintel);
  await asked;
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
  expect(lintel.stderr).toMatch(/"signal":"SIGTERM","graceMs":0,"msg":"shutting down"/);
});

test("a signal while what is said at the start waits for a server that hangs ends it at once, with 0", async () => {
  const server = createServer(() => {});
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cwd = folder({
    "lintel.yaml": `listen: unix:./lintel.sock
reload: watch
backends: [{ type: openai, name: hangs, url: "http://127.0.0.1:${port}" }]
`,
  });
  const lintel = start([], cwd, noSeconds);
  started.push(lintel);
  const there = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(join(cwd, "lintel.sock"), () => resolve(void socket.destroy()));
      socket.on("error", reject);
    });
  await vi.waitFor(there, 20_000);
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
  expect(lintel.stdout).toBe("");
});

test("a bucket that can't be reached is one line and 1", async () => {
  const cwd = folder({
    "lintel.yaml": `backends: []
listen: 127.0.0.1:0
media:
  store: s3
  s3:
    bucket: pictures
    endpoint: "http://127.0.0.1:1"
    access_key_id: a
    secret_access_key: b
`,
  });
  const { code, stderr } = await run([], cwd);
  expect(code).toBe(1);
  expect(stderr).toContain(
    "lintel: media.s3.bucket: pictures can't be used (connect ECONNREFUSED 127.0.0.1:",
  );
  expect(stderr).not.toContain("    at ");
});

/** Files of a folder in which Node finds none of some packages, and the option that makes it so. */
function without(...scopes: string[]) {
  const lacks = `const lacks = (name) => {
  if (!${JSON.stringify(scopes)}.includes(name.split("/")[0])) return;
  throw Object.assign(new Error(name), { code: "ERR_MODULE_NOT_FOUND" });
};`;
  const files = {
    "hooks.mjs": `${lacks}
export function resolve(name, context, next) {
  lacks(name);
  return next(name, context);
}`,
    // What is only looked for, the bundle looks for as CommonJS does.
    "lean.mjs": `${lacks}
import module from "node:module";
import * as hooks from "./hooks.mjs";
// Node 20 does not have the one, Node 26 warns of the other.
if (module.registerHooks) module.registerHooks(hooks);
else module.register("./hooks.mjs", import.meta.url);
const resolve = module._resolveFilename;
module._resolveFilename = (name, ...more) => {
  lacks(name);
  return resolve(name, ...more);
};`,
  };
  const options = (cwd: string) => `--import=${pathToFileURL(join(cwd, "lean.mjs"))}`;
  return { files, options };
}

test("check tells of missing packages where what is configured needs them", async () => {
  const { files, options } = without("@aws-sdk", "@photostructure");
  const cwd = folder({
    ...files,
    "lintel.yaml": `backends: []
media: { store: s3, s3: { bucket: pictures } }
safety: { checker: { type: nsfwjs } }
`,
    "other.yaml": `backends: []
media: { store: s3, delivery: data, s3: { bucket: pictures } }
usage: { enabled: false }
`,
  });
  const env = { NODE_OPTIONS: options(cwd) };
  const checked = await run(["check"], cwd, env);
  expect(checked).toMatchObject({ code: 0, stdout: "lintel.yaml: ok\n" });
  expect(checked.stderr).toContain(
    "warning: media.store: s3 needs a package that is not installed",
  );
  expect(checked.stderr).toContain("warning: safety.checker nsfwjs needs packages that are not");
  // Newer Node has a SQLite of its own.
  const own = Number.parseFloat(process.versions.node) >= 22.13;
  expect(checked.stderr.includes("the database's tokens would be off: this Node has")).toBe(!own);
  expect((await run(["check", "-c", "other.yaml"], cwd, env)).stderr).toBe(
    "warning: backends is empty: there is nothing to serve\n",
  );
});

test("a start that fails late ends, and leaves nothing behind", async () => {
  const { files, options } = without("@opentelemetry");
  const cwd = folder({
    "lintel.yaml": `backends: []
listen: 127.0.0.1:0
state: { redis: { url: "redis://127.0.0.1:1" } }
telemetry: { otlp: {} }
`,
    ...files,
  });
  mkdirSync(join(cwd, "tmp"));
  const env = {
    NODE_OPTIONS: options(cwd),
    TMPDIR: join(cwd, "tmp"),
    XDG_STATE_HOME: join(cwd, "lintel.yaml"),
  };
  const checked = await run(["check"], cwd, env);
  expect(checked).toMatchObject({ code: 0, stdout: "lintel.yaml: ok\n" });
  expect(checked.stderr).toContain("warning: telemetry.otlp needs packages that are not installed");
  expect(checked.stderr).toContain(
    `${env.XDG_STATE_HOME}/lintel can't be written to now (ENOTDIR)`,
  );
  const { code, stderr } = await run([], cwd, env);
  expect(stderr).toContain("lintel: telemetry.otlp needs packages that are not installed");
  expect(stderr).toContain("no folder for images");
  expect([code, readdirSync(join(cwd, "tmp"))]).toEqual([1, []]);
});

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
  servers.push(store);
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
  started.push(lintel);
  await lintel.saying(/"added":\["late"\].*configuration reloaded/);
  expect(lintel.stderr.match(/configuration reloaded/g)).toHaveLength(1);
  await lintel.until(/ on http:/);
});
