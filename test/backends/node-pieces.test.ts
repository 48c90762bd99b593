/** Messages of a node that come in pieces. */
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LLMResponseSchema } from "../../gen/lintel/v1/chat_pb.js";
import { Peer } from "../../src/backends/node/peer.js";
import { WholeMessages } from "../../src/backends/node/whole-messages.js";
import { chatRequest } from "./openai-subject.js";
import { callOf } from "./subject.js";

const message = (length: number, fill = 7): Buffer => {
  const bytes = Buffer.alloc(5 + length, fill);
  bytes[0] = 0;
  bytes.writeUInt32BE(length, 1);
  return bytes;
};

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function pieces(bytes: Buffer, size: number, largest = 1_000_000): Promise<Uint8Array[]> {
  const handed: Uint8Array[] = [];
  for await (const piece of new WholeMessages(cut(bytes, size), largest)) handed.push(piece);
  return handed;
}

it.each([1, 2, 3, 5, 7, 100, 1000])("are handed on whole, cut after %i bytes", async (size) => {
  const all = [message(0), message(1), message(40), message(0), message(300), message(6)];
  const handed = await pieces(Buffer.concat(all), size);
  expect(Buffer.concat(handed)).toEqual(Buffer.concat(all));
  const ends = all.map((_, i) => Buffer.concat(all.slice(0, i + 1)).length);
  let end = 0;
  for (const { length } of handed) {
    end += length;
    expect(ends).toContain(end);
  }
});

it("are one piece for the library, which adds all of them up with each", async () => {
  const all = Buffer.concat([message(100_000), message(3)]);
  expect((await pieces(all, 1)).map(({ length }) => length)).toEqual([100_005, 8]);
});

it("are handed on as they are where the stream ends in one, or one is too large", async () => {
  const all = Buffer.concat([message(10), message(50)]);
  expect((await pieces(all.subarray(0, 40), 4)).map(({ length }) => length)).toEqual([15, 25]);
  expect((await pieces(all, 5, 49)).map(({ length }) => length).slice(0, 2)).toEqual([15, 5]);
});

/** A node that does with each call what a test wants. */
async function node(answer: (stream: ServerHttp2Stream) => void): Promise<Peer> {
  const server = createServer().on("stream", answer);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const peer = new Peer({
    address,
    pingIntervalMs: 60_000,
    connectMs: 60_000,
    checksSafety: () => true,
  });
  onTestFinished(() => {
    peer.close();
    server.close();
  });
  return peer;
}

async function modelsSaid(peer: Peer): Promise<string[]> {
  const models: string[] = [];
  for await (const batch of peer.handlers.chat?.(callOf("chat", chatRequest())) ?? []) {
    for (const { model } of batch) models.push(model);
  }
  return models;
}

it("end the stream where one is too large", async () => {
  let ended = false;
  const peer = await node((stream) => {
    stream.on("error", () => {});
    stream.on("close", () => {
      ended = true;
    });
    stream.respond({ "content-type": "application/grpc" });
    // A gibibyte, says the first one; the node never ends by itself.
    stream.write(Buffer.of(0, 0x40, 0, 0, 0, 1, 2, 3));
  });
  await expect(modelsSaid(peer)).rejects.toThrow();
  await expect.poll(() => ended).toBe(true);
});

it("are whole for the library when a node sends them byte by byte", async () => {
  const answer = create(LLMResponseSchema, { model: "m".repeat(1000) });
  const body = toBinary(LLMResponseSchema, answer);
  const head = message(body.length).subarray(0, 5);
  const peer = await node(async (stream) => {
    stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    for (const byte of [...head, ...body]) {
      stream.write(Buffer.of(byte));
      await setImmediate();
    }
    stream.end();
  });
  const { reduce } = Array.prototype;
  let added = 0;
  const sum = vi.spyOn(Array.prototype, "reduce").mockImplementation(function (
    this: unknown[],
    ...how
  ) {
    if (this[0] instanceof Uint8Array) added = Math.max(added, this.length);
    return reduce.apply(this, how);
  });
  onTestFinished(() => {
    sum.mockRestore();
  });
  expect(await modelsSaid(peer)).toEqual([answer.model]);
  // As many as are made one where they are collected.
  expect(added).toBeLessThanOrEqual(256);
});

describe("what is not the answer that it should be is no refusal of the request", () => {
  const half = message(40).subarray(0, 20);
  const whole = Buffer.concat([message(0), message(0)]);
  const lost = {
    code: "upstream_unreachable",
    message: "the connection to the model server was lost",
  };
  const unreadable = {
    code: "upstream_failed",
    message: "the model server answered with something that can't be read",
  };

  it.each([
    ["ends within a message", "complete", half, lost],
    ["ends within a message", "chat", half, lost],
    ["ends within a message's length", "chat", half.subarray(0, 3), lost],
    ["has no message", "complete", Buffer.alloc(0), unreadable],
    ["has two messages", "complete", whole, unreadable],
  ] as const)("%s: %s", async (_, method, body, expected) => {
    const peer = await node((stream) => {
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(body);
    });
    const call = callOf(method, chatRequest());
    const reading = (async () => {
      for await (const _ of peer.handlers[method]?.(call as never) ?? []);
    })();
    await expect(reading).rejects.toMatchObject(expected);
  });
});
