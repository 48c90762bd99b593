/** Certificates of a configuration whose time is not now. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { folder } from "./folder.js";

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
