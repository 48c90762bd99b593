/** HTTP/2 clients that ask for more than they should: the server lives, and serves others. */
import { once } from "node:events";
import { constants } from "node:http2";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  frame,
  open,
  openConnect,
  openExpecting,
  openLarge,
  preface,
  requestHeaders,
  settings,
} from "./frames.js";
import { ended, http1, http2, serve, session, tcp } from "./serve.js";

afterEach(() => vi.restoreAllMocks());

const ping = frame(6, 0, 0, Buffer.alloc(8));
const reset = (stream: number, code = 8) => frame(3, 0, stream, Buffer.from([0, 0, 0, code]));

/** Sends a flood for as long as the server takes it, reading what it answers or not. */
async function flood(port: number, part: (i: number) => Buffer, reads = true): Promise<void> {
  const socket = tcp(port);
  if (reads) socket.resume();
  let over = false;
  socket.once("close", () => {
    over = true;
  });
  socket.write(Buffer.concat([preface, settings]));
  for (let i = 0; !over; i++) {
    const flushed = socket.write(part(i));
    if (flushed) await new Promise((resolve) => setImmediate(resolve));
    else {
      await new Promise<void>((resolve) => {
        socket.once("drain", resolve);
        socket.once("close", resolve);
      });
    }
  }
}

const repeat = (one: Buffer) => {
  const many = Buffer.concat(Array.from({ length: 200 }, () => one));
  return () => many;
};

const limits = { controlFrameBurst: 1000, controlFrameRate: 1 };

describe("a flood ends its connection and no other", () => {
  const floods: [string, (i: number) => Buffer][] = [
    ["pings", repeat(ping)],
    ["settings", repeat(settings)],
    [
      "streams that are reset at once",
      (i) =>
        Buffer.concat(
          Array.from({ length: 100 }, (_, n) => {
            const id = 2 * (i * 100 + n) + 1;
            return Buffer.concat([open(id), reset(id)]);
          }),
        ),
    ],
    [
      "streams without end",
      (i) => Buffer.concat(Array.from({ length: 100 }, (_, n) => open(2 * (i * 100 + n) + 1))),
    ],
    ["frames that mean nothing", repeat(frame(3, 0, 1, Buffer.from([0, 0, 0, 8])))],
    [
      "headers without end",
      (i) => (i === 0 ? frame(1, 0, 1, requestHeaders) : frame(9, 0, 1, Buffer.alloc(1000, 0x40))),
    ],
  ];
  it.each(floods)("%s", async (_, part) => {
    const { port, url, held } = await serve({ limits });
    const client = session(url);
    const stream = client.request({ ":path": "/hold" });
    await new Promise((resolve) => stream.once("response", resolve));

    await flood(port, part);

    expect((await http1({ port, path: "/hello" })).body).toBe("hello");
    expect(stream.closed).toBe(false);
    // Whatever the flood opened is gone.
    await expect.poll(() => held.size).toBe(1);
    for (const release of [...held]) release();
    stream.resume();
    await new Promise((resolve) => stream.once("close", resolve));
    expect(stream.rstCode).toBe(0);
  });

  it.each([
    ["CANCEL", 8],
    ["INTERNAL_ERROR", 2],
    ["NO_ERROR", 0],
  ])(
    "resets, of which no more is begun once it is known, whatever was read: %s",
    async (_, code) => {
      const served = await serve({ limits });
      const socket = tcp(served.port);
      const all = Array.from({ length: 1000 }, (_, n) =>
        Buffer.concat([open(2 * n + 1), reset(2 * n + 1, code)]),
      );
      socket.write(Buffer.concat([preface, settings]));
      // What comes with the preface is read in another way.
      await once(socket, "data");
      socket.resume().write(Buffer.concat(all));
      await once(socket, "close");
      // A hundred resets are over the bound.
      expect(served.begun()).toBeGreaterThanOrEqual(100);
      expect(served.begun()).toBeLessThan(300);
      expect((await http1({ port: served.port, path: "/hello" })).body).toBe("hello");
    },
  );

  it("pings whose answers nobody reads", async () => {
    const { port } = await serve();
    await flood(port, repeat(ping), false);
    expect((await http1({ port, path: "/hello" })).body).toBe("hello");
  });
});

/** What nobody caught, during a test. */
function uncaught(): readonly unknown[] {
  const thrown: unknown[] = [];
  const note = (error: unknown) => thrown.push(error);
  process.on("uncaughtException", note);
  onTestFinished(() => void process.off("uncaughtException", note));
  return thrown;
}

it.each([
  ["headers that are too large", openLarge],
  ["CONNECT", openConnect],
  ["a request that expects 100-continue", openExpecting],
])("%s may be reset before the answer", async (_, begin) => {
  const thrown = uncaught();
  const { port } = await serve();
  const socket = tcp(port);
  socket.write(Buffer.concat([preface, settings, begin(1), reset(1), begin(3)]));
  // HEADERS, of the second.
  const answer = Buffer.from([1, 4, 0, 0, 0, 3]);
  let came = Buffer.alloc(0);
  for await (const part of socket) {
    came = Buffer.concat([came, part as Buffer]);
    if (came.includes(answer)) break;
  }
  expect(thrown).toEqual([]);
});

it("connections may break while requests with headers that are too large are refused", async () => {
  const thrown = uncaught();
  const { port } = await serve();
  const old = Number(process.versions.node.split(".")[0]) < 22;
  for (let i = 0; i < 50; i++) {
    const socket = tcp(port);
    await once(socket, "connect");
    // No frame comes behind the headers, as far as Node 20's memory bears it (nodejs/node#64113).
    const rest = Buffer.alloc(!old && i % 2 === 0 ? 30 : 0, 0xff);
    socket.write(Buffer.concat([preface, settings, openLarge(1, 0), rest]));
    for (let turn = 0; turn < i % 5; turn++) await new Promise((go) => setImmediate(go));
    socket.resetAndDestroy();
  }
  expect((await http1({ port, path: "/hello" })).body).toBe("hello");
  expect(thrown).toEqual([]);
});

it("a connection that is lost with many streams is no flood", async () => {
  const thrown = uncaught();
  const { port, holding, held } = await serve({ limits });
  const socket = tcp(port).resume();
  const opened = Array.from({ length: 120 }, (_, i) => open(2 * i + 1));
  socket.write(Buffer.concat([preface, settings, ...opened]));
  await holding(120);
  socket.destroy();
  await expect.poll(() => held.size).toBe(0);
  expect((await http1({ port, path: "/hello" })).body).toBe("hello");
  expect(thrown).toEqual([]);
});

it.each([
  ["a goodbye with an error", frame(7, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]))],
  ["an answer to no ping", frame(6, 1, 0, Buffer.alloc(8))],
])("%s, with a request behind it, ends its connection and no process", async (_, wrong) => {
  const { port, held } = await serve();
  const socket = tcp(port);
  const closed = once(socket.resume(), "close");
  const asked = [frame(1, 4, 3, requestHeaders), frame(0, 0, 3, Buffer.from("x"))];
  // In one piece: Node 22 dies where all come in one read.
  socket.write(Buffer.concat([preface, settings, open(1), wrong, ...asked]));
  await closed;
  await expect.poll(() => held.size).toBe(0);
  expect((await http1({ port, path: "/hello" })).body).toBe("hello");
});

it("as many resets as are allowed end no connection, where Node can be told how many", async () => {
  const { url } = await serve({ limits: { controlFrameBurst: 100_000 } });
  const client = session(url).on("error", () => {});
  for (let i = 0; i < 1500 && !client.closed && !client.destroyed; i++) {
    const stream = client.request({ ":path": "/hold" }).on("error", () => {});
    await new Promise((resolve) => stream.once("response", resolve).once("close", resolve));
    stream.close(constants.NGHTTP2_CANCEL);
  }
  const told = Number(process.versions.node.split(".")[0]) >= 22;
  expect(client.closed || client.destroyed).toBe(!told);
});

it("more streams than allowed are refused, the others go on", async () => {
  const { url, holding, held } = await serve({ limits: { maxConcurrentStreams: 3 } });
  const client = session(url);
  await new Promise((resolve) => client.once("remoteSettings", resolve));
  expect(client.remoteSettings.maxConcurrentStreams).toBe(3);
  const streams = Array.from({ length: 5 }, () => client.request({ ":path": "/hold" }));
  for (const stream of streams) stream.resume().on("error", () => {});
  await holding(3);
  expect(held.size).toBe(3);
});

it("more requests in a pipeline than allowed end their connection, with what was begun", async () => {
  const { port, holding, held } = await serve({ limits: { maxConcurrentStreams: 3 } });
  const socket = tcp(port).resume();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const hold = "GET /hold HTTP/1.1\r\nhost: a\r\n\r\n";
  // One has the connection, three wait behind it.
  socket.write(hold.repeat(4));
  await holding(4);
  expect((await http1({ port, path: "/hello" })).body).toBe("hello");
  expect(socket.destroyed).toBe(false);
  socket.write(hold);
  await closed;
  await expect.poll(() => held.size).toBe(0);
});

it("more than that which are answered at once are served", async () => {
  const { port } = await serve({ limits: { maxConcurrentStreams: 3 } });
  const socket = tcp(port);
  let text = "";
  socket.on("data", (part) => {
    text += part;
  });
  socket.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n".repeat(50));
  await expect.poll(() => text.split("HTTP/1.1 200").length - 1).toBe(50);
});

it("more connections than allowed are closed at once", async () => {
  // Nor for saying nothing.
  const timeouts = { firstBytes: 600_000 };
  const { port } = await serve({ limits: { maxConnections: 1 }, timeouts });
  const first = tcp(port);
  await new Promise((resolve) => first.once("connect", resolve));
  first.write("G");
  const second = tcp(port);
  await new Promise((resolve) => second.once("close", resolve));
  expect(first.destroyed).toBe(false);
});

describe("headers that are too large are refused with 431", () => {
  const headers = { "x-long": "x".repeat(17_000) };

  it("over HTTP/1", async () => {
    const { port } = await serve();
    const answer = await http1({ port, path: "/hello", headers });
    expect(answer.status).toBe(431);
    expect(JSON.parse(answer.body).error.code).toBe("too_large");
  });

  it("over HTTP/2, by a client's first request and the next", async () => {
    const client = session((await serve()).url);
    for (const known of [false, true]) {
      const answer = await http2(client, headers);
      expect([known, answer.status]).toEqual([known, 431]);
      expect(answer.headers["x-request-id"]).toBeDefined();
      expect(JSON.parse(answer.body).error.code).toBe("too_large");
      expect((await http2(client, {})).status).toBe(200);
    }
  });

  it("over HTTP/2 such that pages of allowed origins may read it, and no others", async () => {
    const said = async (corsOrigins: "*" | readonly string[] | false, origin: string) => {
      const client = session((await serve({}, { corsOrigins })).url);
      const answer = await http2(client, { ...headers, origin });
      expect(answer.status).toBe(431);
      return [answer.headers["access-control-allow-origin"], answer.headers.vary];
    };
    const [one, other] = ["https://a.example", "https://b.example"];
    expect(await said("*", one)).toEqual(["*", undefined]);
    expect(await said([one], one)).toEqual([one, "Origin"]);
    expect(await said([one], other)).toEqual([undefined, "Origin"]);
    expect(await said(false, one)).toEqual([undefined, undefined]);
  });

  it("over HTTP/1, where nobody knows whose page it is, such that any may read it, if any is let in", async () => {
    const said = async (corsOrigins: "*" | readonly string[] | false) => {
      const { port } = await serve({}, { corsOrigins });
      const origin = "https://a.example";
      const answer = await http1({ port, path: "/hello", headers: { ...headers, origin } });
      expect(answer.status).toBe(431);
      const exposed = answer.headers["access-control-expose-headers"]?.includes("x-request-id");
      return [answer.headers["access-control-allow-origin"], exposed];
    };
    expect(await said("*")).toEqual(["*", true]);
    expect(await said(["https://a.example"])).toEqual(["*", true]);
    expect(await said(false)).toEqual([undefined, undefined]);
  });

  it("over gRPC with a status", async () => {
    const client = session((await serve()).url);
    const answer = await http2(client, { ...headers, "content-type": "application/grpc" });
    expect(answer).toMatchObject({ status: 200, headers: { "grpc-status": "8" } });
  });
});

describe("headers may be many as long as they are small", () => {
  it("over HTTP/1", async () => {
    const socket = tcp((await serve()).port);
    const many = "a:\r\n".repeat(2100);
    const own = "x-request-id: the-last\r\nconnection: close";
    socket.write(`GET /hello HTTP/1.1\r\nhost: a\r\n${many}${own}\r\n\r\n`);
    expect(await ended(socket)).toMatch(/ 200 OK\r\nx-request-id: the-last\r\n/);
  });

  it("over HTTP/2", async () => {
    const client = session((await serve()).url);
    await once(client, "remoteSettings");
    const headers = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x${i}`, ""]));
    expect((await http2(client, headers)).status).toBe(200);
  });
});

it("tells who floods why it is cut off", async () => {
  const { url } = await serve({ limits: { controlFrameBurst: 10, controlFrameRate: 1 } });
  const client = session(url);
  const failed = new Promise<Error>((resolve) => client.once("error", resolve));
  const stream = client.request({ ":path": "/hold" });
  const ended = new Promise<Error>((resolve) => stream.once("error", resolve));
  await new Promise((resolve) => stream.once("response", resolve));
  for (let i = 0; i < 20; i++) client.ping(() => {});
  expect((await failed).message).toContain("code 11");
  expect((await ended).message).toContain("code 11");
});

it("takes answers that break off here for no flood", async () => {
  const { url } = await serve({ limits: { controlFrameBurst: 15, controlFrameRate: 1 } });
  const client = session(url);
  for (let i = 0; i < 5; i++) {
    const stream = client.request({ ":path": "/broken" }).on("error", () => {});
    await new Promise((resolve) => stream.once("close", resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  }
  expect((await http2(client, {})).status).toBe(200);
});

it("takes what comes in good time for no flood, however much it is in the end", async () => {
  const { url } = await serve({ limits: { controlFrameBurst: 10, controlFrameRate: 1 } });
  const client = session(url);
  await http2(client, {});
  let passed = 0;
  const { now } = performance;
  const later = vi
    .spyOn(performance, "now")
    .mockImplementation(() => now.call(performance) + passed);
  onTestFinished(() => later.mockRestore());
  for (let i = 0; i < 30; i++) {
    expect(await new Promise((resolve) => client.ping(resolve))).toBeNull();
    passed += 1000;
  }
});

it("takes a clock that is set back for no flood", async () => {
  const { url } = await serve({ limits: { controlFrameBurst: 10, controlFrameRate: 1 } });
  const client = session(url);
  const pong = () => new Promise((resolve) => client.ping(resolve));
  await http2(client, {});
  expect(await pong()).toBeNull();
  vi.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
  for (let i = 0; i < 3; i++) expect(await pong()).toBeNull();
});
