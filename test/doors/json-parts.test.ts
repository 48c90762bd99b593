/** JSON with images in it comes whole, whatever its parts are. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import http2 from "node:http2";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import fastify, { type FastifyInstance } from "fastify";
import { request } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { sendParts } from "../../src/doors/json/parts.js";

type Parts = Parameters<typeof sendParts>[1];

const apps: FastifyInstance[] = [];
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

/** A server of these parts, and what became of each sending. */
async function serving(parts: Parts, second = false) {
  const ends: Promise<void>[] = [];
  const app = (second ? fastify({ http2: true }) : fastify()) as FastifyInstance;
  apps.push(app);
  app.get("/", async (_, reply) => {
    reply.header("content-type", "application/json").header("x-more", "kept");
    const end = sendParts(reply, parts);
    ends.push(end);
    await end;
    return reply;
  });
  return { url: await app.listen({ port: 0, host: "127.0.0.1" }), ends };
}

const expected = (parts: Parts) =>
  parts
    .map((part) => (typeof part === "string" ? part : Buffer.from(part).toString("base64")))
    .join("");

const lengths = [0, 1, 2, 3, 49_151, 49_152, 49_153, 98_304, 1_000_001];

/** What a caller gets over HTTP/1. */
async function overHttp1(url: string) {
  const { statusCode, headers, body } = await request(url);
  return { status: statusCode, headers, text: await body.text() };
}

/** What a caller gets over HTTP/2. */
async function overHttp2(url: string) {
  const session = http2.connect(url);
  const stream = session.request({ ":path": "/" });
  const [[headers], body] = await Promise.all([once(stream, "response"), text(stream)]);
  session.close();
  return { status: headers[":status"], headers, text: body };
}

describe.each([
  ["HTTP/1", false, overHttp1],
  ["HTTP/2", true, overHttp2],
] as const)("over %s", (_, second, get) => {
  test("texts and bytes of every length arrive as they are, with their length", async () => {
    const parts = ['{"é":', ...lengths.flatMap((length) => [`,"`, randomBytes(length), '"']), "}"];
    const { url } = await serving(parts, second);
    for (const answer of await Promise.all([get(url), get(url)])) {
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({
        "content-type": "application/json",
        "x-more": "kept",
      });
      expect(answer.text).toBe(expected(parts));
      expect(Number(answer.headers["content-length"])).toBe(Buffer.byteLength(answer.text));
    }
  });
});

test("ends when the caller has left", async () => {
  const { url, ends } = await serving([randomBytes(64 * 1024 * 1024)]);
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nhost: here\r\n\r\n");
  await once(socket, "data");
  socket.destroy();
  expect(ends).toHaveLength(1);
  await ends[0];
});
