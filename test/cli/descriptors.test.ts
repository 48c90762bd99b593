/** A gateway that comes to the end of its file descriptors. */
import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { build, folder, start } from "./lintel.js";

beforeAll(build);

test("says so before connections are closed without a word, and goes on", async ({ skip }) => {
  skip(process.platform !== "linux", "the system does not tell its limit");
  const backends = "backends: [{ type: openai, name: a, url: http://127.0.0.1:9, models: [m] }]";
  const cwd = folder({ "lintel.yaml": `listen: 127.0.0.1:0\n${backends}\n` });
  const lintel = start([], cwd, {}, { descriptors: 100 });
  onTestFinished(async () => {
    lintel.kill("SIGKILL");
    await lintel.ended;
  });
  const [, port] = await lintel.until(/ on http:\S+:(\d+)\n/);
  expect(lintel.stderr).not.toContain("descriptors");
  const sockets = Array.from({ length: 120 }, () => connect(Number(port), "127.0.0.1"));
  const closed = sockets.map((socket) =>
    once(
      socket.on("error", () => {}),
      "close",
    ),
  );
  await lintel.saying(/"level":50.*"limit":100,"msg":"file descriptors are nearly used up/);
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  await expect
    .poll(() => fetch(`http://127.0.0.1:${port}/healthz`).then(({ status }) => status, String))
    .toBe(200);
  expect(lintel.stderr.match(/nearly used up/g)).toHaveLength(1);
});
