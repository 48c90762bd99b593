/** For how long connections to model servers are kept for the next call. */
import { readFileSync } from "node:fs";
import { createServer as createPlain } from "node:http";
import { createServer as createSecure } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { Transport } from "../../src/backends/http/transport.js";
import { never } from "../support/calls.js";

const file = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** How many connections two calls take between which so much time passes, milliseconds. */
async function connectionsFor(
  scheme: "http" | "https",
  pause: number,
  headers: Record<string, string> = {},
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
  for (let call = 0; call < 2; call++) {
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
