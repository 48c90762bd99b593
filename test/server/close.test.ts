/** The end of a listener: nobody is cut off within the grace, and it always comes. */
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { gate } from "../support/calls.js";
import { startLintel } from "../support/lintel.js";
import { piece, says, scripted } from "../support/scripted.js";
import { ended, http1, http2, serve, session, tcp } from "./serve.js";

/** Longer than any test may take: a close that needs it has failed. */
const never = 600_000;

it("of one that is closed nothing waits any more", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const unused = await serve();
  await unused.close(600_000, 60_000);
  expect(vi.getTimerCount()).toBe(0);
  const { port, close } = await serve();
  const socket = tcp(port);
  await once(socket, "connect");
  const closed = close(600_000, 1000);
  // From now on it looks for connections that have nothing to do.
  vi.advanceTimersByTime(1000);
  await closed;
  // The connection's own end is told behind that.
  await setImmediate();
  expect(vi.getTimerCount()).toBe(0);
});

describe("drain", () => {
  it("sends HTTP/2 clients to other connections, which are served", async () => {
    const { url, drain, holding, held } = await serve();
    const client = session(url);
    const open = client.request({ ":path": "/hold" });
    await holding(1);
    const goodbye = once(client, "goaway");
    drain();
    expect((await goodbye)[0]).toBe(0);
    expect((await http2(session(url), {})).status).toBe(200);
    for (const release of held) release();
    let text = "";
    for await (const part of open.setEncoding("utf8")) text += part;
    expect(text).toBe("firstlast");
  });

  it("lets HTTP/1 connections end with their next answer", async () => {
    const { port, drain } = await serve();
    const kept = { port, path: "/hello", headers: { connection: "keep-alive" } };
    expect((await http1(kept)).headers.connection).toBe("keep-alive");
    const used = tcp(port);
    used.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(used, "data");
    drain();
    used.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    expect(await ended(used)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*hello$/is);
    expect(await http1(kept)).toMatchObject({ status: 200, headers: { connection: "close" } });
  });

  it("ends HTTP/1 connections with an answer that is still to begin, which says so", async () => {
    const { port, drain } = await serve({ timeouts: { keepAlive: never } });
    const socket = tcp(port);
    const head = "host: a\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nexpect: 100-continue";
    socket.write(`POST /echo HTTP/1.1\r\n${head}\r\n\r\n`);
    expect(`${(await once(socket, "data"))[0]}`).toMatch(/^HTTP\/1\.1 100 /);
    drain();
    socket.write("hi");
    expect(await ended(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*hi$/is);
  });

  it("ends HTTP/1 connections with the last answer that has begun, once nobody is waited for", async () => {
    const { port, drain, close, holding, held } = await serve({ timeouts: { keepAlive: never } });
    const socket = tcp(port);
    socket.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3));
    await holding(3);
    drain();
    const silent = tcp(port);
    await once(silent, "connect");
    const closed = close(never);
    // It has looked for connections that do nothing.
    await ended(silent);
    for (const release of held) release();
    expect((await ended(socket)).match(/last\r\n0\r\n\r\n/g)).toHaveLength(3);
    await closed;
  });

  it("answers what comes with the end of an answer that has begun", async () => {
    const { port, drain, close, holding, held } = await serve({ timeouts: { keepAlive: never } });
    const socket = tcp(port);
    let text = "";
    // As clients do that have their next request ready: it is on its way before they could read of an end.
    socket.on("data", (part) => {
      text += part;
      if (text.endsWith("last\r\n0\r\n\r\n"))
        socket.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    });
    socket.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n");
    await holding(1);
    drain();
    const closed = close(never, never);
    for (const release of held) release();
    await once(socket, "close");
    expect(text).toMatch(/last\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*hello$/is);
    await closed;
  });

  it("answers what comes behind an answer that has begun", async () => {
    const { port, drain, holding, held } = await serve();
    const socket = tcp(port);
    const request = "GET /hold HTTP/1.1\r\nhost: a\r\n\r\n";
    socket.write(request);
    await holding(1);
    drain();
    socket.write(request);
    await holding(2);
    const [first, second] = held;
    let text = "";
    socket.on("data", (part) => {
      text += part;
    });
    first?.();
    await expect.poll(() => text).toContain("last");
    second?.();
    await once(socket, "close");
    expect(text).toMatch(/last\r\n0\r\n\r\n.*connection: close\r\n.*last\r\n/is);
  });
});

describe("close", () => {
  it("is at once with connections that do nothing", async () => {
    const { port, url, close } = await serve({ timeouts: { firstBytes: never } });
    const silent = tcp(port);
    await new Promise((resolve) => silent.once("connect", resolve));
    const started = tcp(port);
    started.write("PRI");
    const idle1 = tcp(port);
    idle1.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    await new Promise((resolve) => idle1.once("data", resolve));
    const idle2 = session(url);
    await new Promise((resolve) => idle2.once("remoteSettings", resolve));
    const used = session(url);
    const stream = used.request({ ":path": "/hello" }).resume();
    await new Promise((resolve) => stream.once("close", resolve));
    await close(never);
    await expect(http1({ port, path: "/hello" })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("leaves connections that do nothing to their clients for as long as it is told", async () => {
    const { port, drain, close } = await serve();
    const used = tcp(port);
    used.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(used, "data");
    drain();
    const closed = close(never, never);
    await expect(http1({ port, path: "/hello" })).rejects.toMatchObject({ code: "ECONNREFUSED" });
    used.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
    expect(await ended(used)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*hello$/is);
    await closed;
  });

  it("lets an answer over HTTP/1 that has ended be sent to its last byte, and ends with it", async () => {
    const { port, close } = await serve();
    const socket = tcp(port);
    const silent = tcp(port);
    await once(silent, "connect");
    socket.write("GET /big HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(socket, "readable");
    const closed = close(never);
    // By then it has looked for connections that do nothing.
    await ended(silent);
    let bytes = 0;
    socket.on("data", (part) => {
      bytes += part.length;
    });
    await closed;
    await once(socket, "close");
    expect(bytes).toBeGreaterThan(64 * 1024 * 1024);
  });

  it("waits for open answers of both protocols, and ends with them", async () => {
    const { port, url, close, holding, held } = await serve();
    const one = http1({ port, path: "/hold", headers: { connection: "keep-alive" } });
    const client = session(url);
    const two = client.request({ ":path": "/hold" });
    let text = "";
    two.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    await holding(2);
    let closed = false;
    const done = close(never).then(() => {
      closed = true;
    });
    await new Promise((resolve) => client.once("goaway", resolve));
    await expect(http1({ port, path: "/hello" })).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect([closed, held.size]).toEqual([false, 2]);
    for (const release of [...held]) release();
    expect((await one).body).toBe("firstlast");
    await done;
    expect(text).toBe("firstlast");
  });

  it("cuts off after the grace what does not end", async () => {
    const { port, url, close, holding } = await serve();
    const one = http1({ port, path: "/hold" });
    const two = session(url).request({ ":path": "/hold" });
    two.on("error", () => {});
    await holding(2);
    const cut = expect(one).rejects.toThrow();
    const gone = new Promise((resolve) => two.once("close", resolve));
    await close(50);
    await cut;
    await gone;
  });

  it("can be hurried by a second call", async () => {
    const { port, close, holding } = await serve();
    const one = http1({ port, path: "/hold" });
    await holding(1);
    const cut = expect(one).rejects.toThrow();
    const slow = close(never);
    await close(0);
    await Promise.all([slow, cut]);
  });

  it("ends a client that ignores the goodbye", async () => {
    const { port, close } = await serve();
    const socket = tcp(port);
    socket.allowHalfOpen = true;
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    await new Promise((resolve) => socket.once("data", resolve));
    await close(200);
  });
});

describe("the close of a gateway", () => {
  it("sends clients to other connections while calls still run", async () => {
    const { open, opened } = gate();
    const chat = async function* () {
      yield [piece("Hi")];
      await opened;
      yield [piece("", "stop", [1, 1])];
    };
    const { url, core, close } = await startLintel([scripted({ chat })]);
    onTestFinished(() => {
      open();
      return close();
    });
    const port = Number(new URL(url).port);
    const answer = await fetch(`${url}/llm`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer me" },
      body: JSON.stringify({ stream: true, messages: [{ role: "user", content: "Hello" }] }),
    });
    const client = session(url);
    await once(client, "remoteSettings");
    const used = tcp(port);
    used.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    expect(`${(await once(used, "data"))[0]}`).toMatch(/connection: keep-alive/i);
    const goodbye = once(client, "goaway");
    const closed = close(never);
    await goodbye;
    used.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    expect(await ended(used)).toMatch(/connection: close/i);
    expect(core.readiness.running).toBe(1);
    open();
    expect(await answer.text()).toContain("[DONE]");
    await closed;
  });

  it("serves what comes on connections that proxies keep, and takes no further ones", async () => {
    const { url, close } = await startLintel([scripted({ chat: says("Hi") })]);
    const used = tcp(Number(new URL(url).port));
    used.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(used, "data");
    const closed = close(never);
    const further = http1({ port: Number(new URL(url).port), path: "/readyz" });
    await expect(further).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const body = JSON.stringify({ messages: [{ role: "user", content: "Hello" }] });
    const head = `host: a\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    used.write(`POST /llm HTTP/1.1\r\n${head}\r\n\r\n${body}`);
    expect(await ended(used)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*Hi/is);
    await closed;
  });
});
