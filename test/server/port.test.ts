import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { isHttp2 } from "../../src/server/sniff.js";
import { closeOfLast } from "../support/taken.js";
import { ended, http1, http2, serve, session, tcp } from "./serve.js";

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

describe("one port", () => {
  it("serves HTTP/1 and HTTP/2 at once", async () => {
    const { port, url } = await serve();
    const client = session(url);
    const answers = await Promise.all([
      http1({ port, path: "/hello" }),
      http2(client, { ":path": "/hello" }),
      http1(
        { port, path: "/echo", method: "POST", headers: { "content-type": "text/plain" } },
        "x",
      ),
      http2(client, { ":path": "/echo", ":method": "POST", "content-type": "text/plain" }, "y"),
    ]);
    expect(answers.map((a) => [a.status, a.body])).toEqual([
      [200, "hello"],
      [200, "hello"],
      [200, "x"],
      [200, "y"],
    ]);
    for (const { headers } of answers) expect(headers["x-request-id"]).toMatch(/^[\w-]{16}$/);
  });

  it("goes on, and says so once, where connections can't be accepted", async () => {
    const said: unknown[] = [];
    const { port } = await serve({
      log: { ...silent, error: (...all: unknown[]) => said.push(all) },
    });
    // What Node does where the system refuses: descriptors or memory are used up.
    const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): Server[] };
    const server = handles
      .call(process)
      .find((one) => one instanceof Server && (one.address() as AddressInfo)?.port === port);
    for (let i = 0; i < 3; i++) server?.emit("error", new Error("accept EMFILE"));
    expect(said).toEqual([[{ error: "accept EMFILE" }, "a connection could not be accepted"]]);
    expect((await http1({ port, path: "/hello" })).body).toBe("hello");
  });

  it("is on every interface of IPv4 where the system knows no IPv6", async () => {
    // What Node says then; there is no such system to be had.
    const listening = vi.spyOn(Server.prototype, "listen").mockImplementationOnce(function (
      this: Server,
    ) {
      const error = Object.assign(new Error("listen EAFNOSUPPORT"), { code: "EAFNOSUPPORT" });
      queueMicrotask(() => this.emit("error", error));
      return this;
    });
    onTestFinished(() => listening.mockRestore());
    const { address, url, port } = await serve({ host: "::" });
    expect([address, url]).toEqual(["0.0.0.0", `http://0.0.0.0:${port}`]);
    expect((await http1({ port, path: "/hello" })).body).toBe("hello");
  });

  it("has a URL with an address of IPv6 in brackets", async () => {
    const { listen } = Server.prototype;
    // A system need not have such addresses.
    const listening = vi.spyOn(Server.prototype, "listen").mockImplementationOnce(function (
      this: Server,
      ...[at, done]: unknown[]
    ) {
      return listen.call(this, { ...(at as object), host: "127.0.0.1" }, done as () => void);
    });
    onTestFinished(() => listening.mockRestore());
    const { address, url, port } = await serve({ host: "::1" });
    expect([address, url]).toEqual(["::1", `http://[::1]:${port}`]);
  });

  it("serves fetch, and several requests on one HTTP/1 connection", async () => {
    const { url, port } = await serve();
    expect(await (await fetch(`${url}/hello`)).text()).toBe("hello");
    const socket = tcp(port);
    const text = ended(socket);
    socket.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    socket.write("GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    expect((await text).match(/hello/g)).toHaveLength(3);
  });

  it.each(["--http1.1", "--http2-prior-knowledge", "--http2"])("serves curl %s", async (flag) => {
    const { url } = await serve();
    const { stdout } = await promisify(execFile)("curl", [
      "-sS",
      flag,
      "-H",
      "content-type: text/plain",
      "-d",
      "hi",
      `${url}/echo`,
    ]);
    expect(stdout).toBe("hi");
  });

  it("knows the preface at every split, and nothing else", () => {
    const bytes = Buffer.from(preface);
    for (let i = 0; i < bytes.length; i++) {
      expect(isHttp2(bytes.subarray(0, i))).toBeUndefined();
      const other = Buffer.from(bytes.subarray(0, i + 1));
      other[i] = 0x7a;
      expect(isHttp2(other)).toBe(false);
    }
    expect(isHttp2(bytes)).toBe(true);
    expect(isHttp2(Buffer.concat([bytes, emptySettings]))).toBe(true);
  });

  it("answers HTTP/2 whose preface comes in two pieces, wherever it was cut", async () => {
    const { port } = await serve();
    const bytes = Buffer.concat([Buffer.from(preface), emptySettings]);
    const cuts = Array.from(preface, (_, i) => i + 1);
    await Promise.all(
      cuts.map(async (cut) => {
        const socket = tcp(port);
        socket.setNoDelay(true);
        await new Promise<void>((resolve) => socket.write(bytes.subarray(0, cut), () => resolve()));
        await new Promise((resolve) => setImmediate(resolve));
        socket.write(bytes.subarray(cut));
        const first = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
        expect(first[3]).toBe(4);
      }),
    );
  });

  it("answers HTTP/1 that comes byte by byte, also when it begins like HTTP/2", async () => {
    const { port } = await serve();
    const socket = tcp(port);
    socket.setNoDelay(true);
    const text = ended(socket);
    for (const byte of "GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n") {
      await new Promise<void>((resolve) => socket.write(byte, () => resolve()));
    }
    expect(await text).toContain("hello");

    const put = tcp(port);
    const answer = ended(put);
    put.write("P");
    await new Promise((resolve) => setImmediate(resolve));
    put.write("UT /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    expect(await answer).toContain("405");
  });

  it("refuses what is neither, in the contract's words", async () => {
    const { port } = await serve();
    for (const junk of [
      "\x16\x03\x01\x02\x00\x01\x00",
      "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
      "junk\r\n\r\n",
    ]) {
      const socket = tcp(port);
      const text = ended(socket);
      socket.write(Buffer.from(junk, "latin1"));
      const [head, body] = (await text).split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1.1 400 /);
      expect(head).toContain("x-request-id: ");
      expect(JSON.parse(body ?? "")).toMatchObject({ error: { code: "invalid_value" } });
    }
  });
});

it("does not wait until one who was refused ends as well", async () => {
  const { port } = await serve();
  const closed = closeOfLast();
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {}).resume();
  socket.write("junk\r\n\r\n");
  await once(socket, "end");
  await closed();
});

it.each([
  "PROXY TCP4 192.0.2.1 127.0.0.1 5000 8080\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n",
  "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\x7f\0\0\x01\x13\x88\x1f\x90GET /hello HTTP/1.1\r\nhost: a\r\n\r\n",
])("says what it is that a balancer puts before a request: %j", async (sent) => {
  const { port } = await serve();
  const socket = tcp(port);
  const answer = ended(socket);
  socket.write(Buffer.from(sent, "latin1"));
  expect(await answer).toMatch(/^HTTP\/1.1 400 .*the PROXY protocol is not spoken here/s);
});

describe("what Node would refuse without a word", () => {
  it("an expectation that nobody knows is passed over, by both protocols", async () => {
    const { url, port } = await serve();
    const headers = { expect: "a miracle" };
    expect(await http1({ port, path: "/hello", headers })).toMatchObject({ body: "hello" });
    expect(await http2(session(url), headers)).toMatchObject({ body: "hello" });
  });

  it("HTTP/1.1 has one Host or is refused in the contract's words, HTTP/1.0 is served", async () => {
    const { port } = await serve();
    const ask = async (version: string, hosts = "") => {
      const socket = tcp(port);
      const text = ended(socket);
      socket.write(`GET /hello HTTP/${version}\r\n${hosts}connection: close\r\n\r\n`);
      return (await text).split("\r\n\r\n");
    };
    for (const [hosts, message] of [
      ["", "the request has no Host header"],
      ["Host: a\r\nHost: a\r\n", "the request has more than one Host header"],
      ["Host: a\r\nhOST: b\r\n", "the request has more than one Host header"],
    ]) {
      const [head, body] = await ask("1.1", hosts);
      expect(head).toMatch(/^HTTP\/1.1 400 /);
      expect(head).toContain("x-request-id: ");
      expect(JSON.parse(body ?? "")).toMatchObject({ error: { code: "invalid_value", message } });
    }
    expect((await ask("1.1", "Host: a\r\n"))[1]).toBe("hello");
    expect((await ask("1.0"))[1]).toBe("hello");
  });
});

describe("a Unix socket", () => {
  const folder = async () => {
    const path = await mkdtemp(join(tmpdir(), "lintel-"));
    onTestFinished(() => rm(path, { recursive: true }));
    return path;
  };

  it("serves both protocols", async () => {
    const socketPath = join(await folder(), "a.sock");
    const { url, port } = await serve({ path: socketPath, host: undefined, port: undefined });
    expect([url, port]).toEqual([`unix:${socketPath}`, 0]);
    expect((await http1({ socketPath, path: "/hello" })).body).toBe("hello");
    const client = session("http://localhost", {
      createConnection: () => connect(socketPath),
    });
    expect((await http2(client, {})).body).toBe("hello");
  });

  it("takes the place of one that a killed process left, not of one that is served", async () => {
    const path = join(await folder(), "a.sock");
    const { execPath } = process;
    const script = `require("node:net").createServer().listen(${JSON.stringify(path)},()=>process.kill(process.pid,"SIGKILL"))`;
    await promisify(execFile)(execPath, ["-e", script]).catch(() => {});
    await serve({ path, host: undefined, port: undefined });
    expect((await http1({ socketPath: path, path: "/hello" })).body).toBe("hello");
    await expect(serve({ path, host: undefined, port: undefined })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });

  it("never removes a file that is no socket", async () => {
    const path = join(await folder(), "precious");
    await writeFile(path, "data");
    await expect(serve({ path, host: undefined, port: undefined })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });
});

it("tells of an address in use", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as { port: number };
  await expect(serve({ host: "127.0.0.1", port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});
