/** What goes out as protobuf, read byte by byte as a collector reads it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect, onTestFinished, test } from "vitest";
import { coreOf, run } from "../support/core.js";
import { backend, hello } from "../support/routing.js";
import { says } from "../support/scripted.js";
import { otlpTo, telemetryOf } from "./support.js";

/** The bytes of a field in each of some messages. */
const fields = (messages: readonly Uint8Array[], wanted: number): Uint8Array[] =>
  messages.flatMap((bytes) => {
    const reader = new BinaryReader(bytes);
    const found: Uint8Array[] = [];
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === wanted && type === WireType.LengthDelimited) found.push(reader.bytes());
      else reader.skip(type);
    }
    return found;
  });

/** The texts at the end of a way of fields. */
const texts = (body: Uint8Array, ...way: number[]): string[] =>
  way.reduce(fields, [body]).map((bytes) => Buffer.from(bytes).toString("utf8"));

/** A collector that takes protobuf alone, as Phoenix does. @param answer what it says to each export */
async function collector(answer: { type: string; body: Uint8Array }) {
  const came: { url: string | undefined; body: Uint8Array }[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (request.headers["content-type"] !== "application/x-protobuf") {
      response.writeHead(415).end();
      return;
    }
    came.push({ url: request.url, body: Buffer.concat(parts) });
    response.writeHead(200, { "content-type": answer.type }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, came };
}

/** One call with all telemetry to a collector; the log's lines. */
async function told(url: string): Promise<object[]> {
  const lines: object[] = [];
  const note = (line: object, message: string) => void lines.push({ ...line, message });
  const log = { debug() {}, info: note, warn: note, error: note };
  const protocols = { traces: "http/protobuf", metrics: "http/protobuf" } as const;
  const { telemetry, close } = await telemetryOf({ otlp: otlpTo(url, { protocols }) }, log);
  await run(coreOf([backend("a", says("x"))], {}, { telemetry }), "chat", {
    ...hello,
    model: "m",
    temperature: 0.5,
  });
  await close();
  return lines;
}

test("has spans with their attributes, and metrics", async () => {
  const { url, came } = await collector({ type: "application/x-protobuf", body: new Uint8Array() });
  expect(await told(url)).toEqual([]);
  const of = (path: string) => came.find((one) => one.url === path)?.body ?? new Uint8Array();
  const spans = of("/v1/traces");
  // resource_spans, scope_spans, spans, name
  expect(texts(spans, 1, 2, 2, 5)).toEqual(["chat m", "chat m"]);
  // … attributes, key
  expect(texts(spans, 1, 2, 2, 9, 1)).toEqual(
    expect.arrayContaining(["gen_ai.request.temperature", "gen_ai.usage.input_tokens"]),
  );
  // resource, attributes, value, string_value
  expect(texts(spans, 1, 1, 1, 2, 1)).toContain("lintel");
  // resource_metrics, scope_metrics, metrics, name
  expect(texts(of("/v1/metrics"), 1, 2, 2, 1)).toContain("gen_ai.server.request.duration");
});

test("what a collector refuses of it is told with its words", async () => {
  const part = new BinaryWriter()
    .tag(1, WireType.Varint)
    .int64(2)
    .tag(2, WireType.LengthDelimited)
    .string("too old");
  const body = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(part.finish()).finish();
  const { url } = await collector({ type: "application/x-protobuf", body });
  expect(await told(url)).toContainEqual({
    what: "traces",
    rejected: 2,
    said: "too old",
    message: "the collector refuses a part of the telemetry",
  });
});

test("a collector that answers with JSON all the same has taken it", async () => {
  const { url, came } = await collector({
    type: "application/json",
    body: Buffer.from('{"a":{}}'),
  });
  expect(await told(url)).toEqual([]);
  expect(came.map((one) => one.url).sort()).toEqual(["/v1/metrics", "/v1/traces"]);
});
