/** Messages that can't be read, and requests that are no RPC. */
import { once } from "node:events";
import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFromJson, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { silent } from "../../src/core/log.js";
import { ended, http1, tcp } from "../server/serve.js";
import { says, scripted } from "../support/scripted.js";
import { hello, serveRpc } from "./rpc-server.js";
import { serve } from "./serve.js";
import { textType } from "./web-text-client.js";

const { url, port } = await serveRpc([scripted({ chat: says("x") })], {}, afterAll);
const client = connect(url);
afterAll(() => client.destroy());

const chat = "/lintel.v1.ChatService/Chat";
const complete = "/lintel.v1.ChatService/Complete";
const garbage = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x01]);

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly trailers: Headers;
}

/** One request over HTTP/2, with trailers. */
function post(headers: Record<string, string>, body: Uint8Array): Promise<Reply> {
  const stream = client.request({ ":method": "POST", authorization: "Bearer me", ...headers });
  const parts: Buffer[] = [];
  let received: Record<string, unknown> = {};
  let trailers: Record<string, unknown> = {};
  const plain = (h: Record<string, unknown>) =>
    new Headers(
      Object.entries(h).flatMap(([k, v]) => (k.startsWith(":") ? [] : [[k, String(v)]])) as [
        string,
        string,
      ][],
    );
  return new Promise((resolve, reject) => {
    stream.on("response", (h) => {
      received = h;
    });
    stream.on("trailers", (h) => {
      trailers = h;
    });
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("error", reject);
    stream.on("close", () =>
      resolve({
        status: Number(received[":status"]),
        headers: plain(received),
        body: Buffer.concat(parts),
        trailers: plain(trailers),
      }),
    );
    stream.end(body);
  });
}

const message = toBinary(LLMRequestSchema, create(LLMRequestSchema, hello));
const types = {
  grpc: "application/grpc",
  grpcJson: "application/grpc+json",
  web: "application/grpc-web+proto",
  connect: "application/connect+proto",
  connectJson: "application/connect+json",
  unary: "application/proto",
  unaryJson: "application/json",
} as const;

/** The error of a reply, wherever the protocol puts it. */
function errorOf(type: string, reply: Reply) {
  const error = thrownOf(type, reply);
  const { code, rawMessage: message } = error ?? {};
  return error && { code, message, reason: error.findDetails(ErrorInfoSchema)[0]?.reason };
}

function thrownOf(type: string, { headers, body, trailers }: Reply): ConnectError | undefined {
  if (type.startsWith("application/grpc-web")) {
    return findTrailerError(trailerParse(body.subarray(5)));
  }
  if (type.startsWith("application/grpc")) {
    return findTrailerError(trailers) ?? findTrailerError(headers);
  }
  if (type.startsWith("application/connect")) return endStreamFromJson(body.subarray(5)).error;
  return errorFromJsonBytes(body, undefined, new ConnectError("no error in Connect's form"));
}

describe("a message that can't be read", () => {
  const json = (text: string) => new TextEncoder().encode(text);
  const cases: [string, string, Uint8Array, RegExp][] = [
    ["gRPC, bytes of another type", types.grpc, encodeEnvelope(0, garbage), /can't be read/],
    [
      "gRPC, frame cut off",
      types.grpc,
      encodeEnvelope(0, message).subarray(0, 9),
      /protocol error/,
    ],
    ["gRPC, no frame", types.grpc, garbage.subarray(0, 3), /protocol error/],
    ["gRPC, not gzip", types.grpc, encodeEnvelope(1, garbage), /./],
    [
      "gRPC JSON, wrong type",
      types.grpcJson,
      encodeEnvelope(0, json('{"top_p":"x"}')),
      /; top_p: /,
    ],
    ["gRPC-Web", types.web, encodeEnvelope(0, garbage), /can't be read/],
    ["Connect stream", types.connect, encodeEnvelope(0, garbage), /can't be read/],
    ["Connect stream JSON", types.connectJson, encodeEnvelope(0, json("{")), /JSON/],
    ["Connect, bytes", types.unary, garbage, /can't be read/],
    ["Connect, broken JSON", types.unaryJson, json('{"messages":['), /JSON/],
    ["Connect, an array", types.unaryJson, json("[]"), /must be a JSON object/],
    ["Connect, wrong type", types.unaryJson, json('{"max_tokens":"many"}'), /; max_tokens: /],
    ["Connect, huge number", types.unaryJson, json('{"max_tokens":1e999}'), /max_tokens/],
    ["Connect, inside of a list", types.unaryJson, json('{"messages":[{"role":7}]}'), /role/],
    ["Connect, no UTF-8", types.unaryJson, Buffer.from([0x7b, 0xff, 0x7d]), /./],
  ];
  it.each(cases)("%s: invalid_argument, or unauthenticated first", async (_, type, body, words) => {
    const path = type === types.unary || type === types.unaryJson ? complete : chat;
    const reply = await post({ ":path": path, "content-type": type }, body);
    const error = errorOf(type, reply);
    expect(error).toMatchObject({ code: Code.InvalidArgument });
    expect(error?.message).toMatch(words);
    expect(error?.message).not.toMatch(/node_modules|\bat .*:\d+/);
    expect(reply.headers.get("x-request-id")).toBeTruthy();

    const headers = { ":path": path, "content-type": type, authorization: "none" };
    expect(errorOf(type, await post(headers, body))).toMatchObject({
      code: Code.Unauthenticated,
    });
  });

  it("is in the log without a stack, as it is the caller's", async () => {
    const calls: object[] = [];
    const log = { ...silent, info: (fields: object) => calls.push(fields) };
    const server = await serve(scripted({ chat: says("x") }), { parts: { log } });
    const own = connect(server.url);
    onTestFinished(() => own.destroy());
    const head = { ":method": "POST", ":path": chat, "content-type": types.grpc };
    const stream = own.request({ ...head, authorization: "Bearer me" });
    stream.resume().end(encodeEnvelope(0, garbage));
    await once(stream, "close");
    expect(calls).toEqual([expect.objectContaining({ code: "invalid_json", cause: undefined })]);
  });

  it("of a service without a token it is the caller's fault in a status, too", async () => {
    const check = { ":path": "/grpc.health.v1.Health/Check", "content-type": types.unary };
    const reply = await post(check, garbage);
    expect(reply.status).toBe(400);
    expect(errorOf(types.unary, reply)).toEqual({
      code: Code.InvalidArgument,
      message: "the message can't be read",
      reason: "invalid_json",
    });
    expect((await post(check, new Uint8Array())).status).toBe(200);
    const unknown = await post(check, Buffer.from("\n\u0007no.Such"));
    expect(errorOf(types.unary, unknown)).toMatchObject({ code: Code.NotFound });
  });

  it("a deadline that can't be read is a defect, a very long one is fine", async () => {
    const headers = { ":path": chat, "content-type": types.grpc };
    const body = encodeEnvelope(0, message);
    const bad = await post({ ...headers, "grpc-timeout": "soon" }, body);
    expect(errorOf(types.grpc, bad)).toMatchObject({ code: Code.InvalidArgument });
    const long = await post({ ...headers, "grpc-timeout": "99999999H" }, body);
    expect(long.trailers.get("grpc-status")).toBe("0");
  });

  it("gzip is read, and held to the same limit when unpacked", async () => {
    const headers = { ":path": chat, "content-type": types.grpc, "grpc-encoding": "gzip" };
    const good = await post(headers, encodeEnvelope(1, gzipSync(message)));
    expect(good.trailers.get("grpc-status")).toBe("0");
    const bomb = encodeEnvelope(1, gzipSync(Buffer.alloc(50 * 1024 * 1024)));
    expect(errorOf(types.grpc, await post(headers, bomb))).toMatchObject({
      code: Code.ResourceExhausted,
    });
    const brotli = await post({ ...headers, "grpc-encoding": "br" }, encodeEnvelope(1, garbage));
    expect(errorOf(types.grpc, brotli)).toMatchObject({ code: Code.Unimplemented });
    expect(brotli.headers.get("grpc-accept-encoding")).toBe("gzip");
  });
});

describe("a call with another number of messages than one, or in an unknown compression", () => {
  const twice = (bytes: Uint8Array) =>
    Buffer.concat([encodeEnvelope(0, bytes), encodeEnvelope(0, bytes)]);
  const none = Buffer.alloc(0);
  const cases: [string, string, Record<string, string>, Uint8Array][] = [
    ["gRPC, none", types.grpc, {}, none],
    ["gRPC, two", types.grpc, {}, twice(message)],
    ["gRPC, Brotli", types.grpc, { "grpc-encoding": "br" }, encodeEnvelope(1, garbage)],
    ["gRPC JSON, none", types.grpcJson, {}, none],
    ["gRPC JSON, two", types.grpcJson, {}, twice(Buffer.from("{}"))],
    ["gRPC-Web, none", types.web, {}, none],
    ["gRPC-Web, two", types.web, {}, twice(message)],
    ["gRPC-Web, Brotli", types.web, { "grpc-encoding": "br" }, encodeEnvelope(1, garbage)],
    ["Connect stream, none", types.connect, {}, none],
    ["Connect stream, two", types.connect, {}, twice(message)],
    [
      "Connect stream, Brotli",
      types.connect,
      { "connect-content-encoding": "br" },
      encodeEnvelope(1, garbage),
    ],
    ["Connect, Brotli", types.unary, { "content-encoding": "br" }, garbage],
  ];
  it.each(cases)("%s: unimplemented, or unauthenticated first", async (_, type, more, body) => {
    const path = type === types.unary ? complete : chat;
    const headers = { ":path": path, "content-type": type, ...more };
    const reply = await post(headers, body);
    const unimplemented = { code: Code.Unimplemented, reason: "unimplemented" };
    expect(errorOf(type, reply)).toMatchObject(unimplemented);
    for (const name of Object.keys(more)) {
      const accepts = name.replace("content-", "").replace("encoding", "accept-encoding");
      expect([accepts, reply.headers.get(accepts)]).toEqual([accepts, "gzip"]);
    }
    const stranger = await post({ ...headers, authorization: "none" }, body);
    expect(errorOf(type, stranger)).toMatchObject({ code: Code.Unauthenticated });
  });
});

describe("what is no RPC", () => {
  it("is told to gRPC clients in plain words, as a status alone", async () => {
    const unknown = { ":path": "/lintel.v1.ChatService/Nope", "content-type": types.grpc };
    const { headers, body, trailers } = await post(unknown, encodeEnvelope(0, message));
    expect(headers.get("grpc-message")).toMatch(
      /^there is no POST \/lintel\.v1\.ChatService\/Nope here/,
    );
    expect(headers.get("x-request-id")).toBeTruthy();
    expect([...trailers]).toEqual([]);
    expect(body).toHaveLength(0);
  });

  it("an unknown method is unimplemented to gRPC clients, 404 to others", async () => {
    for (const path of ["/lintel.v1.ChatService/Nope", "/nope.Service/Nope"]) {
      const reply = await post({ ":path": path, "content-type": types.grpc }, garbage);
      expect(reply.status).toBe(200);
      expect(reply.headers.get("content-type")).toBe("application/grpc");
      expect(errorOf(types.grpc, reply)).toMatchObject({ code: Code.Unimplemented });
      const web = await post({ ":path": path, "content-type": types.web }, garbage);
      expect(findTrailerError(web.headers)).toMatchObject({ code: Code.Unimplemented });
      const text = await post({ ":path": path, "content-type": textType }, garbage);
      expect(findTrailerError(text.headers)).toMatchObject({ code: Code.Unimplemented });
      expect(text.headers.get("content-type")).toBe(textType);
      const other = await http1({ port, path, method: "POST" });
      expect([other.status, JSON.parse(other.body).error.code]).toEqual([404, "not_found"]);
    }
  });

  it("another method than POST is 405", async () => {
    const get = await http1({ port, path: chat });
    expect([get.status, get.headers.allow]).toEqual([405, "POST"]);
  });

  it.each(["text/plain", "text", ""])(
    "another type is 415 that names those of the method: %j",
    async (type) => {
      const headers = { "content-type": type, authorization: "Bearer me" };
      const text = await http1({ port, path: complete, method: "POST", headers }, "hi");
      expect(text.status).toBe(415);
      expect(text.headers["x-request-id"]).toBeTruthy();
      const { error } = JSON.parse(text.body);
      expect(error.code).toBe("unsupported_media_type");
      expect(error.message).toBe(
        "this method takes application/json, application/proto, application/grpc, " +
          "application/grpc-web, application/grpc-web-text",
      );
      const other = await http1({ port, path: chat, method: "POST", headers }, "hi");
      expect(JSON.parse(other.body).error.message).toMatch(/ application\/connect\+json, /);
    },
  );

  it("another charset is 415 that says so, also beside a type that is served", async () => {
    const headers = { authorization: "Bearer me", "content-type": "application/json; charset=x" };
    const answer = await http1({ port, path: complete, method: "POST", headers }, "{}");
    expect(answer.status).toBe(415);
    expect(JSON.parse(answer.body).error.message).toMatch(
      /^the charset has to be UTF-8; this method takes application\/json, /,
    );
  });

  it.each(["text/plain", "text", ""])("without a token, another type is 401: %j", async (type) => {
    const headers = { "content-type": type };
    const answer = await http1({ port, path: complete, method: "POST", headers }, "hi");
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: "invalid_token" } });
  });

  it.each([
    ["announced", {}],
    ["unannounced", { "transfer-encoding": "chunked" }],
  ])("a large body over HTTP/1 gets its answer, %s", async (_, more) => {
    const headers = { "content-type": "application/json", authorization: "Bearer me", ...more };
    const options = { port, path: complete, method: "POST", headers };
    const answer = await http1(options, Buffer.alloc(5 * 1024 * 1024, "x"));
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([429, "resource_exhausted"]);
  });

  it("Connect JSON answers in the contract's names, and says zeros", async () => {
    const headers = { "content-type": "application/json", authorization: "Bearer me" };
    const answer = await http1(
      { port, path: complete, method: "POST", headers },
      JSON.stringify({ ...hello, unknown: { deep: [] }, __proto__: { polluted: true } }),
    );
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({
      usage: { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 },
      usage_estimated: false,
      choices: [{ index: 0, finish_reason: "stop", message: { content: "x" } }],
    });
  });

  it("a fault of the door's own is in the log", async () => {
    const errors: object[] = [];
    const fault = new Error("secret");
    const { post } = await serve(scripted({ chat: says("x") }), {
      parts: { log: { ...silent, error: (fields) => errors.push(fields) } },
      doors: {
        baseUrlOf() {
          throw fault;
        },
      },
    });
    const answer = await post(complete, hello);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("secret");
    expect(errors).toEqual([{ err: fault, id: answer.headers.get("x-request-id") }]);
  });

  it.each(["HTTP/1.0\r\n", "HTTP/1.1\r\nhost:\r\nconnection: close\r\n"])(
    "no host need be said: %j",
    async (head) => {
      const body = JSON.stringify(hello);
      const own = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
      const socket = tcp(port);
      socket.write(`POST ${complete} ${head}authorization: Bearer me\r\n${own}\r\n${body}`);
      expect(await ended(socket)).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  it("a host that can't be one is refused", async () => {
    const answer = await http1({ port, path: complete, method: "POST", headers: { host: "a b[" } });
    expect(answer.status).toBe(400);
  });
});
