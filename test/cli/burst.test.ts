/** Clients that all come at once, while the gateway is busy. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { build, folder, start } from "./lintel.js";

beforeAll(build);

/** More than Node's own queue has room for. */
const clients = 700;

/** How many connections the system lets wait for one listener. */
function longestQueue(): number {
  try {
    return Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  } catch {
    return 0;
  }
}

test("all of them are connected, and served once it has time", async ({ skip }) => {
  skip(longestQueue() < clients, "the system lets fewer wait");
  const cwd = folder({ "lintel.yaml": "listen: 127.0.0.1:0\nbackends: []\n" });
  const lintel = start([], cwd);
  onTestFinished(async () => {
    lintel.kill("SIGKILL");
    await lintel.ended;
  });
  const [, port] = await lintel.until(/ on http:\S+:(\d+)\n/);
  lintel.kill("SIGSTOP");
  const sockets = Array.from({ length: clients }, () => connect(Number(port), "127.0.0.1"));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  lintel.kill("SIGCONT");
  const answers = sockets.map((socket) => {
    socket.end("GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    return text(socket);
  });
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});
