/** A server whose name has several addresses, on a network where connections take long. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type LookupFunction } from "node:net";
import { request } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { agentTo } from "../../src/backends/http/pools.js";
import { freePort } from "../support/port.js";

/** Nobody listens at the second one. */
const addresses = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** A lookup that knows these, and hears of each question. */
const lookupOf =
  (asked: () => void): LookupFunction =>
  (_name, _options, answer) => {
    asked();
    answer(null, addresses);
  };

/** A server that takes no connection until it goes on: the system leaves them without an answer. */
async function busyServer(): Promise<{ port: number; goOn(): void }> {
  const program = `
    const server = require("node:http").createServer((_, response) => response.end("there"));
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      process.stdout.write(String(server.address().port));
    });`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [said] = await once(child.stdout, "data");
  const port = Number(said);
  child.kill("SIGSTOP");
  // Those that its queue has room for, and one whose question stays open.
  const queued = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  onTestFinished(() => {
    for (const socket of queued) socket.destroy();
  });
  await once(queued[0] as (typeof queued)[0], "connect");
  return { port, goOn: () => void child.kill("SIGCONT") };
}

async function asked(port: number, lookup: LookupFunction): Promise<string> {
  const agent = agentTo({ connect: { timeout: 30_000, lookup } });
  onTestFinished(() => agent.destroy());
  const { body } = await request(`http://several.test:${port}/`, { dispatcher: agent });
  return body.text();
}

test("is asked again, with patience, where Node went on to an address that leads nowhere", async () => {
  const { port, goOn } = await busyServer();
  let times = 0;
  const lookup = lookupOf(() => {
    if (++times === 2) goOn();
  });
  expect(await asked(port, lookup)).toBe("there");
  expect(times).toBe(2);
});

test("is not asked again where every address refuses", async () => {
  let times = 0;
  const lookup = lookupOf(() => void times++);
  await expect(asked(await freePort(), lookup)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  expect(times).toBe(1);
});
