import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, symlink } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { silent } from "../../src/core/log.js";
import { openOperator, socketsIn } from "../../src/operator.js";
import { openTelemetry } from "../../src/telemetry/open.js";
import { gateway } from "../support/gateway.js";

const settings = {
  prometheus: false,
  otlp: undefined,
  status: true,
  providers: new Map(),
  service: "lintel",
  version: "1",
};

it("removes sockets that killed processes left, and none of which it can't know", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lintel-"));
  const at = (name: string) => join(folder, name);
  const script = `require("node:net").createServer().listen(${JSON.stringify(at("1.sock"))},()=>process.kill(process.pid,"SIGKILL"))`;
  await promisify(execFile)(process.execPath, ["-e", script]).catch(() => {});
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(at("2.sock"), resolve);
  });
  onTestFinished(() => void other.close());
  // Whoever connects gets ELOOP: not an answer, and no refusal either.
  await symlink("3.sock", at("3.sock"));
  expect((await readdir(folder)).sort()).toEqual(["1.sock", "2.sock", "3.sock"]);

  const telemetry = await openTelemetry(settings, silent);
  const operator = await openOperator({ sockets: folder }, { status: telemetry?.status }, silent);
  onTestFinished(() => operator.close());
  // The process may have opened others before.
  const own = (await readdir(folder)).find((name) => name.startsWith(`${process.pid}`)) ?? "none";
  expect((await readdir(folder)).sort()).toEqual(["2.sock", "3.sock", own].sort());
  expect(await socketsIn(folder)).toEqual(
    new Map([
      ["2", at("2.sock")],
      [own.replace(".sock", ""), at(own)],
    ]),
  );
});

it("tells probes at the address of metrics how the process is, in cleartext also beside TLS", async () => {
  const pem = (name: string) =>
    readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8");
  const { cwd, running } = await gateway(
    `backends: []
telemetry: { prometheus: { listen: "unix:metrics.sock" } }
tls: { cert: cert.pem, key: key.pem, client_ca: cert.pem }
`,
    { "cert.pem": pem("cert"), "key.pem": pem("key") },
  );
  const status = async (path: string) => {
    const asked = get({ socketPath: join(cwd, "metrics.sock"), path, agent: false });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  expect(await status("/metrics")).toBe(200);
  expect(await status("/healthz")).toBe(200);
  expect(await status("/readyz")).toBe(200);
  expect(await status("/v1/models")).toBe(404);
  const draining = running.core.drain();
  expect(await status("/healthz")).toBe(200);
  expect(await status("/readyz")).toBe(503);
  await draining;
});

it("opens a socket for each gateway of a process, and leaves none behind", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lintel-"));
  const open = async (name: string) =>
    openOperator({ sockets: folder }, { status: () => ({ name }), own: () => name }, silent);
  const gateways = await Promise.all([open("first"), open("second")]);
  const sockets = await socketsIn(folder);
  const metrics = [...sockets.values()].map(async (socketPath) => {
    const asked = get({ socketPath, path: "/metrics" });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    expect(answer.headers["cache-control"]).toBe("no-store");
    return answer.toArray().then((parts) => parts.join(""));
  });
  expect((await Promise.all(metrics)).sort()).toEqual(["first", "second"]);
  for (const gateway of gateways) await gateway.close();
  expect(await readdir(folder)).toEqual([]);
});
