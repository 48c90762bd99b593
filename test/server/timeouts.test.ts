/** Clients that say nothing, too little, or go away without a word. */
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import type { timeoutDefaults } from "../../src/server/settings.js";
import { preface, settings } from "./frames.js";
import { ended, http1, http2, serve, session, tcp } from "./serve.js";

/** What clients say before they say nothing more. */
const begun = {
  headers: "GET /hello HTTP/1.1\r\nhost",
  body: "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\nabc",
  request: "GET /hello HTTP/1.1\r\nhost: a\r\n\r\n",
  http2: Buffer.concat([preface, settings]),
};

/** All of them far away, but for those of a test: so that each shows its own effect. */
const timeouts = (different: Partial<typeof timeoutDefaults>) => ({
  timeouts: {
    firstBytes: 60_000,
    headers: 60_000,
    request: 60_000,
    keepAlive: 60_000,
    idleSession: 60_000,
    ping: 60_000,
    stalled: 60_000,
    ...different,
  },
});

describe("a connection is closed", () => {
  it("that says nothing", async () => {
    const { port } = await serve(timeouts({ firstBytes: 50 }));
    expect(await ended(tcp(port))).toBe("");
  });

  it("that sends the preface byte by byte, for all of it together", async () => {
    const { port } = await serve(timeouts({ firstBytes: 200 }));
    const socket = tcp(port);
    const over = ended(socket);
    let closed = false;
    void over.then(() => {
      closed = true;
    });
    // A byte at a time keeps it alive for no longer.
    for (let i = 0; !closed; i = Math.min(i + 1, 10)) {
      if (i < 10) socket.write(preface.subarray(i, i + 1));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await over).toBe("");
  });

  it("that sends the preface and no settings", async () => {
    const { port } = await serve(timeouts({ firstBytes: 50, idleSession: 600_000 }));
    const socket = tcp(port);
    socket.write(preface);
    await ended(socket);
  });

  it("that sends its headers too slowly, with 408", async () => {
    const { port } = await serve(timeouts({ headers: 80 }));
    const socket = tcp(port);
    socket.write(begun.headers);
    expect(await ended(socket)).toMatch(/^HTTP\/1.1 408 .*"request_timeout"/s);
  });

  it("that sends its body too slowly, with 408", async () => {
    const { port } = await serve(timeouts({ headers: 80, request: 80 }));
    const socket = tcp(port);
    socket.write(begun.body);
    expect(await ended(socket)).toMatch(/^HTTP\/1.1 408 .*x-request-id.*"request_timeout"/s);
  });

  it("with an answer that the page which sent it may read, under its own id", async () => {
    const { port } = await serve(timeouts({ headers: 80, request: 80 }));
    const socket = tcp(port);
    socket.write(
      begun.body.replace("\r\n", "\r\norigin: https://a.example\r\nx-request-id: mine-1\r\n"),
    );
    const answer = await ended(socket);
    expect(answer).toMatch(/^HTTP\/1.1 408 .*^access-control-allow-origin: \*\r$.*\r\n\r\n\{/ms);
    expect(answer).toMatch(/^access-control-expose-headers: x-request-id,.*\r$/m);
    expect(answer).toMatch(/^x-request-id: mine-1\r$/m);
  });

  it("with an answer that pages of other origins may not read", async () => {
    const options = timeouts({ headers: 80, request: 80 });
    const { port } = await serve(options, { corsOrigins: ["https://a.example"] });
    const socket = tcp(port);
    socket.write(begun.body.replace("\r\n", "\r\norigin: https://b.example\r\n"));
    const answer = await ended(socket);
    expect(answer).toMatch(/^HTTP\/1.1 408 .*^vary: Origin\r$/ms);
    expect(answer).not.toContain("access-control-allow-origin");
  });

  it("that stays idle after a response", async () => {
    const { port } = await serve(timeouts({ keepAlive: 50 }));
    const socket = tcp(port);
    socket.write(begun.request);
    expect(await ended(socket)).toContain("hello");
  });

  it("after a response not before what it is told there", async () => {
    for (const [options, told] of [
      [{}, "timeout=75"],
      [timeouts({ keepAlive: 20_000 }), "timeout=20"],
    ] as const) {
      const { headers } = await http1({ port: (await serve(options)).port, path: "/hello" });
      expect([headers.connection, headers["keep-alive"]]).toEqual(["keep-alive", told]);
    }
  });

  it("that opens HTTP/2 and then says nothing", async () => {
    const { port } = await serve(timeouts({ idleSession: 50 }));
    const socket = tcp(port);
    socket.write(begun.http2);
    await ended(socket);
  });

  it("that had its answer over HTTP/2 and then says nothing", async () => {
    const client = session((await serve(timeouts({ idleSession: 50 }))).url);
    const closed = once(client, "close");
    expect((await http2(client, {})).status).toBe(200);
    await closed;
  });

  it("whose client closes its half", async () => {
    const { port } = await serve(timeouts({}));
    const silent = tcp(port);
    silent.end();
    await ended(silent);
    const started = tcp(port);
    started.end("PRI * HT");
    await ended(started);
    const http = tcp(port);
    http.end("GET /hel");
    await ended(http);
    const two = tcp(port);
    two.end(begun.http2);
    await ended(two);
  });

  it("whose client takes nothing of its answer", async () => {
    const { port } = await serve(timeouts({ stalled: 50 }));
    const socket = tcp(port);
    socket.write("GET /big HTTP/1.1\r\nhost: a\r\n\r\n");
    socket.pause();
    const server = await new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      // What a paused socket does not notice by reading, it does by writing.
      const timer = setInterval(() => socket.write(" "), 20);
      socket.once("close", () => clearInterval(timer));
    });
    expect(server).toBeUndefined();
  });
});

describe("an HTTP/2 stream is ended", () => {
  it("whose body comes too slowly; others on the connection go on", async () => {
    const { url } = await serve(timeouts({ request: 80 }));
    const client = session(url);
    const slow = client.request({
      ":method": "POST",
      ":path": "/echo",
      "content-type": "text/plain",
      origin: "https://a.example",
    });
    slow.on("error", () => {});
    slow.write("abc");
    let body = "";
    slow.setEncoding("utf8").on("data", (part) => {
      body += part;
    });
    const answer = once(slow, "response");
    const held = client.request({ ":path": "/hold" }).resume();
    await new Promise((resolve) => slow.once("close", resolve));
    // A client of Node 20 that is destroyed in the same tick never returns from it.
    await new Promise((resolve) => setImmediate(resolve));
    expect((await answer)[0]).toMatchObject({
      ":status": 408,
      "x-request-id": expect.any(String),
      "access-control-allow-origin": "*",
    });
    expect(JSON.parse(body).error.code).toBe("request_timeout");
    expect(slow.rstCode).toBe(0);
    expect([held.closed, client.closed]).toEqual([false, false]);
  });

  it("whose body comes too slowly after its answer has begun", async () => {
    const { url } = await serve(timeouts({ request: 80 }));
    const slow = session(url).request({ ":path": "/hold" }, { endStream: false });
    slow.resume().on("error", () => {});
    await new Promise((resolve) => slow.once("close", resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(slow.rstCode).toBe(8);
  });

  it("whose client opens no window", async () => {
    const { url } = await serve(timeouts({ stalled: 50 }));
    const stream = session(url).request({ ":path": "/big" });
    stream.on("error", () => {});
    await new Promise((resolve) => stream.once("response", resolve));
    stream.pause();
    await new Promise((resolve) => stream.once("close", resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(stream.rstCode).toBe(8);
  });
});

describe("nothing is closed", () => {
  it("that waits for its answer, or reads one that takes long", async () => {
    const { url, port, holding, held } = await serve(
      timeouts({ firstBytes: 300, headers: 300, request: 300, keepAlive: 300, idleSession: 300 }),
    );
    const one = http1({ port, path: "/hold" });
    const client = session(url);
    const two = client.request({ ":path": "/hold" });
    let text = "";
    two.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    await holding(2);
    // That another ends on its connection is no reason.
    expect((await http2(client, {})).status).toBe(200);
    // Each of the timeouts closes a connection that began after them.
    await Promise.all(
      ["", ...Object.values(begun)].map((said) => {
        const socket = tcp(port);
        socket.write(said);
        return ended(socket);
      }),
    );
    expect(client.closed).toBe(false);
    for (const release of [...held]) release();
    expect((await one).body).toBe("firstlast");
    await new Promise((resolve) => two.once("close", resolve));
    expect(text).toBe("firstlast");
  });
});

it("a client that leaves is told to every response of its pipeline", async () => {
  const { port, held, holding } = await serve();
  const socket = tcp(port);
  socket.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n".repeat(12));
  await holding(12);
  socket.destroy();
  await expect.poll(() => held.size).toBe(0);
});
