import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { cacheStoreSettings } from "../../src/config/cache.js";
import { readerLimits } from "../../src/config/documents.js";
import { loadConfig } from "../../src/config/load.js";
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
import { coreDefaults } from "../../src/core/settings.js";
import { doorDefaults } from "../../src/doors/door.js";
import { appDefaults } from "../../src/server/settings.js";

/** A folder with these files. */
function folder(files: Readonly<Record<string, string>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), "lintel-load-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

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
  expect(await port({ cwd, env: { LINTEL_CONFIG: "b.yaml" } })).toEqual(at(2));
  expect(await port({ cwd, env: { LINTEL_CONFIG: "b.yaml" }, file: "c.yaml" })).toEqual(at(3));
});

test("a file that was named must be there", async () => {
  const loading = loadConfig({ cwd: folder(), env: {}, file: "x.yaml" });
  await expect(loading).rejects.toThrow("x.yaml: there is no such file");
  await expect(loading).rejects.toBeInstanceOf(ConfigError);
  const env = { LINTEL_CONFIG: "y.yaml" };
  await expect(loadConfig({ cwd: folder(), env })).rejects.toThrow(
    "y.yaml: there is no such file; LINTEL_CONFIG names it",
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
])("a file in %s is not read as another text", async (_, bytes, message) => {
  const cwd = folder();
  writeFileSync(join(cwd, "x.yaml"), bytes);
  await expect(loadConfig({ cwd, env: {}, file: "x.yaml" })).rejects.toThrow(message);
});

test("a file that says nothing is warned of: a reload takes none", async () => {
  const warnings = async (text: string) =>
    (await loadConfig({ cwd: folder({ "lintel.yaml": text }), env: {} })).warnings;
  const empty = ["lintel.yaml is empty: the defaults hold; write {} where that is meant"];
  expect(await warnings("")).toEqual(empty);
  expect(await warnings("---\n# auth:\n#   mode: token\n")).toEqual(empty);
  expect(await warnings("\uFEFF# all of it\r\n")).toEqual(empty);
  expect(await warnings("%YAML 1.2\n---\n")).toEqual(empty);
  expect(await warnings("{}")).toEqual([]);
});

test("a file whose name ends in yml is warned of, unless it is named", async () => {
  const cwd = folder({ "lintel.yml": "listen: 1" });
  const { file, warnings } = await loadConfig({ cwd, env: {} });
  expect({ file, warnings }).toEqual({
    file: undefined,
    warnings: ["lintel.yml is not read: rename it to lintel.yaml, or name it with --config"],
  });
  expect((await loadConfig({ cwd, env: {}, file: "lintel.yml" })).warnings).toEqual([]);
});

test("a time without a unit that is a part of a second is warned of, where it stands", async () => {
  const lines = [
    "timeouts: { total: 600, connect: 500ms, keep_alive: 1000 }",
    // A size, which wants no unit.
    "body_limit: 600",
    "media:",
    '  ttl: "24"',
    "backends: [{ type: openai, name: a, url: http://a, refresh: 30, timeouts: { idle: 0 } }]",
  ];
  const cwd = folder({ "lintel.yaml": lines.join("\n") });
  const told = (n: number) =>
    `${n} without a unit is ${n} milliseconds: write ${n}s for seconds, or ${n}ms`;
  expect((await loadConfig({ cwd, env: {} })).warnings).toEqual([
    `lintel.yaml:1:20: timeouts.total: ${told(600)}`,
    `lintel.yaml:4:8: media.ttl: ${told(24)}`,
    `lintel.yaml:5:61: backends[0].refresh: ${told(30)}`,
  ]);
});

test("certificates whose time is not now are warned of, each of the file", async () => {
  const pem = (name: string) =>
    readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8");
  const cwd = folder({
    "chain.pem": `some words\n${pem("key")}${pem("cert")}${pem("renewed-cert")}`,
    "key.pem": pem("key"),
    "lintel.yaml": "tls: { cert: chain.pem, key: key.pem }",
  });
  const warningsIn = async (year: string) => {
    vi.setSystemTime(`${year}-06-01`);
    return (await loadConfig({ cwd, env: {} })).warnings;
  };
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const of = `tls.cert: the certificate of CN=localhost in ${join(cwd, "chain.pem")}`;
  expect(await warningsIn("2027")).toEqual([]);
  expect(await warningsIn("2020")).toEqual([
    `${of} does not count before 2026-11-21T01:28:25.000Z`,
    `${of} does not count before 2026-11-21T11:53:33.000Z`,
  ]);
  expect(await warningsIn("2127")).toEqual([
    `${of} expired at 2126-10-28T01:28:25.000Z`,
    `${of} expired at 2126-10-28T11:53:33.000Z`,
  ]);
});

test("authorities of clients and of model servers are warned of, too", async () => {
  const pem = (name: string) =>
    fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
  const issuing = readFileSync(pem("issuing-cert"), "utf8");
  const cwd = folder({
    "clients.pem": issuing + readFileSync(pem("issued-cert"), "utf8"),
    "lintel.yaml": `tls: { cert: ${pem("cert")}, key: ${pem("key")}, client_ca: clients.pem }
backends: [{ type: openai, name: a, url: "https://a", tls: { ca: ${pem("issuing-cert")} } }]\n`,
  });
  const warnings = async (year: string) => {
    vi.setSystemTime(`${year}-06-01`);
    return (await loadConfig({ cwd, env: {} })).warnings;
  };
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const of = `tls.client_ca: the certificate of CN=issuing in ${join(cwd, "clients.pem")}`;
  const lone = `${of} counts only beside that of who signed it, CN=root`;
  expect(await warnings("2027")).toEqual([lone]);
  const over = "expired at 2125-01-01T00:00:00.000Z";
  expect(await warnings("2126")).toEqual([
    `${of} ${over}`,
    lone,
    `${of.replace("issuing", "issued")} ${over}`,
    `backends[0].tls.ca: the certificate of CN=issuing in ${pem("issuing-cert")} ${over}`,
  ]);
});

test("of certificates that model servers are shown, too", async () => {
  const pem = (name: string) =>
    fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
  const [cert, key] = [pem("cert"), pem("key")];
  const lines = [
    "backends:",
    "  - { type: openai, name: a, url: http://a }",
    `  - { type: node, name: b, address: "https://b", token: any, tls: { cert: ${cert}, key: ${key} } }`,
  ];
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.setSystemTime("2127-06-01");
  const cwd = folder({ "lintel.yaml": lines.join("\n") });
  expect((await loadConfig({ cwd, env: {} })).warnings).toEqual([
    `backends[1].tls.cert: the certificate of CN=localhost in ${cert} expired at 2126-10-28T01:28:25.000Z`,
  ]);
});

test("of those for Redis and PostgreSQL, too", async () => {
  const pem = (name: string) =>
    fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
  const [cert, key, ca] = [pem("cert"), pem("key"), pem("issuing-cert")];
  const database = `postgres://user@host/name?sslrootcert=${ca}&sslcert=${cert}&sslkey=${key}`;
  const redis = `{ url: "rediss://a", tls: { ca: ${ca}, cert: ${cert}, key: ${key} } }`;
  const lines = [
    "state:",
    `  database: ${database}`,
    `  redis: ${redis}`,
    `cache: { ttl: 1h, redis: ${redis} }`,
  ];
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.setSystemTime("2127-06-01");
  const cwd = folder({ "lintel.yaml": lines.join("\n") });
  const authority = `the certificate of CN=issuing in ${ca} expired at 2125-01-01T00:00:00.000Z`;
  const own = `the certificate of CN=localhost in ${cert} expired at 2126-10-28T01:28:25.000Z`;
  const { warnings } = await loadConfig({ cwd, env: {} });
  expect(warnings.filter((line) => line.includes("certificate"))).toEqual([
    `state.redis.tls.ca: ${authority}`,
    `state.redis.tls.cert: ${own}`,
    `cache.redis.tls.ca: ${authority}`,
    `cache.redis.tls.cert: ${own}`,
    `state.database: sslrootcert: ${authority}`,
    `state.database: sslcert: ${own}`,
  ]);
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

test("an address that HOST and PORT put out of use is warned of", async () => {
  const warned = async (listen: string, env: Record<string, string>, options: string[] = []) => {
    const cwd = folder({ "lintel.yaml": listen });
    const { warnings } = await loadConfig({ cwd, env, listen: options });
    return warnings.filter((warning) => warning.includes("HOST and PORT"));
  };
  const env = { HOST: "127.0.0.1", PORT: "2" };
  expect(await warned("listen: [1, '127.0.0.1:2', 3]", env)).toEqual([
    "listen: not on 127.0.0.1:1, 127.0.0.1:3, but on 127.0.0.1:2: HOST and PORT of the environment replace it",
  ]);
  expect(await warned("listen: [1, 3]", {})).toEqual([]);
  expect(await warned("listen: [1, 3]", env, [":4"])).toEqual([]);
  expect(await warned("listen: 2", env)).toEqual([]);
  expect(await warned("cors: {}", env)).toEqual([]);
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
  const long = [`unix:${"a".repeat(100)}`];
  await expect(loadConfig({ cwd: folder(), env: {}, listen: long })).rejects.toMatchObject({
    problems: [{ source: "--listen", message: expect.stringContaining("at most 103 bytes") }],
  });
  await expect(loadConfig({ cwd: folder(), env, listen: ["here"] })).rejects.toMatchObject({
    problems: [{ source: "--listen" }],
  });
});

test("calls without a token from other machines are warned of", async () => {
  const cwd = folder({ "lintel.yaml": "auth: { mode: none }" });
  expect((await loadConfig({ cwd, env: {} })).warnings).toEqual([]);
  const { warnings } = await loadConfig({ cwd, env: { HOST: "0.0.0.0" } });
  expect(warnings).toContainEqual(expect.stringContaining("0.0.0.0:8080 can be reached"));
});

test("addresses of images that lead nowhere from other machines are warned of", async () => {
  const warningsOf = async (text: string) =>
    (await loadConfig({ cwd: folder({ "lintel.yaml": text }), env: {} })).warnings;
  const warned = [expect.stringContaining("public_url is not set")];
  const chat = "backends: [{ type: openai, name: a, url: 'http://a', models: [b] }]";
  expect(await warningsOf("listen: :8080")).toEqual(warned);
  expect(await warningsOf("listen: unix:a.sock")).toEqual(warned);
  expect(await warningsOf("listen: :8080\ntrust_proxy: []")).toEqual(warned);
  const gateway = "media: { store: s3, s3: { bucket: a, address: gateway } }";
  expect(await warningsOf(`listen: :8080\n${gateway}`)).toEqual(warned);
  const unsaid = "backends: [{ type: openai, name: a, url: 'http://a' }]";
  for (const backends of [chat.replace("[b]", "[b], image_models: [c]"), unsaid]) {
    expect(await warningsOf(`listen: :8080\n${backends}`)).toEqual(warned);
  }
  for (const text of [
    "listen: 127.0.0.1:8080",
    "listen: ['127.0.0.1:8080', 'unix:a.sock']",
    "listen: :8080\npublic_url: https://ai.example.com",
    "listen: :8080\ntrust_proxy: [10.0.0.0/8]",
    "listen: :8080\nmedia: { delivery: data }",
    "listen: :8080\nmedia: { store: s3, s3: { bucket: a } }",
    `listen: :8080\n${chat}`,
    "listen: :8080\nbackends: [{ type: llama, name: a, path: b }]",
  ]) {
    expect(await warningsOf(text), text).toEqual([]);
  }
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
`,
  });
  const { config } = await loadConfig({ cwd, env: {} });
  expect(missingFiles(config, cwd)).toEqual([
    `backends[1].path: there is no ${join(cwd, "gone.gguf")} now`,
    `backends[3].path: there is no ${join(cwd, "gone")} now`,
    `backends[4].models[1]: there is no ${join(cwd, "other.gguf")} now`,
    `safety.checker.path: there is no ${join(cwd, "checker")} now`,
    "backends[5].package: @ai-sdk/nobody-has-this is not installed now",
  ]);
});

test("times of a model that its backend cuts short are warned of", async () => {
  const backends = `
backends:
  - { type: openai, name: a, url: "http://h", timeouts: { idle: 0 } }
  - { type: openai, name: b, url: "http://h", timeouts: { first_token: 15m } }
`;
  const cwd = folder({
    "lintel.yaml": `${backends}
models:
  - name: slow
    timeouts: { first_token: 15m, between_tokens: 5m, total: 30m }
    targets: [{ backend: a }, { backend: b }]
  - { name: fast, backends: [a], timeouts: { connect: 5s, first_token: 1m } }
  - { name: anywhere, timeouts: { connect: 1h } }
`,
  });
  expect((await loadConfig({ cwd, env: {} })).warnings).toEqual([
    'timeouts.first_token of model "slow" is longer than timeouts.first_token of backend "a", which counts',
    'timeouts.between_tokens of model "slow" is longer than timeouts.idle of backend "b", which counts',
  ]);
  const one = "backends: [{ type: openai, name: a, url: http://h }]";
  const only = folder({
    "lintel.yaml": `${one}\nmodels: [{ name: m, timeouts: { connect: 1h } }]`,
  });
  expect((await loadConfig({ cwd: only, env: {} })).warnings).toEqual([
    'timeouts.connect of model "m" is longer than timeouts.connect of backend "a", which counts',
  ]);
});

test("nodes on a port that are asked without a token are warned of", async () => {
  const address = "address: http://h:1";
  const cwd = folder({
    "lintel.yaml": `backends:
  - { type: node, name: without, ${address} }
  - { type: node, name: with, ${address}, token: any }
  - { type: node, name: socket, address: "unix:/run/node.sock" }
`,
  });
  expect((await loadConfig({ cwd, env: {} })).warnings).toEqual([
    expect.stringMatching(/^backend "without" has no token, /),
  ]);
});

test("settings that do nothing are warned of", async () => {
  const warned = async (text: string) =>
    (await loadConfig({ cwd: folder({ "lintel.yaml": text }), env: {} })).warnings;
  const s3 = "s3: { bucket: b }";
  expect(await warned(`memory_budget: 1GiB\nmedia: { ${s3} }\n`)).toEqual([
    expect.stringMatching(/^media\.s3 is not looked at/),
    expect.stringMatching(/^memory_budget bounds nothing/),
  ]);
  const llama = "backends: [{ type: llama, name: l, path: m.gguf }]";
  expect(await warned(`memory_budget: 1GiB\n${llama}\nmedia: { store: s3, ${s3} }\n`)).toEqual([]);
});

test("budgets that are never spent, and limits that a restart forgets, are warned of", async () => {
  const warned = async (text: string) =>
    (await loadConfig({ cwd: folder({ "lintel.yaml": text }), env: {} })).warnings;
  const price = "prices: [{ model: a, input: 1 }]\n";
  const budget = (period: string) =>
    `limits: { caller: { budget: { amount: 1, period: ${period} } } }\n`;
  const images = 'limits: { models: [{ model: "*", images_per_day: 5 }] }\n';
  const off = "usage: { enabled: false }\n";
  expect(await warned(budget("day"))).toEqual([expect.stringMatching(/^prices is empty: /)]);
  for (const limits of [price + budget("hour"), images]) {
    expect(await warned(limits)).toEqual([]);
    expect(await warned(limits + off)).toEqual([
      expect.stringMatching(/^usage\.enabled is false, .* begin anew with each start$/),
    ]);
    expect(await warned(`${limits}${off}state: { redis: { url: "redis://h" } }\n`)).toEqual([]);
  }
  const kept = (time: string, limits: string) => warned(`${limits}usage: { retention: ${time} }\n`);
  expect(await kept("31d", price + budget("month"))).toEqual([]);
  expect(await kept("30d", price + budget("month"))).toEqual([
    expect.stringMatching(/^usage\.retention is shorter than the month that a limit lasts/),
  ]);
  expect(await kept("23h", images)).toEqual([expect.stringMatching(/shorter than the day/)]);
  expect(await kept("23h", "limits: { user: { images_per_day: 5 } }\n")).toEqual([
    expect.stringMatching(/shorter than the day/),
  ]);
  // What is deleted of a lifetime's is kept, but for end users, and in mode public counters never end.
  const strangers = expect.stringMatching(/^limits\.caller or limits\.user has a lifetime budget/);
  expect(await kept("1h", price + budget("lifetime"))).toEqual([strangers]);
  const known = "auth: { mode: token }\n";
  expect(await kept("1h", price + known + budget("lifetime"))).toEqual([]);
  const ofUsers = budget("lifetime").replace("caller", "user");
  expect(await kept("1h", price + known + ofUsers)).toEqual([
    expect.stringMatching(/^end users have a lifetime budget, and there is no state\.redis/),
  ]);
  const teams =
    "teams: [{ name: t, limits: { user: { budget: { amount: 1, period: lifetime } } } }]";
  expect(await kept("1h", `${price}auth: { mode: token, ${teams} }\n`)).toEqual([
    expect.stringMatching(/^end users have a lifetime budget/),
  ]);
  expect(
    await warned(`${price}${known}${ofUsers}state: { redis: { url: "redis://h" } }\n`),
  ).toEqual([]);
  const alerts = 'budget_alerts: { url: "http://h" }\n';
  const day = budget("day");
  for (const told of [day.replace("caller", "global"), known, known + day]) {
    expect(await warned(price + told + alerts)).toEqual([]);
  }
  // Callers whom nobody knows are not told of, nor are end users.
  for (const none of ["", day, day.replace("caller", "user")]) {
    expect(await warned(price + none + alerts)).toEqual([
      expect.stringMatching(/^budget_alerts tells of nothing: /),
    ]);
  }
  const issuer = (said: string) =>
    `auth: { mode: token, oidc: [{ name: o, issuer: "https://o", audience: a, ${said} }] }\n`;
  const monthly = "limits: { budget: { amount: 1 } }";
  for (const said of [monthly, `rules: [{ claim: c, value: v, ${monthly} }]`]) {
    expect(await warned(issuer(said))).toEqual([expect.stringMatching(/^prices is empty: /)]);
    expect(await kept("30d", price + issuer(said))).toEqual([
      expect.stringMatching(/shorter than the month/),
    ]);
  }
  expect(await kept("23h", issuer("claims: { images_per_day: c }"))).toEqual([
    expect.stringMatching(/shorter than the day/),
  ]);
  const unlimited = "{ images_per_day: unlimited, budget: { amount: unlimited } }";
  for (const limits of ["{ requests_per_minute: 5 }", unlimited]) {
    expect(await kept("1h", `limits: { global: ${limits} }\n`)).toEqual([]);
  }
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
  const admin = (listen: string) =>
    `admin: { tokens: [{ name: a, hash: "sha256:${"ab".repeat(32)}" }], listen: ${listen} }\n`;
  const cwd = folder({
    "same.yaml": `listen: 127.0.0.1:9090\n${admin('["127.0.0.1:0", "127.0.0.1:9090"]')}`,
    "metrics.yaml": `telemetry: { prometheus: { listen: ":9091" } }\n${admin("127.0.0.1:9091")}`,
    "own.yaml": admin("unix:a.sock"),
    "open.yaml": admin("0.0.0.0:9090"),
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
