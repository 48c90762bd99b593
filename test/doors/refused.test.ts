/** Callers who are not let in: nothing is read for them, and all is answered and written down as ever. */
import { once } from "node:events";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import type { CallerSource } from "../../src/core/callers/source.js";
import type { Logger } from "../../src/core/log.js";
import { onTrailers } from "../support/grpc-trailers.js";
import { says, scripted } from "../support/scripted.js";
import { hello, serve } from "./serve.js";

/** A token of this source is found out later, as in a database. */
function later(): CallerSource & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async find(token) {
      asked.push(token);
      return token === "good" ? { id: "someone" } : undefined;
    },
  };
}

/** A Lintel that knows one token, and what it logs of calls. */
async function guarded(callers?: readonly CallerSource[]) {
  const calls: Record<string, unknown>[] = [];
  const note = (fields: object, message: string) => {
    if (message === "call") calls.push(fields as Record<string, unknown>);
  };
  const log: Logger = { debug: note, info: note, warn: note, error: note } as Logger;
  const server = await serve(scripted({ chat: says("Hi") }), {
    core: { auth: { mode: "token", tokens: [] } },
    parts: { callers: callers ?? [], log },
  });
  return { ...server, calls };
}

/** Sends a request over HTTP/2 whose body has begun, and does not end; answers what came. */
async function half(url: string, headers: Record<string, string>) {
  const client = connect(url);
  onTestFinished(() => client.destroy());
  const stream = client.request({ ":method": "POST", authorization: "Bearer wrong", ...headers });
  stream.on("error", () => {});
  stream.write(Buffer.from([0]));
  let trailers: IncomingHttpHeaders = {};
  stream.on("trailers", (all) => {
    trailers = all;
  });
  const [head] = (await once(stream, "response")) as [IncomingHttpHeaders];
  let body = "";
  for await (const part of stream.setEncoding("utf8")) body += part;
  return { head, body, trailers };
}

const chat = "/lintel.v1.ChatService/Chat";
const complete = "/lintel.v1.ChatService/Complete";
const types: [string, string, Record<string, string>][] = [
  ["gRPC", chat, { "content-type": "application/grpc" }],
  ["gRPC with gzip", chat, { "content-type": "application/grpc", "grpc-encoding": "gzip" }],
  ["gRPC-Web", chat, { "content-type": "application/grpc-web+proto" }],
  ["gRPC-Web as text", chat, { "content-type": "application/grpc-web-text" }],
  ["Connect", complete, { "content-type": "application/proto" }],
  ["Connect JSON", complete, { "content-type": "application/json" }],
  ["Connect stream", chat, { "content-type": "application/connect+proto" }],
  ["REST", "/llm", { "content-type": "application/json" }],
  ["REST images", "/text-to-image", { "content-type": "application/json" }],
  ["OpenAI", "/v1/chat/completions", { "content-type": "application/json" }],
  ["OpenAI responses", "/v1/responses", { "content-type": "application/json" }],
  ["OpenAI images", "/v1/images/generations", { "content-type": "application/json" }],
];

describe("the answer does not wait for the body", () => {
  test.each(types)("%s", async (_, path, headers) => {
    const source = later();
    const { url, calls } = await guarded([source]);
    const { head, body, trailers } = await half(url, {
      ":path": path,
      "x-request-id": "mine-1234",
      ...headers,
    });
    expect(head["x-request-id"]).toBe("mine-1234");
    const said = `${head["grpc-status"]} ${trailers["grpc-status"]} ${body}`;
    const text = path === chat && headers["content-type"]?.endsWith("text");
    const status = new RegExp(`\\b${Code.Unauthenticated}\\b|unauthenticated|invalid_token`);
    expect(text ? Buffer.from(body, "base64").toString() : said).toMatch(status);
    if (!path.startsWith("/lintel")) expect(head[":status"]).toBe(401);
    expect(source.asked).toEqual(["wrong"]);
    expect(calls).toEqual([expect.objectContaining({ code: "invalid_token", id: "mine-1234" })]);
  });

  test("REST over HTTP/1, whose connection is good for the next request", async () => {
    const { socket, calls } = await guarded();
    const body = JSON.stringify(hello());
    const head = (token: string, length: number) =>
      `POST /llm HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
    const bare = socket(`${head("wrong", 10)}{`);
    const [first] = await once(bare, "data");
    expect(String(first)).toMatch(/^HTTP\/1\.1 401 /);
    bare.write(`         ${head("wronger", body.length)}${body}`);
    const [second] = await once(bare, "data");
    expect(String(second)).toMatch(/^HTTP\/1\.1 401 /);
    expect(calls).toHaveLength(2);
  });
});

test("a call without a message is answered, also where its token is found out later", async () => {
  const { url, calls } = await guarded([later()]);
  const client = connect(url);
  onTestFinished(() => client.destroy());
  const headers = { "content-type": "application/grpc", authorization: "Bearer good" };
  const stream = client.request(
    { ":method": "POST", ":path": chat, ...headers },
    { endStream: true },
  );
  const trailers = await new Promise<IncomingHttpHeaders>((resolve) =>
    onTrailers(stream.resume(), resolve),
  );
  expect(trailers["grpc-status"]).toBe(String(Code.Unimplemented));
  expect(calls).toMatchObject([{ code: "unimplemented", caller: "someone" }]);
});

test.each([
  ["text/plain", "connect"],
  ["application/grpc+thrift", "grpc"],
  ["application/grpc-web+thrift", "grpc-web"],
])("a call in a type that no method takes is written down, too: %s", async (type, door) => {
  const { post, calls } = await guarded([later()]);
  const refused = async (path: string, token: string) => {
    const headers = { "content-type": type, authorization: `Bearer ${token}` };
    return (await post(path, "hi", headers)).status;
  };
  for (const path of [chat, complete]) {
    expect(await refused(path, "good")).toBe(415);
    expect(await refused(path, "wrong")).toBe(401);
  }
  const both = [
    { code: "unsupported_media_type", caller: "someone", door },
    { code: "invalid_token", door },
  ];
  expect(calls).toMatchObject([...both, ...both]);
});

describe("a token is looked up once for a call", () => {
  const message = toBinary(LLMRequestSchema, create(LLMRequestSchema, hello()));
  const bodies: Record<string, Uint8Array> = {
    gRPC: encodeEnvelope(0, message),
    "gRPC with gzip": encodeEnvelope(1, gzipSync(message)),
    "gRPC-Web": encodeEnvelope(0, message),
    Connect: message,
    "Connect stream": encodeEnvelope(0, message),
  };

  test.each(types.filter(([name]) => bodies[name] || /^(REST|OpenAI)$/.test(name)))(
    "%s",
    async (name, path, headers) => {
      const source = later();
      const { url, calls } = await guarded([source]);
      const client = connect(url);
      onTestFinished(() => client.destroy());
      const stream = client.request({
        ":method": "POST",
        ":path": path,
        authorization: "Bearer good",
        ...headers,
      });
      stream.resume().end(bodies[name] ?? JSON.stringify(hello()));
      await once(stream, "close");
      expect(calls).toEqual([expect.objectContaining({ code: "ok", caller: "someone" })]);
      expect(source.asked).toEqual(["good"]);
    },
  );
});
