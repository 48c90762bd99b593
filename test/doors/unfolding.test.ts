/** Messages that are small, and unfold to very much: refused by name before they do. */

import { once } from "node:events";
import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, describe, expect, test } from "vitest";
import {
  LLMMessageSchema,
  type LLMRequest,
  LLMRequestSchema,
} from "../../gen/lintel/v1/chat_pb.js";
import { says, scripted } from "../support/scripted.js";
import { serveRpc } from "./rpc-server.js";
import { json, serve } from "./serve.js";

const backend = scripted({ chat: says("x") });
const { url } = await serveRpc([backend], {}, afterAll);
const client = connect(url);
afterAll(() => client.destroy());

/** The status of gRPC or HTTP, and everything that was said with it. */
async function post(headers: Record<string, string>, body: Uint8Array): Promise<string> {
  const stream = client.request({
    ":method": "POST",
    authorization: "Bearer me",
    "accept-encoding": "identity",
    ...headers,
  });
  let said = "";
  const note = (all: object) => {
    said += `${JSON.stringify(all)} `;
  };
  stream.on("response", note).on("trailers", note).setEncoding("utf8");
  stream.on("data", (text: string) => {
    said += text;
  });
  stream.end(body);
  await once(stream, "close");
  // gRPC-Web escapes what it says.
  return said.replace(/%[2-7][0-9A-F]/g, decodeURIComponent);
}

const many = (count: number, field: number) => Buffer.alloc(2 * count, Buffer.from([field, 0]));
const items = (count: number) => JSON.stringify({ messages: Array(count).fill({}) });
const unary = { ":path": "/lintel.v1.ChatService/Complete" };
const grpc = { ...unary, "content-type": "application/grpc" };
const forms: [string, Record<string, string>, (message: Buffer) => Uint8Array][] = [
  ["gRPC", grpc, (m) => encodeEnvelope(0, m)],
  ["gRPC with gzip", { ...grpc, "grpc-encoding": "gzip" }, (m) => encodeEnvelope(1, gzipSync(m))],
  ["gRPC-Web", { ...unary, "content-type": "application/grpc-web" }, (m) => encodeEnvelope(0, m)],
  ["Connect", { ...unary, "content-type": "application/proto" }, (m) => m],
  [
    "Connect with gzip",
    { ...unary, "content-type": "application/proto", "content-encoding": "gzip" },
    gzipSync,
  ],
  [
    "Connect stream",
    { ":path": "/lintel.v1.ChatService/Chat", "content-type": "application/connect+proto" },
    (m) => encodeEnvelope(0, m),
  ],
];

describe.each(forms)("%s", (_, headers, form) => {
  test("items of a list", async () => {
    const said = await post(headers, form(many(10_001, 0x0a)));
    expect(said).toContain("messages: number of items must be at most 10000");
    // As many as are allowed are read, and refused for what they say.
    expect(await post(headers, form(many(10_000, 0x0a)))).toContain("messages[0].role");
  });

  test("entries of a map", async () => {
    const entries = Buffer.alloc(3 * 10_001, Buffer.from([0xda, 0x01, 0]));
    const said = await post(headers, form(entries));
    expect(said).toContain("logit_bias: number of items must be at most 10000");
  });

  test("beside such a list all else is read, and what is wrong there is told", async () => {
    const message = create(LLMMessageSchema, { role: "user", content: "x" });
    const request = create(LLMRequestSchema, { messages: [message], temperature: 9, topP: 9 });
    const stop = many(50_000, 0x42);
    const bytes = Buffer.concat([stop, toBinary(LLMRequestSchema, request), stop]);
    expect(await post(headers, form(bytes))).toContain(
      "temperature: must be from 0 to 2; top_p: must be above 0 and at most 1; stop: number of items must be at most 10000",
    );
    const alone = Buffer.concat([
      stop,
      toBinary(LLMRequestSchema, { ...request, temperature: 1, topP: 1 }),
    ]);
    const said = await post(headers, form(alone));
    expect(said).toContain("stop: number of items must be at most 10000");
    expect(said).not.toContain("messages");
  });

  test("a list that is too long, of items with all their fields", async () => {
    const one = toBinary(
      LLMRequestSchema,
      create(LLMRequestSchema, { messages: [{ role: "a", content: "b" }] }),
    );
    const item = Buffer.concat([one, Buffer.from([0x78, 0])]);
    item[1] = item.length - 2;
    const bytes = Buffer.concat(Array(10_001).fill(item));
    expect(await post(headers, form(bytes))).toContain(
      "messages: number of items must be at most 10000",
    );
  });

  test("such a list is none of the fields in all: what stands behind it is read", async () => {
    const item = Buffer.from([0x0a, 6, 0x0a, 1, 0x61, 0x12, 1, 0x62]);
    const behind = toBinary(LLMRequestSchema, create(LLMRequestSchema, { temperature: 9 }));
    const bytes = Buffer.concat([...Array<Buffer>(10_001).fill(item), many(15_000, 0x78), behind]);
    const said = await post(headers, form(bytes));
    expect(said).toContain("messages: number of items must be at most 10000");
    expect(said).toContain("temperature: must be from 0 to 2");
  });

  test("a list within an item is refused with all else", async () => {
    const parts = many(10_001, 0x2a);
    const { length } = parts;
    const head = Buffer.from([
      0x0a,
      (length & 127) | 128,
      ((length >> 7) & 127) | 128,
      length >> 14,
    ]);
    const other = toBinary(LLMRequestSchema, create(LLMRequestSchema, { temperature: 9 }));
    const said = await post(headers, form(Buffer.concat([head, parts, other])));
    expect(said).toContain("messages.parts: number of items must be at most 10000");
    expect(said).not.toContain("temperature");
  });

  test("fields that are not known, at the top and within", async () => {
    const words = "a message may have at most 40000 fields in all";
    expect(await post(headers, form(many(40_001, 0x78)))).toContain(words);
    const inner = many(40_001, 0x78);
    const length = Buffer.from([
      0x0a,
      (inner.length & 127) | 128,
      ((inner.length >> 7) & 127) | 128,
      inner.length >> 14,
    ]);
    expect(await post(headers, form(Buffer.concat([length, inner])))).toContain(words);
  });

  test("a long text is one field", async () => {
    const message = create(LLMMessageSchema, { role: "user", content: "x".repeat(900_000) });
    const bytes = toBinary(LLMRequestSchema, create(LLMRequestSchema, { messages: [message] }));
    expect(await post(headers, form(Buffer.from(bytes)))).not.toContain("messages");
    expect((backend.asked.at(-1) as LLMRequest).messages[0]?.content).toHaveLength(900_000);
  });
});

test("the second message of a call that should have one", async () => {
  const second = encodeEnvelope(1, gzipSync(many(10_001, 0x0a)));
  const body = Buffer.concat([encodeEnvelope(0, Buffer.alloc(0)), second]);
  const said = await post({ ...grpc, "grpc-encoding": "gzip" }, body);
  expect(said).toContain("messages: number of items must be at most 10000");
});

test.each([
  "/grpc.health.v1.Health/Check",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
])("%s, which needs no token, takes small messages only", async (path) => {
  const headers = { ":path": path, "content-type": "application/grpc" };
  expect(await post(headers, encodeEnvelope(0, many(2049, 0x78)))).toContain('"grpc-status":"8"');
  expect(await post(headers, encodeEnvelope(0, many(2048, 0x78)))).toContain('"grpc-status":"0"');
});

test.each([
  ["Connect JSON", { "content-type": "application/json" }, (text: string) => Buffer.from(text)],
  [
    "Connect JSON with gzip",
    { "content-type": "application/json", "content-encoding": "gzip" },
    gzipSync,
  ],
])("%s", async (_, headers, form) => {
  const said = await post({ ...unary, ...headers }, form(items(10_001)));
  expect(said).toContain("messages: number of items must be at most 10000");
  expect(await post({ ...unary, ...headers }, form(items(10_000)))).toContain("messages[0].role");
});

test.each(["/llm", "/v1/chat/completions", unary[":path"]])(
  "beside a list that is too long, what else is wrong: %s",
  async (path) => {
    const server = await serve(backend);
    const stop = Array(10_001).fill("x");
    const ask = async (more: object) => {
      const text = JSON.stringify({ stop, messages: [{ role: "user", content: "x" }], ...more });
      return path.startsWith("/lintel")
        ? await post({ ...unary, "content-type": "application/json" }, Buffer.from(text))
        : await (await server.post(path, text)).text();
    };
    const words = "stop: number of items must be at most 10000";
    expect(await ask({})).toContain(`"message":"${words}"`);
    expect(await ask({ top_p: "x" })).toContain(
      `"message":"top_p: must be a finite number; ${words}"`,
    );
  },
);

test.each(["/llm", "/v1/chat/completions"])("%s", async (path) => {
  const server = await serve(backend);
  const { detail } = await json(await server.post(path, items(10_001)));
  expect(detail).toEqual([
    {
      loc: ["body", "messages"],
      msg: "number of items must be at most 10000",
      type: "value_error",
    },
  ]);
});
