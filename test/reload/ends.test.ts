/** Reloads that come in quick succession, and the end of a gateway. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { valid } from "../config/text.js";
import { gateway } from "../support/gateway.js";
import { backend } from "./model-server.js";

/** A model server that answers nothing, and whose models are asked for. */
async function silentServer() {
  const open = new Set<Socket>();
  const server = createServer(() => {});
  const asked = once(server, "request");
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { entry: `  - { type: openai, name: s, url: "${url}" }\n`, asked, open };
}

const config = (...backends: string[]) =>
  valid(`listen: 127.0.0.1:0\nbackends:\n${backends.join("")}`);
const entryOf = (name: string) => backend(name, "http://127.0.0.1:9");
const [a, b, c] = [entryOf("a"), entryOf("b"), entryOf("c")];

test("reloads that come at once follow each other: each goes on from the one before", async () => {
  const { running } = await gateway(`backends:\n${a}`);
  const [first, second] = await Promise.all([
    running.reload(config(a, b)),
    running.reload(config(a, c)),
  ]);
  expect(first).toMatchObject({ added: ["b"], removed: [] });
  expect(second).toMatchObject({ added: ["c"], removed: ["b"] });
  expect(running.backends.map((one) => one.config.name)).toEqual(["a", "c"]);
});

test("a gateway that ends takes over nothing more, also not what it was asked for just before", async () => {
  const { running } = await gateway(`backends:\n${a}`);
  const before = running.reload(config(b)).catch((error) => error);
  const closed = running.close(0);
  const after = running.reload(config(c)).catch((error) => error);
  expect(await before).toMatchObject({ code: "shutting_down" });
  expect(await after).toMatchObject({ code: "shutting_down" });
  await closed;
  expect(running.backends.map((one) => one.config.name)).toEqual(["a"]);
});

test("a gateway that ends lets go of its model servers, of one that hangs, too", async () => {
  const server = await silentServer();
  const { running } = await gateway(`backends:\n${a}`);
  await running.reload(config(a, server.entry));
  await server.asked;
  expect(server.open.size).toBe(1);
  await running.close(0);
  await expect.poll(() => server.open.size).toBe(0);
});
