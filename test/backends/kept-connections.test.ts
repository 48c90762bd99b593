/** For how long connections to model servers are kept for the next call. */
import { readFileSync } from "node:fs";
import { createServer as createPlain, type ServerResponse } from "node:http";
import { createServer as createSecure } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { Transport } from "../../src/backends/http/transport.js";
import { never } from "../support/calls.js";

const file = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** How many connections two calls, or more, take between which so much time passes, milliseconds. */
async function connectionsFor(
  scheme: "http" | "https",
  pause: number,
  headers: Record<string, string> = {},
  calls = 2,
): Promise<number> {
  // The certificate is nobody's whom this process knows.
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.useRealTimers();
  });
  const server =
    scheme === "http"
      ? createPlain({ keepAliveTimeout: 0 })
      : createSecure({ keepAliveTimeout: 0, cert: file("cert.pem"), key: file("key.pem") });
  server.on("request", (_, response) => response.writeHead(200, headers).end("{}"));
  let connections = 0;
  server.on(scheme === "http" ? "connection" : "secureConnection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => void server.close());
  const transport = new Transport({
    origin: `${scheme}://localhost:${(server.address() as AddressInfo).port}`,
    headers: {},
    timeouts: { connect: 5000, first: 0, idle: 0 },
    connections: 1,
  });
  onTestFinished(() => transport.close());
  for (let call = 0; call < calls; call++) {
    const answer = await transport.send({ method: "GET", path: "/", signal: never });
    expect(await answer.text(100)).toBe("{}");
    await vi.advanceTimersByTimeAsync(pause);
  }
  return connections;
}

test("over TLS, whose handshakes cost, for most of a minute", async () => {
  expect(await connectionsFor("https", 45_000)).toBe(1);
  expect(await connectionsFor("https", 60_000)).toBe(2);
});

test("in plain text for less than servers on Python keep them", async () => {
  expect(await connectionsFor("http", 3000)).toBe(1);
  expect(await connectionsFor("http", 10_000)).toBe(2);
});

test("for as long as the server says", async () => {
  expect(await connectionsFor("https", 10_000, { "keep-alive": "timeout=5" })).toBe(2);
  expect(await connectionsFor("http", 45_000, { "keep-alive": "timeout=60" })).toBe(1);
});

test("no longer than five minutes in all: its name may lead elsewhere by then", async () => {
  expect(await connectionsFor("https", 45_000, {}, 6)).toBe(1);
  expect(await connectionsFor("https", 45_000, {}, 8)).toBe(2);
  expect(await connectionsFor("http", 3000, {}, 120)).toBe(2);
});

test("until a request that runs by then is done", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const held: ServerResponse[] = [];
  const sockets = new Set<unknown>();
  const server = createPlain((request, response) => {
    sockets.add(request.socket);
    response.writeHead(200).flushHeaders();
    held.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const transport = new Transport({
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers: {},
    timeouts: { connect: 5000, first: 0, idle: 0 },
    connections: 4,
  });
  const send = () => transport.send({ method: "GET", path: "/", signal: never });
  const answers = [await send()];
  await vi.advanceTimersByTimeAsync(300_000);
  answers.push(await send());
  expect(sockets.size).toBe(2);
  held[0]?.end("old");
  expect(await answers[0]?.text(100)).toBe("old");
  // Who closes ends the others, on whichever connections.
  await vi.advanceTimersByTimeAsync(300_000);
  const closed = transport.close();
  await expect(answers[1]?.text(100)).rejects.toMatchObject({ code: "shutting_down" });
  await closed;
  await new Promise<void>((resolve) => server.close(() => resolve()));
});
