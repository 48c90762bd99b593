/** Large bodies that come to no end, on one connection: what is kept of them is bounded. */
import { EventEmitter, once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { mostKept, Unfinished, uncounted } from "../../src/doors/unfinished.js";
import { startLintel } from "../support/lintel.js";
import { hangsAfter, says, scripted } from "../support/scripted.js";

const MiB = 1024 * 1024;

const ask = (content: string) => ({ messages: [{ role: "user", content }] });
const json = (content: string) => Buffer.from(JSON.stringify(ask(content)));
const message = (content: string) =>
  encodeEnvelope(0, toBinary(LLMRequestSchema, create(LLMRequestSchema, ask(content))));
const service = "/lintel.v1.ChatService/Complete";

test.each<[string, string, string, (content: string) => Uint8Array]>([
  ["gRPC", service, "application/grpc", message],
  ["gRPC by the library", service, "application/grpc-web+proto", message],
  ["Connect", service, "application/json", json],
  ["REST", "/llm", "application/json", json],
  ["OpenAI", "/v1/chat/completions", "application/json", json],
])(
  "further ones wait, small ones do not, and all come to their end: %s",
  async (_, path, type, body) => {
    const backend = scripted({ chat: says("Hi") });
    const lintel = await startLintel([backend]);
    onTestFinished(() => lintel.close());
    const client = connect(lintel.url, { maxSessionMemory: 200 });
    onTestFinished(() => client.destroy());
    const large = body("x".repeat(MiB - 1000));
    const small = body("Hello");
    const answered = new Set<ClientHttp2Stream>();
    const open = () => {
      const stream = client.request({
        ":method": "POST",
        ":path": path,
        "content-type": type,
        authorization: "Bearer me",
      });
      let head: Record<string, unknown> = {};
      stream.on("response", (all) => {
        head = all;
      });
      let text = "";
      stream.on("data", (part) => {
        text += part;
      });
      // Each protocol has its answer in it as letters.
      stream.on(
        "close",
        () => head[":status"] === 200 && text.includes("Hi") && answered.add(stream),
      );
      return stream;
    };
    const streams = Array.from({ length: 60 }, () => {
      const stream = open();
      stream.write(large.subarray(0, -1));
      return stream;
    });
    // In each of these rounds the others send a window more, as long as they may. What goes between takes less than 1 KiB each.
    let between = 0;
    for (let before = -Infinity; client.socket.bytesWritten - before > uncounted; ) {
      before = client.socket.bytesWritten;
      between += 50 * 1024;
      for (let round = 0; round < 50; round++) {
        const one = open();
        one.end(small);
        await once(one, "close");
        expect(answered.has(one)).toBe(true);
      }
    }
    // Of a stream that waits two windows may be on the way, and one in Node's request since 22; the
    // first one is read whole.
    const most = mostKept + 60 * 3 * uncounted + MiB + between;
    expect(client.socket.bytesWritten).toBeGreaterThan(mostKept);
    expect(client.socket.bytesWritten).toBeLessThan(most);
    // The first comes to its end, and makes room for the next.
    for (const stream of streams) stream.end(large.subarray(-1));
    await vi.waitFor(() => expect(streams.filter((one) => !answered.has(one))).toEqual([]));
    expect(backend.asked.length).toBeGreaterThan(60);
  },
);

test.each<[string, string, string, (content: string) => Uint8Array]>([
  ["gRPC", service, "application/grpc", message],
  ["REST", "/llm", "application/json", json],
])(
  "a body that is whole is none of them, however long its answer takes: %s",
  async (_, path, type, body) => {
    const { handle } = hangsAfter();
    const backend = scripted({ chat: handle });
    const lintel = await startLintel([backend]);
    onTestFinished(() => lintel.close(0));
    const client = connect(lintel.url, { maxSessionMemory: 200 });
    onTestFinished(() => client.destroy());
    const large = body("x".repeat(MiB - 1000));
    const count = 2 + mostKept / MiB;
    for (let i = 0; i < count; i++) {
      const stream = client.request({
        ":method": "POST",
        ":path": path,
        "content-type": type,
        authorization: "Bearer me",
      });
      stream.on("error", () => {});
      stream.end(large);
    }
    await vi.waitFor(() => expect(backend.asked).toHaveLength(count));
  },
);

test("of one that ended without its body nothing is kept: others go on", () => {
  const source = () => {
    const it = Object.assign(new EventEmitter(), { pause: vi.fn(), resume: vi.fn() });
    return it;
  };
  const [first, second, third] = [source(), source(), source()];
  const unfinished = new Unfinished();
  unfinished.keeps(first, mostKept);
  unfinished.keeps(second, 1);
  expect(second.pause).toHaveBeenCalled();
  first.emit("close");
  expect(second.resume).toHaveBeenCalled();
  unfinished.keeps(third, mostKept - 1);
  expect(third.pause).not.toHaveBeenCalled();
});
