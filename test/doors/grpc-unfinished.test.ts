/** Large messages that come to no end, on one connection: what is kept of them is bounded. */
import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { mostKept, uncounted } from "../../src/doors/rpc/edge/unfinished.js";
import { says, scripted } from "../support/scripted.js";
import { hello, serveRpc } from "./rpc-server.js";

const MiB = 1024 * 1024;

test("further ones wait, small ones do not, and all come to their end", async () => {
  const backend = scripted({ chat: says("Hi") });
  const { url } = await serveRpc([backend]);
  const client = connect(url, { maxSessionMemory: 200 });
  onTestFinished(() => client.destroy());
  const content = "x".repeat(MiB - 1000);
  const large = encodeEnvelope(
    0,
    toBinary(LLMRequestSchema, create(LLMRequestSchema, { messages: [{ role: "user", content }] })),
  );
  const small = encodeEnvelope(0, toBinary(LLMRequestSchema, create(LLMRequestSchema, hello)));
  const status = new Map<ClientHttp2Stream, unknown>();
  const open = () => {
    const stream = client.request({
      ":method": "POST",
      ":path": "/lintel.v1.ChatService/Complete",
      "content-type": "application/grpc",
      authorization: "Bearer me",
    });
    stream.resume().on("trailers", (all) => status.set(stream, all["grpc-status"]));
    return stream;
  };
  const streams = Array.from({ length: 60 }, () => {
    const stream = open();
    stream.write(large.subarray(0, -1));
    return stream;
  });
  // In each of these rounds the others send a window more, as long as they may.
  for (let before = -Infinity; client.socket.bytesWritten - before > uncounted; ) {
    before = client.socket.bytesWritten;
    for (let round = 0; round < 50; round++) {
      const one = open();
      one.end(small);
      await once(one, "close");
      expect(status.get(one)).toBe("0");
    }
  }
  // Of a stream that waits two windows may be on the way, and the first one is read whole.
  const most = mostKept + 60 * 2 * uncounted + MiB;
  expect(client.socket.bytesWritten).toBeGreaterThan(mostKept);
  expect(client.socket.bytesWritten).toBeLessThan(most);
  // The first comes to its end, and makes room for the next.
  for (const stream of streams) stream.end(large.subarray(-1));
  await vi.waitFor(
    () => expect(streams.map((one) => status.get(one))).toEqual(streams.map(() => "0")),
    10_000,
  );
  expect(backend.asked.length).toBeGreaterThan(60);
});
