/** A request's body is read whole, however it comes. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import type { Logger } from "../../src/core/log.js";
import { hashToken } from "../../src/core/tokens.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { readBytes } from "../../src/doors/json/bytes.js";
import { readMessage } from "../../src/doors/rpc/edge/request.js";
import { piece } from "../support/scripted.js";
import { codeIn, hello, http, json, jsonPaths, serveChat } from "./serve.js";

/** Says what it was told. */
const echo: Handle<"chat"> = async function* ({ request }) {
  yield [piece(request.messages.at(-1)?.content ?? "")];
  yield [piece("", "stop", [1, 1])];
};

const asking = (content: string) =>
  JSON.stringify(hello({ messages: [{ role: "user", content }] }));

/** Reads whole answers off a connection. */
function answersOf(socket: Socket): (count: number) => Promise<{ status: number; said: string }[]> {
  let bytes = Buffer.alloc(0);
  const take = () => {
    const head = bytes.indexOf("\r\n\r\n");
    if (head === -1) return undefined;
    const text = bytes.toString("latin1", 0, head);
    const end = head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1]);
    if (bytes.length < end) return undefined;
    const body = JSON.parse(bytes.toString("utf8", head + 4, end));
    bytes = bytes.subarray(end);
    const said = body.choices?.[0].message.content ?? body.error.code;
    return { status: Number(text.slice(9, 12)), said: said as string };
  };
  socket.on("data", (part) => {
    bytes = Buffer.concat([bytes, part]);
  });
  return async (count) => {
    const all = [];
    while (all.length < count) {
      const answer = take();
      if (answer) all.push(answer);
      else await once(socket, "data");
    }
    return all;
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("cut anywhere, on one connection", async () => {
  const server = await serveChat(echo);
  const said = 'Grüße "😀"';
  const request = Buffer.from(http("/llm", asking(said)));
  const body = request.indexOf("\r\n\r\n") + 4;
  const socket = server.socket("").setNoDelay(true);
  const answers = answersOf(socket);
  for (let cut = body - 4; cut <= request.length; cut++) {
    socket.write(request.subarray(0, cut));
    for (let i = 0; i < 5; i++) await turn();
    socket.write(request.subarray(cut));
    expect(await answers(1)).toEqual([{ status: 200, said }]);
  }
});

test("several requests in one piece, of all kinds of length", async () => {
  const server = await serveChat(echo);
  const texts = ["", "a", "é".repeat(100), "x".repeat(3000), "漢"];
  const socket = server.socket(texts.map((text) => http("/llm", asking(text))).join(""));
  const answers = answersOf(socket);
  expect((await answers(texts.length)).map(({ said }) => said)).toEqual(texts);
});

test("longer than any read of a socket", async () => {
  const server = await serveChat(echo);
  const said = "0123456789".repeat(100_000);
  const socket = server.socket(http("/llm", asking(said)));
  const [answer] = await answersOf(socket)(1);
  expect(answer?.said === said).toBe(true);
});

test.each([66_000, 80_000, 100_000, 130_000])(
  "%i bytes, which come in two reads and wait together",
  async (length) => {
    const server = await serveChat(echo);
    const said = "é".repeat(length / 2);
    const answers = answersOf(
      server.socket(http("/llm", asking(said)) + http("/llm", asking("b"))),
    );
    const [long, next] = await answers(2);
    expect(long?.said === said).toBe(true);
    expect(next).toEqual({ status: 200, said: "b" });
  },
);

test("in pieces, all of them there before it is read", async () => {
  const payload = new Readable({ read() {} });
  for (const piece of ["{", '"a"', ":1", "}"]) payload.push(piece);
  const read = new Promise((resolve) => {
    const request = { headers: { "content-length": "7" } };
    readBytes(request as never, payload as never, 100, (_, bytes) => resolve(String(bytes)));
  });
  expect(await read).toBe('{"a":1}');
});

test("in chunks, all in one piece or one by one", async () => {
  const server = await serveChat(echo);
  const head =
    "POST /llm HTTP/1.1\r\nhost: x\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
  const body = asking("in chunks");
  const chunks = [body.slice(0, 5), body.slice(5, 20), body.slice(20), ""].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  );
  const socket = server.socket(head + chunks.join(""));
  const answers = answersOf(socket);
  expect(await answers(1)).toEqual([{ status: 200, said: "in chunks" }]);
  for (const part of [head, ...chunks]) {
    socket.write(part);
    await turn();
  }
  expect(await answers(1)).toEqual([{ status: 200, said: "in chunks" }]);
});

test("in chunks, as long as it may be and no longer", async () => {
  const limit = 1000;
  const server = await serveChat(echo, { doors: { bodyLimit: limit } });
  const of = (length: number) => {
    const body = asking("x".repeat(length - asking("").length));
    const head =
      "POST /llm HTTP/1.1\r\nhost: x\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    return `${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  };
  for (const [length, status] of [
    [limit, 200],
    [limit + 1, 413],
  ] as const) {
    const [answer] = await answersOf(server.socket(of(length)))(1);
    expect(answer?.status).toBe(status);
  }
});

/** Each takes a hundred times its byte of memory. */
const pieces = 20_000;
const fewer = pieces / 20;

/** A request whose body comes in pieces of one byte. */
const inBytes = (path: string, body: string): string => {
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer me\r\ncontent-type: application/json`;
  const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`).join("");
  return `${head}\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
};

/** The most parts of which something was put together. */
function mostParts(): () => number {
  const concat = vi.spyOn(Buffer, "concat");
  onTestFinished(() => concat.mockRestore());
  return () => Math.max(...concat.mock.calls.map(([parts]) => parts.length));
}

test("byte by byte: few pieces are kept", async () => {
  const most = mostParts();
  const server = await serveChat(echo);
  const said = "0123456789".repeat(pieces / 10);
  const [answer] = await answersOf(server.socket(inBytes("/llm", asking(said))))(1);
  expect(answer?.said === said).toBe(true);
  expect(most()).toBeLessThan(fewer);
});

test("byte by byte, for the RPC library: it gets few pieces to keep", async () => {
  let taken = 0;
  const own = IncomingMessage.prototype.iterator;
  const iterator = vi.spyOn(IncomingMessage.prototype, "iterator");
  onTestFinished(() => iterator.mockRestore());
  iterator.mockImplementation(async function* (this: IncomingMessage, options) {
    for await (const piece of own.call(this, options)) {
      taken++;
      yield piece;
    }
  });
  const server = await serveChat(echo);
  const said = "0123456789".repeat(pieces / 10);
  const socket = server.socket(inBytes("/lintel.v1.ChatService/Complete", asking(said)));
  const [answer] = await answersOf(socket)(1);
  expect(answer?.said === said).toBe(true);
  expect(taken).toBeGreaterThan(0);
  expect(taken).toBeLessThan(fewer);
});

test("byte by byte, of plain gRPC: few pieces are kept", async () => {
  const most = mostParts();
  const message = Buffer.alloc(pieces, "0123456789");
  const stream = new Readable({ read() {} });
  const read = new Promise((resolve) => readMessage(stream as never, pieces, resolve));
  for (const byte of encodeEnvelope(0, message)) stream.push(Buffer.of(byte));
  stream.push(null);
  expect(message.equals((await read) as Buffer)).toBe(true);
  expect(most()).toBeLessThan(fewer);
});

test("empty, by its length or without any, and the next request is served", async () => {
  const server = await serveChat(echo);
  const socket = server.socket(http("/llm", ""));
  const answers = answersOf(socket);
  expect(await answers(1)).toEqual([{ status: 400, said: "invalid_json" }]);
  socket.write(
    "POST /llm HTTP/1.1\r\nhost: x\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\n\r\n",
  );
  expect(await answers(1)).toEqual([{ status: 400, said: "invalid_json" }]);
  socket.write(http("/llm", asking("still here")));
  expect(await answers(1)).toEqual([{ status: 200, said: "still here" }]);
});

test("exactly as long as is allowed, and one byte longer", async () => {
  const body = asking("x".repeat(50));
  const server = await serveChat(echo, { doors: { bodyLimit: body.length } });
  const [fits] = await answersOf(server.socket(http("/llm", body)))(1);
  expect(fits?.status).toBe(200);
  const [longer] = await answersOf(server.socket(http("/llm", `${body} `)))(1);
  expect(longer).toEqual({ status: 413, said: "too_large" });
});

test.each([
  ["/llm", "application/json", "413"],
  ["/llm", "text/plain", "415"],
  ["/lintel.v1.ChatService/Complete", "application/json", "429"],
])("%s: curl over HTTP/2 is told that 2 MiB of %s are refused", async (path, type, status) => {
  const { url } = await serveChat(echo);
  const headers = ["-H", "authorization: Bearer me", "-H", `content-type: ${type}`];
  const asking = promisify(execFile)("curl", [
    ...["-sS", "--http2-prior-knowledge", ...headers, "--data-binary", "@-"],
    ...["-w", " %{http_code}", url + path],
  ]);
  asking.child.stdin?.end(Buffer.alloc(2 * 1024 * 1024));
  const { stdout } = await asking;
  expect(stdout).toMatch(/too_large|unsupported_media_type/);
  expect(stdout.slice(-3)).toBe(status);
});

test.each(jsonPaths)(
  "%s: what is refused for its size or type is in the log and in the usage of who sent it",
  async (path) => {
    const calls: unknown[] = [];
    const records: Partial<UsageRecord>[] = [];
    const note = ({ id, caller, code }: Record<string, unknown>) =>
      calls.push({ id, caller, code });
    const log = { debug: note, info: note, warn: note, error: note } as unknown as Logger;
    const sink = { keep: async (record: UsageRecord) => void records.push(record) };
    const tokens = [{ name: "alice", hash: hashToken("me") }];
    const server = await serveChat(echo, {
      core: { auth: { mode: "token", tokens } },
      doors: { bodyLimit: 100 },
      parts: { log, usage: { sink, prices: [] } },
    });
    const told = async (code: string, type: string | undefined, body?: string) => {
      calls.length = records.length = 0;
      const answer = await fetch(server.url + path, {
        method: "POST",
        headers: {
          authorization: "Bearer me",
          ...(type !== undefined && { "content-type": type }),
        },
        ...(body !== undefined && { body: Buffer.from(body) }),
      });
      expect(codeIn(await json(answer))).toBe(code);
      expect(calls).toEqual([{ id: answer.headers.get("x-request-id"), caller: "alice", code }]);
      expect(records).toMatchObject([{ caller: "alice", outcome: code }]);
    };
    await told("too_large", "application/json", " ".repeat(101));
    for (const type of ["text/plain", "json", "application/json; charset=latin1", undefined])
      await told("unsupported_media_type", type, "{}");
    await told("unsupported_media_type", undefined);
  },
);

test("who leaves before its turn's end is told of as one whose body is incomplete", async () => {
  const payload = new Readable({ read() {} });
  const read = new Promise((resolve) => {
    const request = { headers: { "content-length": "2" } };
    readBytes(request as never, payload as never, 100, resolve);
  });
  payload.push("{");
  payload.destroy();
  expect(await read).toMatchObject({ code: "invalid_json", message: "the body is incomplete" });
});
