/** Sessions that are closed: a request that is on its way to them then is served. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { connect } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import type { Listener } from "../../src/server/listen.js";
import { frame, open, preface, settings } from "./frames.js";
import { http2, serve, session, tcp } from "./serve.js";

/** Longer than any test may take. */
const never = 600_000;

/** A frame that came. */
interface Frame {
  readonly type: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** The next frame of a type; those before it are left out. */
function reader(socket: Socket): (type: number) => Promise<Frame> {
  let seen: Buffer = Buffer.alloc(0);
  const take = (): Frame | undefined => {
    const end = seen.length < 9 ? Number.POSITIVE_INFINITY : 9 + seen.readUIntBE(0, 3);
    if (seen.length < end) return undefined;
    const [type, stream] = [seen[3] as number, seen.readUInt32BE(5)];
    const payload = seen.subarray(9, end);
    seen = seen.subarray(end);
    return { type, stream, payload };
  };
  return async (type) => {
    for (;;) {
      const next = take();
      if (next?.type === type) return next;
      if (!next) seen = Buffer.concat([seen, (await once(socket, "data"))[0]]);
    }
  };
}

const [data, headers, ping, goaway] = [0, 1, 6, 7];

const file = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** Over TLS: one that has an answer under way, and what ends that. */
async function answered(parting: number) {
  const tls = { cert: file("cert.pem"), key: file("key.pem") };
  const listener = await serve({ tls, host: "localhost", timeouts: { parting } });
  const { holding, held, port } = listener;
  const socket = connect({ host: "localhost", port, ca: tls.cert, ALPNProtocols: ["h2"] });
  onTestFinished(() => void socket.destroy());
  socket.write(Buffer.concat([preface, settings, open(1)]));
  await holding(1);
  const [release = () => {}] = held;
  return { listener, socket, next: reader(socket), release };
}

it.each([
  ["by the listener", {}],
  ["for its age", { limits: { maxAge: 1 } }],
])("closed %s", async (_, options: { limits?: object }) => {
  const { port, drain } = await serve({ ...options, timeouts: { notice: never } });
  const socket = tcp(port);
  const closed = once(socket, "close");
  const next = reader(socket);
  socket.write(Buffer.concat([preface, settings]));
  await next(4);
  if (!options.limits) drain();
  expect((await next(goaway)).payload.readUInt32BE(0)).toBe(2 ** 31 - 1);
  const probe = await next(ping);
  // Its client had not read that yet.
  socket.write(open(1, "/hello"));
  expect((await next(headers)).stream).toBe(1);
  socket.write(frame(ping, 1, 0, Buffer.from(probe.payload)));
  expect((await next(goaway)).payload.readUInt32BE(0)).toBe(1);
  await closed;
});

it("one without streams for too long is told as well", async () => {
  const { port } = await serve({ timeouts: { notice: never, idleSession: 20 } });
  const socket = tcp(port);
  const next = reader(socket);
  socket.write(Buffer.concat([preface, settings]));
  expect((await next(goaway)).payload.readUInt32BE(0)).toBe(2 ** 31 - 1);
});

it("a client that does not say that it has heard is not waited for", async () => {
  const { port, drain } = await serve({ timeouts: { notice: 1 } });
  const socket = tcp(port);
  const closed = once(socket, "close");
  const next = reader(socket);
  socket.write(Buffer.concat([preface, settings]));
  await next(4);
  drain();
  await closed;
});

it("one that is destroyed before it was told is left alone", async () => {
  const { url, drain, close } = await serve();
  const client = session(url);
  expect((await http2(client, {})).status).toBe(200);
  await setImmediate();
  drain();
  // Timers that are due come before what was put off till the end of a turn.
  void close(0);
  for (const began = performance.now(); performance.now() - began < 5; );
  await once(client, "close");
});

it("a session that begins as the listener leaves says its settings first, then goodbye", async () => {
  const { port, drain } = await serve({ timeouts: { notice: never } });
  const socket = tcp(port);
  const next = reader(socket);
  await once(socket, "connect");
  drain();
  socket.write(Buffer.concat([preface, settings]));
  const first: Buffer = (await once(socket, "data"))[0];
  expect(first[3]).toBe(4);
  socket.unshift(first);
  expect((await next(goaway)).payload.readUInt32BE(0)).toBe(2 ** 31 - 1);
});

it("a client may send much ahead of our word, in all its requests together", async () => {
  const { port } = await serve();
  const socket = tcp(port);
  const next = reader(socket);
  socket.write(Buffer.concat([preface, settings]));
  const { stream, payload } = await next(8);
  // The connection's window, which begins with 64 KiB and takes no setting.
  expect(stream).toBe(0);
  expect(65_535 + payload.readUInt32BE(0)).toBeGreaterThanOrEqual(1024 * 1024);
  socket.destroy();
});

const goodbyes: Record<string, (listener: Listener, socket: Socket) => void> = {
  "by a listener that leaves": ({ drain }) => drain(),
  "by a listener that closes": ({ close }) => void close(never),
  "by its client": (_, socket) => void socket.write(frame(goaway, 0, 0, Buffer.alloc(8))),
};

it.each(Object.keys(goodbyes))(
  "over TLS one that is ended %s does not end with its last answer, but behind it",
  async (by) => {
    const { listener, socket, next, release } = await answered(never);
    let ended = false;
    socket.on("end", () => {
      ended = true;
    });
    const other = session(listener.url, { ca: file("cert.pem") });
    const turns = [1, 2, 3].map(() => other.request({ ":path": "/hold" }).resume());
    await listener.holding(1 + turns.length);
    goodbyes[by]?.(listener, socket);
    await next(goaway);
    release();
    while ((await next(data)).payload.length > 0);
    // By then its end would have come.
    for (const turn of turns) {
      [...listener.held][0]?.();
      await once(turn, "close");
    }
    expect(ended).toBe(false);
  },
);

it("over TLS a client that does not close it behind its last answer is not waited for long", async () => {
  const { listener, socket, release } = await answered(1);
  listener.drain();
  release();
  await once(socket.resume(), "end");
});
