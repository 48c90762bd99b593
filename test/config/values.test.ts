import { constants } from "node:buffer";
import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { valid } from "./text.js";

describe("values", () => {
  test("an empty file means the defaults", () => {
    const config = valid("");
    expect(config).toMatchObject({
      listen: [{ host: "127.0.0.1", port: 8080 }],
      auth: { mode: "public", tokens: [] },
      cors: { origins: ["*"] },
      trust_proxy: false,
      body_limit: 1_048_576,
      models: [],
      timeouts: { total: 600_000, first_message: 10_000, keep_alive: 15_000, shutdown: 30_000 },
      media: { ttl: 86_400_000, max_bytes: 2 ** 30, delivery: "url" },
      safety: { action: "flag" },
      log: { level: "info" },
    });
    expect(config.backends).toBeUndefined();
    expect(valid("# nothing but a comment\n")).toEqual(config);
  });

  test.each([
    ["24h", 86_400_000],
    ["30s", 30_000],
    ["1.5s", 1500],
    ["500ms", 500],
    ["7d", 604_800_000],
    ["250", 250],
    ['"250"', 250],
  ])("the duration %s is %d ms", (text, expected) => {
    expect(valid(`media: { ttl: ${text} }`).media.ttl).toBe(expected);
  });

  test("what is waited may be 24 days, and nothing where that means something", () => {
    const { timeouts } = valid("timeouts: { total: 24d, first_message: 0, shutdown: 0 }");
    expect(timeouts).toMatchObject({ total: 2_073_600_000, first_message: 0, shutdown: 0 });
  });

  test.each([
    ["1GiB", 2 ** 30],
    ["512KiB", 524_288],
    ["2GB", 2e9],
    ["1.5MiB", 1_572_864],
    ["100B", 100],
    ["4096", 4096],
  ])("the size %s is %d bytes", (text, expected) => {
    expect(valid(`memory_budget: ${text}`).memory_budget).toBe(expected);
  });

  test.each([
    ["127.0.0.1:9000", [{ host: "127.0.0.1", port: 9000 }]],
    ['"[::1]:9000"', [{ host: "::1", port: 9000 }]],
    ['":9000"', [{ host: "::", port: 9000 }]],
    ["9000", [{ host: "127.0.0.1", port: 9000 }]],
    ["localhost:0", [{ host: "localhost", port: 0 }]],
    ["unix:/run/lintel.sock", [{ path: "/run/lintel.sock" }]],
    ["unix:/run/a%20b c.sock", [{ path: "/run/a%20b c.sock" }]],
    ["unix:///run/a%20b?c.sock", [{ path: "/run/a b?c.sock" }]],
    ["[1234, 'unix:/a']", [{ host: "127.0.0.1", port: 1234 }, { path: "/a" }]],
  ])("listen: %s", (text, expected) => {
    expect(valid(`listen: ${text}`).listen).toEqual(expected);
  });

  test("paths count from the file's folder", () => {
    const config = valid(
      `media: { directory: pictures }
backends:
  - { type: llama, name: local, path: models/a.gguf }
  - { type: llama, name: other, path: /srv/b.gguf }
`,
      {},
      "/etc/lintel",
    );
    expect(config.media.directory).toBe("/etc/lintel/pictures");
    expect(config.backends).toMatchObject([
      { path: "/etc/lintel/models/a.gguf" },
      { path: "/srv/b.gguf" },
    ]);
  });
});

test("what is called path in settings of others is theirs", () => {
  const config = valid(`backends:
  - { type: ai-sdk, name: a, package: x, options: { path: api }, models: [{ id: m }] }
  - { type: sdapi, name: b, url: "http://h", headers: { path: a }, parameters: { path: b } }
`);
  expect(config.backends).toMatchObject([
    { options: { path: "api" } },
    { headers: { path: "a" }, parameters: { path: "b" } },
  ]);
});

test.each([
  "postgres://me@db/name",
  "postgres://me:pass@/name?host=/run/postgresql",
  "postgresql:///name",
])("the database %s", (database) => {
  expect(valid(`state: { database: "${database}" }`).state.database).toBe(database);
});

test("the path of a socket may have 103 bytes, with the folder that it counts from", () => {
  const path = `run/${"a".repeat(103 - "/etc/lintel/run/".length)}`;
  expect(valid(`listen: unix:${path}`).listen).toEqual([{ path }]);
});

test("the hash of a token comes in small letters", () => {
  const { auth } = valid(`auth: { tokens: [{ name: a, hash: "sha256:${"AB".repeat(32)}" }] }`);
  expect(auth.tokens[0]?.hash).toBe(`sha256:${"ab".repeat(32)}`);
});

test("the address of an issuer's keys may have a query", () => {
  const url = "https://a/keys?policy=b2c_1";
  const text = `auth: { oidc: [{ name: a, issuer: "https://a", audience: l, jwks_url: "${url}" }] }`;
  expect(valid(text).auth.oidc[0]?.jwks_url).toBe(url);
});

test("origins come in the spelling of browsers", () => {
  const text = `cors:
  origins: ["https://a.example/", "HTTPS://B.example:443", "http://localhost:3000", "null"]
`;
  expect(valid(text).cors.origins).toEqual([
    "https://a.example",
    "https://b.example",
    "http://localhost:3000",
    "null",
  ]);
  const apps = ["chrome-extension://abcdef", "app://localhost", "file://"];
  expect(valid(`cors: { origins: ${JSON.stringify(apps)} }`).cors.origins).toEqual(apps);
});

test("the largest body is still one that Node can make a text of", () => {
  const { body_limit } = valid("body_limit: 512MB");
  expect(body_limit).toBeLessThan(constants.MAX_STRING_LENGTH);
});

test("defaults may be what the contract or wider bounds allow", () => {
  valid(`bounds: { width: { max: 4096 }, height: { max: 512 }, top_p: { min: 0 } }
models: [{ name: a, defaults: { width: 4096, height: 1024, top_p: 0, guidance_scale: 0 } }]
`);
});

test("the example in the repository is valid", () => {
  const text = readFileSync(new URL("../../lintel.example.yaml", import.meta.url), "utf8");
  const config = valid(text);
  expect(config.auth.tokens.map(({ name }) => name)).toEqual(["alice", "kiosk"]);
  expect(config.default_models.chat).toBe("small");
});

test("TLS files that are there are accepted, beside the file", () => {
  const folder = mkdtempSync(join(tmpdir(), "lintel-config-"));
  for (const name of ["cert.pem", "key.pem"]) {
    copyFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), join(folder, name));
  }
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const served = "tls: { cert: cert.pem, key: key.pem, client_ca: cert.pem }";
  expect(valid(served, {}, folder).tls).toEqual({ cert, key, client_ca: cert });
  const files = "tls: { ca: cert.pem, cert: cert.pem, key: key.pem, server_name: gpu }";
  const backends = `backends: [{ type: node, name: a, address: "https://a", ${files} }]`;
  expect(valid(backends, {}, folder).backends).toMatchObject([
    { tls: { ca: cert, cert, key, server_name: "gpu" } },
  ]);
});

test.each([
  ["{}", { max: 5, max_ttl: 30 * 86_400_000 }],
  [
    "{ max: 1, max_ttl: 366d, max_per_day: 100000 }",
    { max: 1, max_ttl: 366 * 86_400_000, max_per_day: 100_000 },
  ],
])("own_tokens: %s", (written, meant) => {
  const text = `auth: { oidc: [{ name: a, issuer: "https://a", audience: l, own_tokens: ${written} }] }`;
  expect(valid(text).auth.oidc[0]?.own_tokens).toEqual(meant);
});
