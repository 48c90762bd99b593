/** The image's health check, run as it stands in the Dockerfile, and its user. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { gateway } from "./support/gateway.js";

const root = join(import.meta.dirname, "..");
const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
const [, check = ""] = /^HEALTHCHECK .*\\\n +CMD (\[.*\])$/m.exec(dockerfile) ?? [];

/** Runs the health check; answers its exit code. */
function healthOf(port: number): Promise<number | null> {
  const [program = "", ...args] = JSON.parse(check) as string[];
  const env = { ...process.env, PORT: String(port) };
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, env }).once("exit", resolve);
  });
}

const portOf = ({ running }: Awaited<ReturnType<typeof gateway>>) =>
  running.listeners[0]?.port ?? 0;

test("a gateway is healthy, without TLS, with it, and where clients show certificates", async () => {
  const pem = (name: string) => readFileSync(join(root, `test/fixtures/tls/${name}.pem`), "utf8");
  const files = { "cert.pem": pem("cert"), "key.pem": pem("key") };
  const plain = await gateway("backends: []\n");
  const secure = await gateway("backends: []\ntls: { cert: cert.pem, key: key.pem }\n", files);
  expect(await healthOf(portOf(plain))).toBe(0);
  expect(await healthOf(portOf(secure))).toBe(0);
  const mutual = await gateway(
    "backends: []\ntls: { cert: cert.pem, key: key.pem, client_ca: cert.pem }\n",
    files,
  );
  expect(await healthOf(portOf(mutual))).toBe(0);
  expect(mutual.lines.filter(({ level }) => level !== "info")).toEqual([]);
  expect(secure.lines.filter(({ level }) => level !== "info")).toEqual([]);
});

test("one that fails or is not there is not", async () => {
  const failing = createServer((_request, response) => response.writeHead(503).end());
  onTestFinished(() => void failing.close());
  await new Promise<void>((resolve) => failing.listen(0, "127.0.0.1", resolve));
  const { port } = failing.address() as AddressInfo;
  expect(await healthOf(port)).toBe(1);
  await new Promise((resolve) => failing.close(resolve));
  expect(await healthOf(port)).toBe(1);
});

test("its user is not root, and a number: of a name Kubernetes can't tell", () => {
  const users = [...dockerfile.matchAll(/^USER (.*)$/gm)].map(([, user]) => user);
  expect(users).toEqual([expect.stringMatching(/^[1-9]\d*(:[1-9]\d*)?$/)]);
});
