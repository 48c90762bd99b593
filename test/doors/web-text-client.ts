/** A client of gRPC-Web as text: connect-node's for the binary form, with base64 on the wire. */
import type { Transport } from "@connectrpc/connect";
import type { UniversalClientFn } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-grpc-web";
import { createNodeHttpClient } from "@connectrpc/connect-node";

/** Type of requests and answers. */
export const textType = "application/grpc-web-text";

/** Over HTTP/1. */
export function createWebTextTransport(baseUrl: string): Transport {
  return createTransport({
    baseUrl,
    httpClient: inText(createNodeHttpClient({ httpVersion: "1.1" })),
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 1024,
    readMaxBytes: 0xffffffff,
    writeMaxBytes: 0xffffffff,
  });
}

function inText(client: UniversalClientFn): UniversalClientFn {
  return async (request) => {
    const header = new Headers(request.header);
    header.set("content-type", textType);
    header.set("accept", textType);
    const body = request.body && encoded(request.body);
    const response = await client({ ...request, header, ...(body && { body }) });
    const type = response.header.get("content-type");
    if (type !== `${textType}+proto`) throw new Error(`an answer of type ${type}`);
    return { ...response, body: decoded(response.body) };
  };
}

async function* encoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const part of body) yield Buffer.from(Buffer.from(part).toString("base64"));
}

async function* decoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let text = "";
  for await (const part of body) {
    text += Buffer.from(part).toString("latin1");
    const whole = text.length - (text.length % 4);
    yield bytesOf(text.slice(0, whole));
    text = text.slice(whole);
  }
  if (text) throw new Error("the answer ends within four letters");
}

/** Bytes of base64 that may be padded after any four letters, as the `grpc-web` package reads it. */
export function bytesOf(text: string): Buffer {
  const fours = text.match(/[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/][A-Za-z0-9+/=])/g) ?? [];
  if (fours.join("") !== text) throw new Error("no base64");
  return Buffer.concat(fours.map((four) => Buffer.from(four, "base64")));
}
