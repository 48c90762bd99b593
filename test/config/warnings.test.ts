/** What a configuration may say, and is warned of. */
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { folder } from "./folder.js";

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

test("callers that nobody looks at are warned of", async () => {
  const hash = `sha256:${"ab".repeat(32)}`;
  const text = `auth:
  tokens: [{ name: a, hash: "${hash}" }]
  teams: [{ name: red }]
  oidc: [{ name: corp, issuer: "https://a", audience: b }]
limits: { team: { concurrent: 1 } }
`;
  const { warnings } = await loadConfig({ cwd: folder({ "lintel.yaml": text }), env: {} });
  const why = "because auth.mode is public";
  expect(warnings).toEqual([
    `auth.tokens are not looked at, ${why}`,
    `auth.teams are not looked at, ${why}`,
    `limits.team limits nobody, ${why}`,
    `auth.oidc is not looked at, ${why}`,
  ]);
});

test("calls without a token from other machines are warned of", async () => {
  const cwd = folder({ "lintel.yaml": "auth: { mode: none }" });
  for (const HOST of [undefined, "::1", "localhost", "127.1.2.3"]) {
    expect((await loadConfig({ cwd, env: { HOST } })).warnings).toEqual([]);
  }
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
  const strangers = expect.stringMatching(
    /^limits\.caller, limits\.user or a caller of limits\.models has a lifetime budget/,
  );
  expect(await kept("1h", price + budget("lifetime"))).toEqual([strangers]);
  const known = "auth: { mode: token }\n";
  expect(await kept("1h", price + known + budget("lifetime"))).toEqual([]);
  const ofUsers = budget("lifetime").replace("caller", "user");
  expect(await kept("1h", price + known + ofUsers)).toEqual([
    expect.stringMatching(/^end users have a lifetime budget, and there is no state\.redis/),
  ]);
  expect(await warned(price + known + ofUsers + off)).toEqual([
    expect.stringMatching(/^usage\.enabled is false, .* begin anew with each start$/),
  ]);
  const endless = ofUsers.replace("amount: 1", "amount: unlimited");
  expect(await kept("1h", endless)).toEqual([]);
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
  const ofModels = 'limits: { models: [{ model: "*", budget: { amount: 1, period: day } }] }\n';
  for (const told of [day.replace("caller", "global"), ofModels, known, known + day]) {
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

test("tokens for some addresses are warned of, where anybody may write one", async () => {
  const hash = `sha256:${"0".repeat(64)}`;
  const warnings = async (trusted: string, from: string) => {
    const auth = `auth: { mode: token, tokens: [{ name: a, hash: "${hash}"${from} }] }`;
    const cwd = folder({ "lintel.yaml": `${auth}\ntrust_proxy: ${trusted}\n` });
    return (await loadConfig({ cwd, env: {} })).warnings;
  };
  expect(await warnings("true", ", from: [10.0.0.0/8]")).toEqual([
    expect.stringMatching(
      /^the token of "a" may be used from some addresses alone, and trust_proxy is true: /,
    ),
  ]);
  const cwd = folder({
    "lintel.yaml": `trust_proxy: true
auth:
  mode: token
  oidc:
    - { name: corp, issuer: "https://a.example", audience: a, from: [10.0.0.0/8] }
    - { name: free, issuer: "https://b.example", audience: a, rules: [{ claim: a, value: b }] }
    - { name: some, issuer: "https://c.example", audience: a, rules: [{ claim: a, value: b, from: ["::1"] }] }
admin:
  listen: 127.0.0.1:9090
  tokens: [{ name: ops, hash: "${hash}", from: [10.0.0.0/8] }]
`,
  });
  expect(
    (await loadConfig({ cwd, env: {} })).warnings.map((one) => one.split(" from ")[0]),
  ).toEqual([
    'callers of the issuer "corp" may call',
    'callers of the issuer "some" may call',
    'the administrator\'s token "ops" may be used',
  ]);
  expect(await warnings("[127.0.0.1]", ", from: [10.0.0.0/8]")).toEqual([]);
  expect(await warnings("true", "")).toEqual([]);
});
