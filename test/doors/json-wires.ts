/** Calls of `ChatService` as JSON written by hand, over every protocol that has such a form. */
import { connect } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFromJson, errorFromJson } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { onTrailers } from "../support/grpc-trailers.js";

/** What a caller is told. */
export interface Told {
  /** `ok`, or the error's code. */
  readonly code: string;
  readonly message?: string;
  readonly param?: string | undefined;
  /** `field: what is allowed`. */
  readonly fields?: readonly string[];
  /** The message of an answer, as JSON; of a stream the first one. */
  readonly json?: string;
  /** Of the answer; absent over gRPC. */
  readonly headers?: Headers;
}

/** One form. */
export interface JsonWire {
  readonly name: string;
  readonly type: string;
  /** Whether the message stands in an envelope. */
  readonly enveloped: boolean;
  /** The header that says how a message is compressed. */
  readonly encoding: string;
  /** Sends a body as it is. */
  send(url: string, body: Uint8Array, headers: Record<string, string>): Promise<Told>;
}

/** A call with a message that is no text yet to be put into an envelope. */
export const ask = (
  wire: JsonWire,
  url: string,
  json: string,
  headers: Record<string, string> = {},
): Promise<Told> => {
  const bytes = new TextEncoder().encode(json);
  return wire.send(url, wire.enveloped ? encodeEnvelope(0, bytes) : bytes, {
    authorization: "Bearer me",
    ...headers,
  });
};

function told(error: ConnectError): Told {
  const [info] = error.findDetails(ErrorInfoSchema);
  const fields = error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => `${field}: ${description}`);
  return {
    code: info?.reason ?? `without details: ${Code[error.code]}`,
    message: error.rawMessage,
    param: info?.metadata.param,
    fields,
  };
}

const post = (url: string, path: string, type: string, body: Uint8Array, headers: object) =>
  fetch(`${url}/lintel.v1.ChatService/${path}`, {
    method: "POST",
    headers: { "content-type": type, ...headers },
    body,
  });

/** The frames of an answer. */
function framesOf(bytes: Buffer): { last: boolean; data: Buffer }[] {
  const frames = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    frames.push({ last: (bytes[at] ?? 0) > 1, data: bytes.subarray(at + 5, end) });
    at = end;
  }
  return frames;
}

/** @param errorIn the error in the last frame, if it has one */
async function framed(
  response: Response,
  errorIn: (data: Uint8Array) => ConnectError | undefined,
): Promise<Told> {
  const { headers } = response;
  const frames = framesOf(Buffer.from(await response.arrayBuffer()));
  const end = frames.find(({ last }) => last);
  if (response.status !== 200 || !end) throw new Error(`no RPC answer: ${response.status}`);
  const error = errorIn(end.data);
  return error ? { ...told(error), headers } : { code: "ok", json: `${frames[0]?.data}`, headers };
}

const connectUnary: JsonWire = {
  name: "Connect, unary",
  type: "application/json",
  enveloped: false,
  encoding: "content-encoding",
  async send(url, body, headers) {
    const response = await post(url, "Complete", this.type, body, headers);
    const json = await response.text();
    if (response.status === 200) return { code: "ok", json, headers: response.headers };
    const fallback = new Error(json) as ConnectError;
    const error = errorFromJson(JSON.parse(json), undefined, fallback);
    return { ...told(error), headers: response.headers };
  },
};

const connectStream: JsonWire = {
  name: "Connect, streamed",
  type: "application/connect+json",
  enveloped: true,
  encoding: "connect-content-encoding",
  async send(url, body, headers) {
    const response = await post(url, "Chat", this.type, body, headers);
    return framed(response, (data) => endStreamFromJson(data).error);
  },
};

const web: JsonWire = {
  name: "gRPC-Web",
  type: "application/grpc-web+json",
  enveloped: true,
  encoding: "grpc-encoding",
  async send(url, body, headers) {
    const response = await post(url, "Complete", this.type, body, headers);
    return framed(response, (data) => findTrailerError(trailerParse(data)));
  },
};

const grpc: JsonWire = {
  name: "gRPC",
  type: "application/grpc+json",
  enveloped: true,
  encoding: "grpc-encoding",
  send(url, body, headers) {
    const client = connect(url);
    const stream = client.request({
      ":method": "POST",
      ":path": "/lintel.v1.ChatService/Chat",
      "content-type": this.type,
      te: "trailers",
      ...headers,
    });
    const parts: Buffer[] = [];
    const trailers = new Headers();
    return new Promise<Told>((resolve, reject) => {
      stream.on("data", (part: Buffer) => parts.push(part));
      onTrailers(stream, (all) => {
        for (const [name, value] of Object.entries(all)) trailers.set(name, String(value));
      });
      stream.on("error", reject);
      stream.on("close", () => {
        if (!trailers.has("grpc-status")) reject(new Error("no gRPC answer"));
        const error = findTrailerError(trailers);
        const json = `${framesOf(Buffer.concat(parts))[0]?.data}`;
        resolve(error ? told(error) : { code: "ok", json });
      });
      stream.end(body);
    }).finally(() => client.destroy());
  },
};

/** All of them. */
export const jsonWires: readonly JsonWire[] = [connectUnary, connectStream, web, grpc];
