/** A model server that is reached over TLS, as most that are bought are. */
import { readFileSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer, type Server } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { Transport } from "../../src/backends/http/transport.js";
import { reasonOf } from "../../src/core/log.js";
import { never } from "../support/calls.js";

const file = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** What is thrown where a server is asked over TLS. */
async function askOf(server: Server, scheme = "https"): Promise<unknown> {
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => void server.close());
  const transport = new Transport({
    origin: `${scheme}://localhost:${(server.address() as AddressInfo).port}`,
    headers: {},
    timeouts: { connect: 5000, first: 0, idle: 0 },
    connections: 1,
  });
  onTestFinished(() => transport.close());
  const sent = transport.send({ method: "GET", path: "/", signal: never });
  return sent.catch((error: unknown) => error);
}

test("one whose certificate is not trusted is unreachable, and the log is told what to do", async () => {
  const thrown = await askOf(createServer({ cert: file("cert.pem"), key: file("key.pem") }));
  expect(thrown).toMatchObject({ code: "upstream_unreachable" });
  expect(reasonOf(thrown)).toMatch(/self-signed.*; NODE_EXTRA_CA_CERTS=FILE trusts/);
});

test.each(["TLSv1.2", "TLSv1.3"] as const)(
  "one that wants a certificate of the gateway's is unreachable, and the log is told why: %s",
  async (version) => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(() => void vi.unstubAllEnvs());
    const [cert, key] = [file("cert.pem"), file("key.pem")];
    const versions = { minVersion: version, maxVersion: version };
    const wanting = { requestCert: true, rejectUnauthorized: true, ca: cert };
    const server = createServer({ cert, key, ...versions, ...wanting });
    const thrown = await askOf(server);
    expect(thrown).toMatchObject({ code: "upstream_unreachable" });
    expect(reasonOf(thrown)).toMatch(
      version === "TLSv1.3"
        ? /: tlsv13 alert certificate required\b/
        : // The code beside it has a slash with newer ones of OpenSSL.
          /alert handshake failure\b/,
    );
  },
);

test("one that speaks http:// is unreachable, and the log is told that", async () => {
  const thrown = await askOf(createPlainServer());
  expect(thrown).toMatchObject({ code: "upstream_unreachable" });
  expect(reasonOf(thrown)).toMatch(/wrong version number \(\w+\); no TLS is spoken there$/);
});

test("one that is asked by http:// and closes the connection without a word is told as one that may speak TLS", async () => {
  const server = createServer({ cert: file("cert.pem"), key: file("key.pem") });
  const thrown = await askOf(server, "http");
  expect(thrown).toMatchObject({ code: "upstream_failed" });
  expect(reasonOf(thrown)).toMatch(/; if TLS is spoken there, its address begins with https:\/\/$/);
});

test("one that is asked by http:// and answers with an alert of TLS is told as that", async () => {
  const alert = Buffer.from([21, 3, 3, 0, 2, 2, 50]);
  const server = createSocketServer((socket) => socket.once("data", () => socket.end(alert)));
  const reason = reasonOf(await askOf(server, "http"));
  expect(reason).toMatch(/; TLS is spoken there: its address begins with https:\/\/$/);
});

test("one that closes the connection after an answer is not told as one that may speak TLS", async () => {
  const server = createSocketServer((socket) => socket.once("data", () => socket.end("HTTP/1.1 ")));
  expect(reasonOf(await askOf(server, "http"))).not.toContain("TLS");
});

test("an answer longer than any buffer arrives whole, however slowly it is read", async () => {
  // The certificate is nobody's whom this process knows.
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  onTestFinished(() => void vi.unstubAllEnvs());
  const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 7 + (i >> 8)) % 256));
  const server = createServer({ cert: file("cert.pem"), key: file("key.pem") }, (_, response) =>
    response.end(sent),
  );
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const transport = new Transport({
    origin: `https://localhost:${port}`,
    headers: {},
    timeouts: { connect: 5000, first: 0, idle: 0 },
    connections: 1,
  });
  onTestFinished(() => transport.close());

  const answer = await transport.send({ method: "GET", path: "/", signal: never });
  const pieces: Buffer[] = [];
  for (;;) {
    const some = await answer.read();
    if (!some) break;
    pieces.push(...some);
    await new Promise((resolve) => setImmediate(resolve));
  }

  expect(answer.status).toBe(200);
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
});
