/** Plain gRPC at the level of frames: what no client library sends. */
import { connect, constants } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { afterAll, describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { hangsAfter, says, scripted } from "../support/scripted.js";
import { hello, serveRpc } from "./rpc-server.js";

const { url } = await serveRpc([scripted({ chat: says("a", "b") })], {}, afterAll);
const client = connect(url);
afterAll(() => client.destroy());

const message = encodeEnvelope(0, toBinary(LLMRequestSchema, create(LLMRequestSchema, hello)));

/** Sends parts of a body; gives what came back. */
function post(parts: readonly Uint8Array[], more: Record<string, string> = {}) {
  const stream = client.request({
    ":method": "POST",
    ":path": "/lintel.v1.ChatService/Chat",
    "content-type": "application/grpc",
    authorization: "Bearer me",
    te: "trailers",
    ...more,
  });
  const came: {
    headers: Record<string, unknown>;
    trailers: Record<string, unknown>;
    bytes: number;
  } = { headers: {}, trailers: {}, bytes: 0 };
  stream.on("response", (headers) => Object.assign(came.headers, headers));
  stream.on("trailers", (trailers) => Object.assign(came.trailers, trailers));
  stream.on("data", (part: Buffer) => {
    came.bytes += part.length;
  });
  for (const part of parts) stream.write(part);
  stream.end();
  return new Promise<typeof came>((resolve, reject) => {
    stream.on("error", reject);
    stream.on("close", () => resolve(came));
  });
}

const errorIn = ({ trailers }: { trailers: Record<string, unknown> }) =>
  findTrailerError(new Headers(Object.entries(trailers).map(([k, v]) => [k, String(v)])));

describe("plain gRPC", () => {
  it("answers with the content type that was asked in, and a status in the trailers", async () => {
    for (const type of ["application/grpc", "application/grpc+proto"]) {
      const { headers, trailers, bytes } = await post([message], { "content-type": type });
      expect(headers).toMatchObject({ ":status": 200, "content-type": type });
      expect(headers["x-request-id"]).toEqual(expect.any(String));
      expect(trailers["grpc-status"]).toBe("0");
      expect(bytes).toBeGreaterThan(0);
    }
  });

  it("takes a message in however many pieces", async () => {
    const pieces = [...message].map((byte) => Uint8Array.of(byte));
    expect((await post(pieces)).trailers["grpc-status"]).toBe("0");
  });

  it.each([
    ["no message", [], Code.Unimplemented],
    ["two messages", [message, message], Code.Unimplemented],
    [
      "a compressed message without an encoding",
      [Uint8Array.of(1, 0, 0, 0, 0)],
      Code.InvalidArgument,
    ],
    ["a length without its bytes", [Uint8Array.of(0, 0, 0, 0, 9, 1)], Code.InvalidArgument],
    [
      "more than is allowed",
      [encodeEnvelope(0, Buffer.alloc(1024 * 1024 + 1))],
      Code.ResourceExhausted,
    ],
  ])("%s is an error, once the caller is known", async (_, parts, code) => {
    expect(errorIn(await post(parts))).toMatchObject({ code });
    const stranger = await post(parts, { authorization: "none" });
    expect(errorIn(stranger)).toMatchObject({ code: Code.Unauthenticated });
  });

  it.each(["soon", "1", "123456789S", "-1S", "1h"])(
    "grpc-timeout %s is an error",
    async (given) => {
      const error = errorIn(await post([message], { "grpc-timeout": given }));
      expect(error).toMatchObject({ code: Code.InvalidArgument });
      expect(error?.rawMessage).toMatch(/^grpc-timeout/);
    },
  );

  it.each(["99999999H", "1M", "500S", "86400000m"])(
    "grpc-timeout %s is a deadline",
    async (given) => {
      expect((await post([message], { "grpc-timeout": given })).trailers["grpc-status"]).toBe("0");
    },
  );

  it("a deadline that passes ends the call", async () => {
    const hanging = hangsAfter("x");
    const server = await serveRpc([scripted({ chat: hanging.handle })]);
    const own = connect(server.url);
    const stream = own.request({
      ":method": "POST",
      ":path": "/lintel.v1.ChatService/Chat",
      "content-type": "application/grpc",
      authorization: "Bearer me",
      "grpc-timeout": "50m",
    });
    stream.resume();
    stream.end(message);
    const trailers = await new Promise<Record<string, unknown>>((done) =>
      stream.on("trailers", done),
    );
    expect(trailers["grpc-status"]).toBe(String(Code.DeadlineExceeded));
    await hanging.aborted;
    own.destroy();
  });

  it("a client that resets its stream ends the work for it", async () => {
    const hanging = hangsAfter("x");
    const server = await serveRpc([scripted({ chat: hanging.handle })]);
    const own = connect(server.url);
    const stream = own.request({
      ":method": "POST",
      ":path": "/lintel.v1.ChatService/Chat",
      "content-type": "application/grpc",
      authorization: "Bearer me",
    });
    stream.on("error", () => {});
    stream.end(message);
    await new Promise((first) => stream.once("data", first));
    stream.close(constants.NGHTTP2_CANCEL);
    await hanging.aborted;
    own.destroy();
  });
});
