/** What metrics tell of the configuration, and of what it leads to. */
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { expect, onTestFinished, test } from "vitest";
import { memoryLimit } from "../../src/backends/memory.js";
import { Issuer } from "../oidc/issuer.js";
import { gateway } from "../support/gateway.js";
import { samples } from "./support.js";

const pem = (name: string) =>
  readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8");
const endOf = (name: string) => Date.parse(new X509Certificate(pem(name)).validTo) / 1000;
const on = "telemetry: { prometheus: { listen: 127.0.0.1:0 } }\nbackends: []\n";

async function watched(more = "", files: Readonly<Record<string, string>> = {}) {
  const it = await gateway(`${on}${more}`, files);
  const read = () => samples(it.running.metrics?.() ?? "");
  const of = (name: string) => read().get(name);
  const reload = async (text: string) => {
    it.write(`${on}${text}`);
    await it.reload();
    return ["last_reload_successful", "restart_pending"].map((one) => of(`lintel_config_${one}`));
  };
  return { ...it, of, reload };
}

test("a reload that failed, and changes that wait for a restart", async () => {
  const { of, reload } = await watched();
  expect(of("lintel_config_last_reload_successful")).toBe(1);
  expect(of("lintel_config_restart_pending")).toBe(0);
  expect(await reload("body_limit: 2MiB\n")).toEqual([1, 1]);
  expect(await reload("body_limit: 2MiB\nmedia: { ttl: 5m }\n")).toEqual([1, 2]);
  expect(await reload("modles: []\n")).toEqual([0, 2]);
  expect(await reload("body_limit: 1MiB\n")).toEqual([1, 0]);
  expect(await reload("modles: []\n")).toEqual([0, 0]);
});

test("when certificates end: of each file the first, of a renewed one the new one", async () => {
  const tls = "tls: { cert: cert.pem, key: key.pem }\n";
  const redis = `state:
  directory: state
  redis: { url: "rediss://127.0.0.1:1", tls: { cert: client.pem, key: key.pem } }
`;
  const named = pem("named-cert");
  const { cwd, of, reload } = await watched(tls + redis, {
    "cert.pem": pem("cert"),
    "key.pem": pem("key"),
    "client.pem": pem("cert"),
  });
  const served = () => of('lintel_certificate_not_after_seconds{lintel_certificate="tls.cert"}');
  expect(served()).toBe(endOf("cert"));
  writeFileSync(join(cwd, "cert.pem"), `${pem("renewed-cert")}${named}`);
  writeFileSync(join(cwd, "key.pem"), pem("renewed-key"));
  expect(served()).toBe(endOf("cert"));
  await reload(tls + redis.replace("client.pem, key: key.pem", "cert.pem, key: key.pem"));
  const ends = [endOf("renewed-cert"), endOf("named-cert")];
  expect(served()).toBe(Math.min(...ends));
  expect(new Set([...ends, endOf("cert")]).size).toBe(3);
  // Its connection was made with the one before, and is until a restart.
  expect(
    of('lintel_certificate_not_after_seconds{lintel_certificate="state.redis.tls.cert"}'),
  ).toBe(endOf("cert"));
});

test("when clients' authorities end, and what model servers are shown, of which the file counts as it is now", async () => {
  const files = "tls: { cert: cert.pem, key: key.pem }";
  const text = `telemetry: { prometheus: { listen: 127.0.0.1:0 } }
tls: { cert: cert.pem, key: key.pem, client_ca: ca.pem }
backends:
  - { type: openai, name: plain, url: "http://127.0.0.1:1" }
  - { type: openai, name: a, url: "https://127.0.0.1:1", ${files} }
`;
  const { cwd, running } = await gateway(text, {
    "cert.pem": pem("cert"),
    "key.pem": pem("key"),
    "ca.pem": pem("named-cert"),
  });
  const of = (field: string) =>
    samples(running.metrics?.() ?? "").get(
      `lintel_certificate_not_after_seconds{lintel_certificate="${field}"}`,
    );
  expect(of("tls.client_ca")).toBe(endOf("named-cert"));
  expect(of("backends[1].tls.cert")).toBe(endOf("cert"));
  writeFileSync(join(cwd, "cert.pem"), pem("renewed-cert"));
  expect(of("backends[1].tls.cert")).toBe(endOf("renewed-cert"));
  rmSync(join(cwd, "cert.pem"));
  expect(of("backends[1].tls.cert")).toBeUndefined();
  expect(of("tls.cert")).toBe(endOf("cert"));
});

test("no certificate, no series", async () => {
  const { running } = await watched();
  expect(running.metrics?.()).not.toContain("lintel_certificate");
  expect(running.metrics?.()).not.toContain("lintel_issuer");
});

test("issuers whose keys can't be read, until they can, those of a reload included", async () => {
  const issuer = new Issuer();
  await issuer.start();
  onTestFinished(() => issuer.stop());
  issuer.status = 503;
  const auth = (name: string, refresh: string) => `auth:
  mode: token
  oidc: [{ name: ${name}, issuer: "${issuer.url}", audience: lintel, refresh: ${refresh} }]
`;
  const { of, reload } = await watched(auth("corp", "20ms"));
  const available = (name: string) => of(`lintel_issuer_available{lintel_issuer="${name}"}`);
  await expect.poll(() => available("corp")).toBe(0);
  issuer.status = 200;
  await expect.poll(() => available("corp")).toBe(1);
  await reload(auth("other", "20ms"));
  expect([available("corp"), available("other")]).toEqual([undefined, 1]);
  issuer.status = 503;
  await expect.poll(() => available("other")).toBe(0);
});

test("how much the process may have, and how many processes there are to be", async () => {
  const { of } = await watched();
  expect(of("lintel_workers")).toBe(1);
  expect(of("process_memory_limit_bytes")).toBe(memoryLimit());
  expect(of("v8js_memory_heap_max_bytes")).toBe(getHeapStatistics().heap_size_limit);
});

test("file descriptors, and how many there may be", async ({ skip }) => {
  skip(process.platform !== "linux", "the system does not tell them");
  const { of } = await watched();
  const count = () => of("process_unix_file_descriptor_count") ?? 0;
  const before = count();
  const open = Array.from({ length: 500 }, () => openSync("/dev/null", "r"));
  const during = count();
  for (const one of open) closeSync(one);
  // Others come and go meanwhile.
  expect(Math.abs(during - before - 500)).toBeLessThan(50);
  expect(count()).toBeLessThan(during - 400);
  const limit = execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim();
  if (limit === "unlimited") expect(of("process_unix_file_descriptor_limit")).toBeUndefined();
  else expect(of("process_unix_file_descriptor_limit")).toBe(Number(limit));
});
