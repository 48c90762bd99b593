/** How a configuration is loaded: the file, the environment and options, and what comes of them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { cacheStoreSettings } from "../../src/config/cache.js";
import { readerLimits } from "../../src/config/documents.js";
import { loadConfig, loadFields } from "../../src/config/load.js";
import { missingFiles } from "../../src/config/missing-files.js";
import { ConfigError } from "../../src/config/problems.js";
import { configSchema } from "../../src/config/schema.js";
import {
  appSettings,
  coreSettings,
  doorSettings,
  listenOptions,
} from "../../src/config/settings.js";
import { stateSettings } from "../../src/config/state.js";
import { routingDefaults } from "../../src/core/routing/settings.js";
import { withoutSecrets } from "../../src/core/secrets.js";
import { coreDefaults } from "../../src/core/settings.js";
import { doorDefaults } from "../../src/doors/door.js";
import { appDefaults } from "../../src/server/settings.js";
import { folder } from "./folder.js";

const port = async (sources: Parameters<typeof loadConfig>[0]) =>
  (await loadConfig(sources)).config.listen;

test("without a file the settings are the contract's", async () => {
  const { config, file, warnings } = await loadConfig({ cwd: folder(), env: {} });
  expect(file).toBeUndefined();
  expect(warnings).toEqual([]);
  expect(coreSettings(config)).toEqual(coreDefaults);
  expect(doorSettings(config)).toEqual({ ...doorDefaults, bounds: {} });
  expect(appSettings(config)).toEqual(appDefaults);
});

test("the file: --config before LINTEL_CONFIG before lintel.yaml", async () => {
  const cwd = folder({ "lintel.yaml": "listen: 1", "b.yaml": "listen: 2", "c.yaml": "listen: 3" });
  const at = (number: number) => [{ host: "127.0.0.1", port: number }];
  expect(await port({ cwd, env: {} })).toEqual(at(1));
  expect(await port({ cwd, env: { LINTEL_CONFIG: "" } })).toEqual(at(1));
  expect(await port({ cwd, env: { LINTEL_CONFIG: "b.yaml" } })).toEqual(at(2));
  expect(await port({ cwd, env: { LINTEL_CONFIG: "b.yaml" }, file: "c.yaml" })).toEqual(at(3));
});

test("keys of the file, and of the environment, are shown by nobody who has read them", async () => {
  const signing = "whsec_Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFy";
  const cwd = folder({
    "lintel.yaml":
      'backends: [{ type: openai, name: a, url: "http://a", api_key: key-of-a-backend, headers: { x: "Basic key-of-a-header" } }]\n' +
      `budget_alerts: { url: "http://a", signing_secrets: [${signing}] }\n`,
    "fields.yaml": "state: { database: 'postgres://me:key-of-a-database@host/name' }\n",
  });
  const env = {
    HTTPS_PROXY: "http://me:key-of-a-proxy@proxy.test:3128",
    HTTP_PROXY: "http://me:key%2Dof%2Da%2Dquote@proxy.test:3128",
    SOME_KEY_FILE: "/where/a/key/stands.pem",
    SOME_TOKEN: "words-for-it",
  };
  await loadConfig({ cwd, env });
  await loadFields(["state.database"], {
    ...{ cwd, file: "fields.yaml" },
    env: { FAL_KEY: "key-of-a-provider" },
  });
  for (const whose of ["backend", "header", "database", "proxy", "quote", "provider"]) {
    expect(withoutSecrets(`it is key-of-a-${whose}`)).not.toContain(whose);
  }
  expect(withoutSecrets(`it is ${signing}`)).not.toContain(signing);
  for (const told of [env.SOME_KEY_FILE, env.SOME_TOKEN]) expect(withoutSecrets(told)).toBe(told);
});

test("a file that was named must be there", async () => {
  const loading = loadConfig({ cwd: folder(), env: {}, file: "x.yaml" });
  await expect(loading).rejects.toThrow("x.yaml: there is no such file");
  await expect(loading).rejects.toBeInstanceOf(ConfigError);
  const env = { LINTEL_CONFIG: "y.yaml" };
  await expect(loadConfig({ cwd: folder(), env })).rejects.toThrow(
    "y.yaml: there is no such file; LINTEL_CONFIG names it",
  );
  await expect(loadConfig({ cwd: folder(), env, file: "x.yaml" })).rejects.toThrow(
    /^x\.yaml: there is no such file$/,
  );
});

test.each([
  [
    "UTF-16",
    Buffer.from("\uFEFFlisten: 1\n", "utf16le"),
    "x.yaml: is not in UTF-8, but maybe in UTF-16: save it as UTF-8",
  ],
  [
    "UTF-16 without its mark",
    Buffer.from("listen: 1\n", "utf16le"),
    "x.yaml: is not in UTF-8, but maybe in UTF-16: save it as UTF-8",
  ],
  [
    "Latin-1",
    Buffer.from("# ü\nmodels: [{ name: \xE9 }]\n", "latin1"),
    "x.yaml:1:3: is not in UTF-8 here: save the file as UTF-8",
  ],
  [
    "Latin-1 further below",
    Buffer.from("# a\n\nmodels: [{ name: \xE9 }]\n", "latin1"),
    "x.yaml:3:18: is not in UTF-8 here: save the file as UTF-8",
  ],
])("a file in %s is not read as another text", async (_, bytes, message) => {
  const cwd = folder();
  writeFileSync(join(cwd, "x.yaml"), bytes);
  await expect(loadConfig({ cwd, env: {}, file: "x.yaml" })).rejects.toThrow(message);
});

test("HOST means what stands before the port in listen", async () => {
  const host = async (HOST: string) => {
    const [address] = await port({ cwd: folder(), env: { HOST } });
    return address && "host" in address && address.host;
  };
  const meant = { "*": "::", "::": "::", "[::1]": "::1", "fe80::1%br-lan": "fe80::1%br-lan" };
  for (const [text, address] of Object.entries({ ...meant, localhost: "localhost" })) {
    expect(await host(text)).toBe(address);
  }
  for (const text of ["localhost:8080", "[::1", '"0.0.0.0"', "127.0.0.1,::1", " ", "http://x"]) {
    await expect(host(text), text).rejects.toMatchObject({
      problems: [{ source: "environment", field: "HOST" }],
    });
  }
});

test("HOST and PORT replace the file's, --listen replaces both", async () => {
  const cwd = folder({ "lintel.yaml": "listen: ['unix:a.sock', '0.0.0.0:1']" });
  const env = { HOST: "10.0.0.1", PORT: "2" };
  expect(await port({ cwd, env: {} })).toEqual([
    { path: join(cwd, "a.sock") },
    { host: "0.0.0.0", port: 1 },
  ]);
  expect(await port({ cwd, env: { PORT: "2" } })).toEqual([{ host: "0.0.0.0", port: 2 }]);
  expect(await port({ cwd, env })).toEqual([{ host: "10.0.0.1", port: 2 }]);
  expect(await port({ cwd, env, listen: [":3", "[::1]:4"] })).toEqual([
    { host: "::", port: 3 },
    { host: "::1", port: 4 },
  ]);
  expect(await port({ cwd: folder(), env: { PORT: "2" } })).toEqual([
    { host: "127.0.0.1", port: 2 },
  ]);
});

test("mistakes in the environment and in options come with those of the file", async () => {
  const cwd = folder({ "lintel.yaml": "lsiten: 1" });
  const env = { PORT: "70000" };
  await expect(loadConfig({ cwd, env })).rejects.toMatchObject({
    problems: [
      { source: "lintel.yaml", field: "lsiten", position: { line: 1, column: 1 } },
      { source: "environment", field: "PORT" },
    ],
  });
  for (const PORT of ["http", "-1", "8080/tcp", "123456"]) {
    await expect(loadConfig({ cwd: folder(), env: { PORT } })).rejects.toThrow(
      "environment: PORT: must be a port from 0 to 65535",
    );
  }
  const proxy = { https_proxy: "socks5://proxy.test:1080" };
  await expect(loadConfig({ cwd: folder(), env: proxy })).rejects.toMatchObject({
    problems: [{ source: "environment", field: "https_proxy" }],
  });
  const long = [`unix:${"a".repeat(100)}`];
  await expect(loadConfig({ cwd: folder(), env: {}, listen: long })).rejects.toMatchObject({
    problems: [{ source: "--listen", message: expect.stringContaining("at most 103 bytes") }],
  });
  await expect(loadConfig({ cwd: folder(), env, listen: ["here"] })).rejects.toMatchObject({
    problems: [{ source: "--listen" }],
  });
});

test("models that are not there are told, but for those that are fetched", async () => {
  const cwd = folder({
    "there.gguf": "",
    "lintel.yaml": `
backends:
  - { type: llama, name: a, path: there.gguf }
  - { type: llama, name: b, path: gone.gguf }
  - { type: llama, name: c, path: "hf:user/repository:Q4_K_M" }
  - { type: onnx, name: d, path: gone }
  - { type: embedded, name: e, models: [there.gguf, other.gguf] }
  - { type: ai-sdk, name: f, package: "@ai-sdk/nobody-has-this", models: [{ id: a }] }
  - { type: ai-sdk, name: g, package: yaml/part, models: [{ id: b }] }
  - { type: embedded, name: h }
safety: { checker: { type: classifier, path: checker } }
auth:
  mode: token
  oidc: [{ name: a, issuer: "https://a", audience: b, token_file: token }]
`,
  });
  const { config } = await loadConfig({ cwd, env: {} });
  expect(missingFiles(config, cwd)).toEqual([
    `backends[1].path: there is no ${join(cwd, "gone.gguf")} now`,
    `backends[3].path: there is no ${join(cwd, "gone")} now`,
    `backends[4].models[1]: there is no ${join(cwd, "other.gguf")} now`,
    `safety.checker.path: there is no ${join(cwd, "checker")} now`,
    `auth.oidc[0].token_file: there is no ${join(cwd, "token")} now`,
    "backends[5].package: @ai-sdk/nobody-has-this is not installed now",
  ]);
});

test("addresses of --listen are told apart, too", async () => {
  const load = (...listen: string[]) => loadConfig({ cwd: folder(), env: {}, listen });
  await expect(load("1", "127.0.0.1:1")).rejects.toThrow(
    "--listen: 127.0.0.1:1 is the same as 127.0.0.1:1; must be unique",
  );
  await expect(load("127.0.0.1:1", ":1")).rejects.toThrow(
    "--listen: [::]:1 can't be listened on beside 127.0.0.1:1: one of them takes every address",
  );
  await load("127.0.0.1:0", ":0", "[::1]:1", "127.0.0.1:1");
});

test("administration has addresses of its own, as they are in the end", async () => {
  const tokens = `tokens: [{ name: a, hash: "sha256:${"ab".repeat(32)}" }]`;
  const admin = (listen: string) => `admin: { ${tokens}, listen: ${listen} }\n`;
  const file = (name: string) =>
    fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
  const cwd = folder({
    "same.yaml": `listen: 127.0.0.1:9090\n${admin('["127.0.0.1:0", "127.0.0.1:9090"]')}`,
    "metrics.yaml": `telemetry: { prometheus: { listen: ":9091" } }\n${admin("127.0.0.1:9091")}`,
    "own.yaml": admin("unix:a.sock"),
    "open.yaml": admin("0.0.0.0:9090"),
    "all.yaml": `listen: ":8080"\nmedia: { delivery: data }\nadmin: { ${tokens} }\n`,
    "tls.yaml": `tls: { cert: "${file("cert")}", key: "${file("key")}" }\n${admin("0.0.0.0:9090")}`,
  });
  const load = (file: string, env = {}) => loadConfig({ cwd, file, env });
  await expect(load("same.yaml")).rejects.toThrow(
    "admin.listen[1]: is also in listen; leave it out to have administration there",
  );
  await expect(load("metrics.yaml")).rejects.toThrow(
    "admin.listen[0]: can't be listened on beside telemetry.prometheus.listen",
  );
  const own = await load("own.yaml");
  expect(own.config.admin?.listen).toEqual([{ path: join(cwd, "a.sock") }]);
  expect(own.warnings).toEqual([]);
  expect((await load("open.yaml")).warnings).toEqual([
    expect.stringContaining("admin is served without TLS at 0.0.0.0:9090"),
  ]);
  expect((await load("all.yaml")).warnings).toEqual([
    expect.stringContaining("admin is served without TLS at [::]:8080"),
  ]);
  expect((await load("tls.yaml")).warnings).toEqual([]);
});

test("metrics have an address of their own, as it is in the end", async () => {
  const prometheus = (listen: string) => `telemetry: { prometheus: { listen: "${listen}" } }\n`;
  const cwd = folder({
    "same.yaml": prometheus("127.0.0.1:8080"),
    "socket.yaml": `listen: unix:a.sock\n${prometheus("unix:./a.sock")}`,
    "within.yaml": `listen: ":8080"\n${prometheus("127.0.0.1:8080")}`,
    "free.yaml": `listen: 127.0.0.1:0\n${prometheus("127.0.0.1:0")}`,
  });
  mkdirSync(join(cwd, "sub"));
  writeFileSync(join(cwd, "sub", "own.yaml"), prometheus("unix:a.sock"));
  const load = (file: string, env = {}) => loadConfig({ cwd, file, env });
  await expect(load("same.yaml")).rejects.toThrow(
    "same.yaml:1:36: telemetry.prometheus.listen: is also in listen; say true to have the metrics there",
  );
  await expect(load("socket.yaml")).rejects.toThrow("telemetry.prometheus.listen: is also in");
  await expect(load("within.yaml")).rejects.toThrow(
    "telemetry.prometheus.listen: can't be listened on beside [::]:8080: one of them takes every address; say true",
  );
  await load("same.yaml", { PORT: "8081" });
  await load("free.yaml");
  const { telemetry } = (await load("sub/own.yaml")).config;
  expect(telemetry.prometheus).toEqual({ listen: { path: join(cwd, "sub", "a.sock") } });
});

test("what the file says reaches the core, the doors, the app, the listeners and the state", async () => {
  const hash = `sha256:${"0".repeat(64)}`;
  const cwd = folder({
    "lintel.yaml": `
auth:
  mode: token
  tokens: [{ name: a, hash: "${hash}", models: ["x*"], team: t, expires: 2027-01-31 }]
  teams: [{ name: t, models: [xy], limits: { concurrent: 3 } }]
  database_away: allow
state: { database: "postgres://h/n", refresh: 7s }
usage: { retention: 2d, max_waiting: 3MiB }
bounds: { width: { max: 512 } }
cache: { ttl: 2h, scope: all, max_answer: 2MiB, max_bytes: 3MiB, redis: { url: "redis://h" } }
models: [{ name: m, model: n, cache_ttl: 3h, max_tokens: 5, context_length: 9, defaults: { temperature: 0 }, unsupported: ignore }]
default_models: { chat: m }
image_hosts: ["*.example.com"]
body_limit: 2MiB
max_connection_age: 30m
max_connection_idle: 11m
cors: { origins: [] }
trust_proxy: [10.0.0.0/8]
timeouts: { total: 1m, first_message: 1s, keep_alive: 2s }
safety: { action: blur }
`,
  });
  const { config } = await loadConfig({ cwd, env: {} });
  expect(coreSettings(config)).toEqual({
    auth: {
      mode: "token",
      tokens: [{ name: "a", hash, models: ["x*"], team: "t", expiresAt: Date.UTC(2027, 0, 31) }],
      teams: [{ name: "t", models: ["xy"] }],
    },
    bounds: { width: { max: 512 } },
    models: [
      {
        name: "m",
        model: "n",
        maxTokens: 5,
        contextLength: 9,
        cacheTtlMs: 10_800_000,
        defaults: { temperature: 0 },
        unsupported: "ignore",
      },
    ],
    defaultModels: { chat: "m" },
    totalTimeoutMs: 60_000,
    cache: { ttlMs: 7_200_000, scope: "all", maxAnswerBytes: 2_097_152 },
    safetyAction: "blur",
    safetyOnFailure: "closed",
    callLog: { sample: 1, content: false },
    routing: routingDefaults,
    imageHosts: ["*.example.com"],
    exposeSources: false,
  });
  expect(cacheStoreSettings(config)).toEqual({
    redis: { url: "redis://h", keyPrefix: "lintel:", timeoutMs: 250 },
    ...{ maxBytes: 3_145_728, maxAnswerBytes: 2_097_152 },
  });
  expect(doorSettings(config)).toEqual({
    ...{ bodyLimit: 2_097_152, holdMs: 1000, keepAliveMs: 2000 },
    baseUrlOf: expect.any(Function),
    clientOf: expect.any(Function),
    bounds: coreSettings(config).bounds,
  });
  const forwarded = (name: string) => ({ "x-forwarded-host": "a.example" })[name];
  const from = { remoteAddress: "10.1.2.3" };
  expect(doorSettings(config).baseUrlOf?.(forwarded, from)).toBe("http://a.example");
  const told = { ...config, public_url: "https://b.example" };
  expect(doorSettings(told).baseUrlOf).toBeUndefined();
  expect(appSettings(config)).toMatchObject({ corsOrigins: false });
  expect(listenOptions(config)).toMatchObject([
    { limits: { maxAge: 1_800_000 }, timeouts: { keepAlive: 660_000, idleSession: 660_000 } },
  ]);
  expect(stateSettings(config)).toMatchObject({
    database: "postgres://h/n",
    tokens: { refreshMs: 7000, whenAway: "allow" },
    usage: { retentionMs: 172_800_000, maxBytes: 3_145_728 },
  });
});

test("how documents are read", () => {
  const limits = (documents: object) => readerLimits(configSchema.parse({ documents }).documents);
  expect(limits({})).toEqual({ atOnce: 2, memory: 512, timeout: 20_000 });
  expect(limits({ at_once: 5, memory: "100MiB", timeout: "3s" })).toEqual({
    ...{ atOnce: 5, memory: 100, timeout: 3000 },
  });
  expect(limits({ read: false })).toBeUndefined();
});
