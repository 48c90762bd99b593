/** HTTP/2 connections that Node gives up, and tells nobody. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { frame, open, preface, settings } from "./frames.js";
import { ended, serve, session, tcp } from "./serve.js";

const broken: [string, Buffer][] = [
  ["a frame that is too large", Buffer.alloc(30, 0xff)],
  ["a ping of another length", frame(6, 0, 0, Buffer.alloc(3))],
  ["headers that can't be unpacked", frame(1, 5, 3, Buffer.alloc(7, 0xff))],
  ["data for no stream", frame(0, 0, 0, Buffer.alloc(1))],
  ["data for a stream that was not opened", frame(0, 0, 5, Buffer.alloc(1))],
];

/** Type, flags and stream of frames that are not of a stream. */
const ping = Buffer.from([6, 0, 0, 0, 0, 0]);
const goaway = Buffer.from([7, 0, 0, 0, 0, 0]);

/** A connection on which a call waits for its answer. */
async function waiting(interval = 20, path?: string) {
  const { port, url, holding, held } = await serve({ timeouts: { ping: interval } });
  const socket = tcp(port);
  socket.write(Buffer.concat([preface, settings, open(1, path)]));
  await holding(1);
  return { socket, url, held };
}

/** Resolves when so many frames have come that have this in their head. */
function arrive(socket: Socket, count: number, head: Buffer): Promise<void> {
  return new Promise((resolve) => {
    let came = Buffer.alloc(0);
    socket.on("data", (part: Buffer) => {
      came = Buffer.concat([came, part]);
      let frames = 0;
      for (let at = came.indexOf(head); at >= 0; at = came.indexOf(head, at + 1)) frames++;
      if (frames >= count) resolve();
    });
  });
}

describe.each(broken)("after %s", (_, bytes) => {
  it("calls and connection end", async () => {
    const { socket, held } = await waiting();
    socket.write(bytes);
    await ended(socket);
    await expect.poll(() => held.size).toBe(0);
  });

  it("so they do where pings stay unanswered", async () => {
    const { socket, held } = await waiting();
    // More than Node lets be unanswered by itself.
    await arrive(socket, 12, ping);
    socket.write(bytes);
    await ended(socket);
    await expect.poll(() => held.size).toBe(0);
  });

  it("the connection ends although an answer waits to be written", async () => {
    const { socket, held } = await waiting(200, "/late");
    const over = ended(socket);
    const goodbye = arrive(socket, 1, goaway);
    socket.write(bytes);
    await goodbye;
    for (const release of held) release();
    await over;
  });

  it("a client that left is noticed", async () => {
    const { socket, held } = await waiting();
    socket.end(bytes);
    await expect.poll(() => held.size).toBe(0);
  });
});

it("a connection whose client does not answer pings goes on", async () => {
  const { socket: silent, url, held } = await waiting();
  const answering = session(url);
  for (let pings = 0; pings < 5; pings++) await once(answering, "ping");
  for (const release of held) release();
  const told = ended(silent);
  await expect.poll(() => held.size).toBe(0);
  silent.end();
  expect(await told).toContain("last");
});
