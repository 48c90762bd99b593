/** A gateway that comes to the end of its file descriptors. */
import { once } from "node:events";
import { connect } from "node:net";
import { Client } from "undici";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { serve } from "../backends/serve.js";
import { build, folder, start } from "./lintel.js";

beforeAll(build);

test("says so as it closes further connections, serves those that are there, and goes on", async ({
  skip,
}) => {
  skip(process.platform !== "linux", "the system does not tell its limit");
  const { url } = await serve((exchange) => {
    const message = { role: "assistant", content: "Hi" };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return exchange.sendJson(200, { id: "1", created: 1, model: "m", choices });
  });
  const backends = `backends: [{ type: openai, name: a, url: "${url}", models: [m] }]`;
  const cwd = folder({ "lintel.yaml": `listen: 127.0.0.1:0\n${backends}\n` });
  const lintel = start([], cwd, {}, { descriptors: 100 });
  onTestFinished(async () => {
    lintel.kill("SIGKILL");
    await lintel.ended;
  });
  const [, port] = await lintel.until(/ on http:\S+:(\d+)\n/);
  expect(lintel.stderr).not.toContain("descriptors");
  const client = new Client(`http://127.0.0.1:${port}`);
  onTestFinished(() => client.destroy());
  const health = await client.request({ method: "GET", path: "/healthz" });
  await health.body.dump();
  const sockets = Array.from({ length: 120 }, () => connect(Number(port), "127.0.0.1"));
  const closed = sockets.map((socket) =>
    once(
      socket.on("error", () => {}),
      "close",
    ),
  );
  await lintel.saying(/"level":50.*"limit":100,"msg":"file descriptors are nearly used up/);
  const answer = await client.request({
    method: "POST",
    path: "/llm",
    headers: { authorization: "Bearer me", "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
  });
  expect([answer.statusCode, await answer.body.text()]).toEqual([
    200,
    expect.stringContaining('"content":"Hi"'),
  ]);
  expect(lintel.stderr).not.toContain("usage can't be written");
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  await expect
    .poll(() => fetch(`http://127.0.0.1:${port}/healthz`).then(({ status }) => status, String))
    .toBe(200);
  expect(lintel.stderr.match(/nearly used up/g)).toHaveLength(1);
});
