import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { silent } from "../../src/core/log.js";
import { preface, settings } from "./frames.js";
import { ended, http1, http2, serve, session, tcp } from "./serve.js";

const file = (name: string) => new URL(`../fixtures/tls/${name}`, import.meta.url);
const cert = readFileSync(file("cert.pem"));
const tls = { cert, key: readFileSync(file("key.pem")) };

function https(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "localhost", port, path, ca: cert, agent: false } as const;
    const call = request(options, (response) => {
      let text = `${response.httpVersion} `;
      response.on("data", (part) => {
        text += part;
      });
      response.on("end", () => resolve(text));
    });
    call.on("error", reject).end();
  });
}

describe("TLS", () => {
  it("serves HTTP/1 and HTTP/2 by ALPN", async () => {
    const { port, url } = await serve({ tls, host: "localhost" });
    expect(url).toBe(`https://localhost:${port}`);
    expect(await https(port, "/hello")).toBe("1.1 hello");
    const client = session(url, { ca: cert });
    expect((await http2(client, {})).body).toBe("hello");
    expect(client.alpnProtocol).toBe("h2");
  });

  it.each(["--http1.1", "--http2"])("serves curl %s", async (flag) => {
    const { url } = await serve({ tls, host: "localhost" });
    const ca = ["--cacert", file("cert.pem").pathname];
    const format = ["-w", " %{http_version}"];
    const { stdout } = await promisify(execFile)("curl", [
      "-sS",
      flag,
      ...ca,
      ...format,
      `${url}/hello`,
    ]);
    expect(stdout).toBe(`hello ${flag === "--http2" ? "2" : "1.1"}`);
  });

  it("serves a client that knows no ALPN", async () => {
    const { port } = await serve({ tls, host: "127.0.0.1" });
    const socket = connect({ host: "127.0.0.1", port, ca: cert, servername: "localhost" });
    onTestFinished(() => void socket.destroy());
    const text = ended(socket);
    socket.write("GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    expect(await text).toContain("hello");
    expect(socket.alpnProtocol).toBe(false);
  });

  it("takes no HTTP/2 from who did not ask for it by ALPN", async () => {
    const { port } = await serve({ tls, host: "127.0.0.1" });
    const socket = connect({ host: "127.0.0.1", port, ca: cert, servername: "localhost" });
    onTestFinished(() => void socket.destroy());
    const text = ended(socket);
    socket.write(Buffer.concat([preface, settings]));
    expect(await text).toMatch(/^HTTP\/1.1 400 .*"this is no HTTP request"/s);
  });

  it("closes who does not shake hands in time, or talks cleartext, or says nothing after", async () => {
    const { port } = await serve({
      tls,
      host: "127.0.0.1",
      timeouts: { headers: 100, firstBytes: 100 },
    });
    await ended(tcp(port));
    const clear = tcp(port);
    clear.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    expect(await ended(clear)).not.toContain("hello");
    for (const ALPNProtocols of [undefined, ["h2"]]) {
      const how = { host: "127.0.0.1", port, ca: cert, servername: "localhost", ALPNProtocols };
      const silent = connect(how);
      silent.on("error", () => {});
      await ended(silent);
    }
    expect(await https(port, "/hello").catch((e: Error) => e.message)).toBeTypeOf("string");
  });

  it("tells who asks by http:// that it is https://", async () => {
    const { port } = await serve({ tls, host: "127.0.0.1" });
    const answer = await http1({ port, path: "/hello", method: "POST" }, "hi");
    expect(answer.status).toBe(400);
    expect(answer.headers["x-request-id"]).toBeTruthy();
    expect(JSON.parse(answer.body).error.message).toBe(
      "this address speaks TLS: ask it by https://",
    );
  });

  it("tells at debug level why a handshake failed", async () => {
    const said: unknown[] = [];
    const log = { ...silent, debug: (...all: unknown[]) => said.push(all) };
    const { port } = await serve({ tls, host: "127.0.0.1", log });
    const clear = tcp(port);
    clear.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    await ended(clear);
    expect(said).toEqual([[{ reason: "http request" }, "a TLS handshake failed"]]);
  });

  it("close ends idle connections and waits for open ones", async () => {
    const { port, url, close, holding, held } = await serve({ tls, host: "localhost" });
    const idle = session(url, { ca: cert });
    await new Promise((resolve) => idle.once("remoteSettings", resolve));
    const one = https(port, "/hold");
    const two = session(url, { ca: cert }).request({ ":path": "/hold" });
    two.resume();
    await holding(2);
    const done = close(600_000);
    for (const release of [...held]) release();
    expect(await one).toBe("1.1 firstlast");
    await done;
  });
});
