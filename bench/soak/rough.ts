/** Clients that keep to no manners: connections over HTTP/2 that are reset, requests that never end. */

import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Ask } from "./asking.js";
import { tokens } from "./configuration.js";

const body = (stream: boolean) =>
  JSON.stringify({ model: "chat", stream, messages: [{ role: "user", content: "do:slow" }] });

const asking = (id: string, more: object = {}) => ({
  ":method": "POST",
  ":path": "/llm",
  authorization: `Bearer ${tokens.steady}`,
  "content-type": "application/json",
  "x-request-id": id,
  ...more,
});

async function session(url: string): Promise<ClientHttp2Session> {
  const made = connect(url);
  made.on("error", () => {});
  await new Promise((resolve) => made.once("connect", resolve).once("close", resolve));
  return made;
}

/** Kinds of calls, none of which is heard to its end. */
export function rough(url: string): readonly (readonly [string, Ask])[] {
  const { hostname, port } = new URL(url);
  const opened = (made: ClientHttp2Session, id: string, more?: object) =>
    made.request(asking(id, more)).on("error", () => {});
  return [
    [
      "HTTP/2, streams reset",
      async (id) => {
        const made = await session(url);
        for (let i = 0; i < 10 && !made.destroyed; i++) {
          const stream = opened(made, `${id}-${i}`);
          if (i % 2) stream.end(body(true));
          stream.close(8);
        }
        await pause(5);
        made.close();
        return "left";
      },
    ],
    [
      "HTTP/2, connection reset",
      async (id) => {
        const made = await session(url);
        const stream = opened(made, id);
        stream.end(body(true));
        await Promise.race([new Promise((resolve) => stream.once("data", resolve)), pause(500)]);
        made.destroy();
        return "left";
      },
    ],
    [
      "HTTP/2, half a body",
      async (id) => {
        const made = await session(url);
        opened(made, id, { "content-length": "500" }).write("{");
        await pause(20);
        made.destroy();
        return "left";
      },
    ],
    [
      "HTTP/2, nobody reads",
      async (id) => {
        const made = await session(url);
        made.setLocalWindowSize?.(1);
        opened(made, id).end(body(true));
        await pause(300);
        made.destroy();
        return "left";
      },
    ],
    [
      "HTTP/1, half a request",
      async (id) => {
        const socket = connectTcp(Number(port), hostname);
        socket.on("error", () => {});
        const head = `POST /llm HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${tokens.steady}\r\nx-request-id: ${id}\r\n`;
        socket.write(Math.random() < 0.5 ? head : `${head}content-length: 500\r\n\r\n{"mess`);
        await pause(20);
        socket.resetAndDestroy();
        return "left";
      },
    ],
    [
      "HTTP/1, two at once",
      async (id) => {
        const socket = connectTcp(Number(port), hostname);
        socket.on("error", () => {});
        const one = (n: number) =>
          `POST /llm HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${tokens.steady}\r\ncontent-type: application/json\r\nx-request-id: ${id}-${n}\r\ncontent-length: ${body(true).length}\r\n\r\n${body(true)}`;
        socket.write(one(1) + one(2));
        await pause(Math.random() * 100);
        socket.destroy();
        return "left";
      },
    ],
  ];
}
