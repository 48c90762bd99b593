/** Clients that open no window, and such as read slowly. */
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import type { ClientHttp2Stream } from "node:http2";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { preface, settings } from "./frames.js";
import { http2, serve, session } from "./serve.js";

/** Longer than any test may take. */
const never = 600_000;

describe("an HTTP/2 stream whose answer is complete is ended", () => {
  it.each([1000, 60_000])("if its client opens no window for its %i bytes", async (bytes) => {
    const { url } = await serve({ timeouts: { stalled: 50 } });
    const client = session(url, { settings: { initialWindowSize: 0 } });
    const stream = post(client, "/echo", "a".repeat(bytes));
    await new Promise((resolve) => stream.once("close", resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(stream.rstCode).toBe(8);
  });
});

it.each(["cleartext", "TLS"])(
  "a client that does not close behind the goodbye is cut off: %s",
  async (way) => {
    const timeouts = { idleSession: 20, stalled: 40 };
    const tls = way === "TLS" && tlsFiles();
    const { port, close } = await serve({ timeouts, ...(tls && { tls, host: "localhost" }) });
    const half = { host: "localhost", port, allowHalfOpen: true };
    const socket = tls
      ? connectTls({ ...half, ca: tls.cert, ALPNProtocols: ["h2"] })
      : connect({ ...half, host: "127.0.0.1" });
    socket.on("error", () => {}).resume();
    onTestFinished(() => void socket.destroy());
    socket.write(Buffer.concat([preface, settings]));
    await once(socket, "end");
    await close(never);
  },
  10_000,
);

it("a large answer that waits for its client leaves room for other streams", async () => {
  const { url } = await serve();
  const client = session(url);
  const large = client.request({ ":path": "/whole" });
  await once(large, "response");
  expect(await http2(client, {})).toMatchObject({ status: 200, body: "hello" });
});

describe("a client that reads as slowly as it may", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const stalled = 1000;
  const periods = 8;
  /** Reads so many bytes in each quarter of a timeout. */
  async function readSlowly(from: Readable, bytes: number, each: () => void) {
    for (let i = 0; i < periods * 4; i++) {
      await take(from, bytes);
      vi.advanceTimersByTime(stalled / 4);
      each();
    }
  }

  async function reach(way: string): Promise<Socket> {
    if (way === "TLS") {
      const tls = tlsFiles();
      const { port } = await serve({ tls, host: "localhost", timeouts: { stalled } });
      return connectTls({ host: "localhost", port, ca: tls.cert });
    }
    const path = join(mkdtempSync(join(tmpdir(), "lintel-slow-")), "socket");
    await serve({ path, host: undefined, port: undefined, timeouts: { stalled } });
    return connect({ path });
  }

  it.each(["a Unix socket", "TLS"])("keeps its connection over %s", async (way) => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const socket = await reach(way);
    socket.write("GET /whole HTTP/1.1\r\nhost: a\r\n\r\n");
    await readSlowly(socket, 1024 * 1024, () => expect(socket.closed).toBe(false));
    vi.advanceTimersByTime(2 * stalled);
    await once(socket.resume(), "close");
    expect(socket.bytesRead).toBeLessThan(64 * 1024 * 1024);
  });

  it("keeps its HTTP/2 stream through a write of megabytes", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const { url } = await serve({ timeouts: { stalled } });
    const stream = session(url).request({ ":path": "/whole" });
    stream.on("error", () => {});
    await readSlowly(stream, 128 * 1024, () => expect(stream.closed).toBe(false));
    vi.advanceTimersByTime(2 * stalled);
    await once(stream.resume(), "close");
    expect(stream.rstCode).toBe(8);
  });

  it("loses the HTTP/2 stream that it does not read beside it", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const { url } = await serve({ timeouts: { stalled } });
    const client = session(url);
    await once(client, "connect");
    client.setLocalWindowSize(1024 * 1024);
    const left = post(client, "/echo", "a".repeat(150_000));
    await once(left, "response");
    const read = client.request({ ":path": "/whole" });
    read.on("error", () => {});
    await readSlowly(read, 256 * 1024, () => expect(read.closed).toBe(false));
    await new Promise((resolve) => setImmediate(resolve));
    expect([left.destroyed || left.closed, left.rstCode, read.closed]).toEqual([true, 8, false]);
  });
});

function tlsFiles() {
  const file = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
  return { cert: file("cert.pem"), key: file("key.pem") };
}

/** A request with a text; its answer is not read. */
function post(client: ReturnType<typeof session>, path: string, text: string): ClientHttp2Stream {
  const stream = client.request({
    ":method": "POST",
    ":path": path,
    "content-type": "text/plain",
  });
  stream.on("error", () => {});
  return stream.end(text);
}

/** Reads so many bytes, or a few more, and then no longer. */
function take(from: Readable, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    let left = bytes;
    const read = (part: Buffer) => {
      left -= part.length;
      if (left > 0) return;
      from.off("data", read).pause();
      resolve();
    };
    from.on("data", read).resume();
  });
}
