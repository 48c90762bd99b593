/** gRPC-Web as text, byte by byte: what the `grpc-web` package sends and reads. */
import { randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError, createContextValues } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { afterAll, describe, expect, it } from "vitest";
import { LLMRequestSchema, LLMResponseSchema } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { inWebForm } from "../../src/doors/rpc/web-text.js";
import { http2, session } from "../server/serve.js";
import { never } from "../support/calls.js";
import { piece, says, scripted } from "../support/scripted.js";
import { hello, serveRpc } from "./rpc-server.js";
import { bytesOf, textType } from "./web-text-client.js";

let chat: Handle<"chat"> = says("x");
const backend = scripted({ chat: (call) => chat(call) });
const { url, port } = await serveRpc([backend], { door: { bodyLimit: 2000 } }, afterAll);

const streamed = "/lintel.v1.ChatService/Chat";
const whole = "/lintel.v1.ChatService/Complete";

/** What the package sends besides the token. */
const headers = {
  "content-type": textType,
  accept: textType,
  "x-grpc-web": "1",
  "x-user-agent": "grpc-web-javascript/0.1",
};
const me = { authorization: "Bearer me" };

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const message = (content = "Hello") =>
  toBinary(LLMRequestSchema, create(LLMRequestSchema, { messages: [{ role: "user", content }] }));
const envelope = (content?: string) => encodeEnvelope(0, message(content));

/** One request over HTTP/1 whose body comes in these parts; resolves with the begin of the answer. */
function begin(
  path: string,
  body: readonly (string | Uint8Array)[],
  more: Record<string, string> = me,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { port, path, method: "POST", headers: { ...headers, ...more } };
    const request = httpRequest(options, resolve);
    request.on("error", reject).setNoDelay(true);
    void (async () => {
      for (const part of body) await new Promise((sent) => request.write(part, () => sent(0)));
      request.end();
    })();
  });
}

/** The frames of an answer, told by their flags. */
function framesOf(bytes: Buffer): { flags: number; data: Buffer }[] {
  const frames: { flags: number; data: Buffer }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    frames.push({ flags: bytes.readUInt8(at), data: bytes.subarray(at + 5, end) });
    at = end;
  }
  return frames;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of answer.setEncoding("latin1")) text += part;
  return text;
}

/** Messages of an answer, and how its trailers say that it ended. */
function read(bytes: Buffer): { said: string; error: ConnectError | undefined } {
  const frames = framesOf(bytes);
  const last = frames.pop();
  expect(last?.flags).toBe(trailerFlag);
  const messages = frames.map(({ data }) => fromBinary(LLMResponseSchema, data).choices[0]);
  return {
    said: messages.map((choice) => (choice?.delta ?? choice?.message)?.content).join(""),
    error: last && findTrailerError(trailerParse(last.data)),
  };
}

const ask = async (...asked: Parameters<typeof begin>) => {
  const answer = await begin(...asked);
  expect([answer.statusCode, answer.headers["content-type"]]).toEqual([200, `${textType}+proto`]);
  return read(bytesOf(await textOf(answer)));
};

describe("requests", () => {
  const bytes = envelope();
  const one = base64(bytes);
  /** The prefix, then the message: padded in the middle. */
  const two = base64(bytes.subarray(0, 5)) + base64(bytes.subarray(5));

  it.each([
    ["in one piece", [one]],
    ["letter by letter", [...one]],
    ["padded in the middle", [two]],
    ["padded in the middle, letter by letter", [...two]],
    ["byte by byte, each padded", [...bytes].map((byte) => base64(Uint8Array.of(byte)))],
    ["in lines", [`${one.slice(0, 7)}\r\n${one.slice(7)}\n`]],
  ])("%s", async (_, body) => {
    chat = says("Hel", "lo");
    const asked = backend.asked.length;
    expect(await ask(whole, body)).toEqual({ said: "Hello", error: undefined });
    expect(backend.asked[asked]).toMatchObject(hello);
  });

  it.each([
    ["another letter", `${one.slice(0, 8)}*${one.slice(9)}`],
    ["what is not ASCII", `${one.slice(0, 8)}é${one.slice(9)}`],
    ["cut off", one.slice(0, -1)],
    ["a padding that is no end of four", `A=AA${one}`],
    ["too much of a padding", `${two}====`],
    ["bytes as they are", bytes],
  ])("%s is invalid_argument, or unauthenticated first", async (_, body) => {
    const { error } = await ask(whole, [body]);
    expect(error).toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: "the body is not valid base64",
    });
    expect((await ask(whole, [body], {})).error?.code).toBe(Code.Unauthenticated);
  });

  it("base64 of no message that can be read", async () => {
    for (const bytes of [encodeEnvelope(0, Uint8Array.of(0xff, 0xff)), envelope().subarray(0, 9)]) {
      expect((await ask(streamed, [base64(bytes)])).error?.code).toBe(Code.InvalidArgument);
    }
  });

  it("the limit counts bytes of the message, not letters", async () => {
    chat = says("x");
    const most = "x".repeat(1980);
    expect(base64(envelope(most)).length).toBeGreaterThan(2600);
    expect(await ask(whole, [base64(envelope(most))])).toEqual({ said: "x", error: undefined });
    for (const size of [2000, 1_000_000]) {
      const { error } = await ask(whole, [base64(envelope("x".repeat(size)))]);
      expect(error?.code).toBe(Code.ResourceExhausted);
    }
  });
});

describe("answers", () => {
  it("a message leaves when it is there, padded, and the trailers last", async () => {
    let go = () => {};
    const gate = () =>
      new Promise<void>((resolve) => {
        go = resolve;
      });
    chat = async function* () {
      for (const text of ["a", "bb", "ccc"]) {
        const seen = gate();
        yield [piece(text)];
        await seen;
      }
      yield [piece("", "stop", [7, 3])];
    };
    const answer = await begin(streamed, [base64(envelope())]);
    const pieces: string[] = [];
    for await (const part of answer.setEncoding("latin1")) {
      // Whatever has come can be read to its end: the client need not wait for more.
      for (const { flags, data } of framesOf(bytesOf(part))) {
        const content = () => fromBinary(LLMResponseSchema, data).choices[0]?.delta?.content;
        pieces.push(flags === trailerFlag ? data.toString() : (content() ?? ""));
      }
      go();
    }
    expect(pieces.slice(0, 4)).toEqual(["a", "bb", "ccc", ""]);
    expect(pieces[4]).toMatch(/^grpc-status: 0\r\n/);
    expect(pieces).toHaveLength(5);
  });

  it("a large message leaves in pieces that are padded at its end only", async () => {
    const large = randomBytes(1_000_000);
    async function* bodyOf(...parts: Uint8Array[]) {
      yield* parts;
    }
    const request = {
      httpVersion: "1.1",
      method: "POST",
      url: `${url}${whole}`,
      header: new Headers(headers),
      signal: never,
      body: bodyOf(),
      contextValues: createContextValues(),
    };
    const header = new Headers({ "content-type": "application/grpc-web+proto" });
    const { body } = await inWebForm(request, async () => ({
      status: 200,
      header,
      body: bodyOf(large, Buffer.from("end")),
    }));
    const pieces: string[] = [];
    for await (const piece of body ?? []) pieces.push(Buffer.from(piece).toString("latin1"));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(100_000);
    expect(pieces.join("")).toBe(base64(large) + base64(Buffer.from("end")));
  });

  it("an error is in the trailers", async () => {
    chat = says("x");
    expect((await ask(streamed, [base64(envelope())], {})).error?.code).toBe(Code.Unauthenticated);
    const { said, error } = await ask(streamed, [base64(encodeEnvelope(0, new Uint8Array()))]);
    expect(said).toBe("");
    expect(error).toMatchObject({ code: Code.InvalidArgument });
    expect(error?.rawMessage).toMatch(/^messages: /);
  });

  const binary = "application/grpc-web+proto";
  it.each([
    ["text, where nothing is accepted by name", textType, "*/*", true],
    ["text with its format and a charset", `${textType}+proto; charset=utf-8`, "", true],
    ["text, but bytes are accepted", textType, "application/grpc-web", false],
    ["bytes, but text is accepted", binary, textType, true],
    ["bytes", binary, binary, false],
  ])("%s", async (_, type, accept, text) => {
    chat = says("Hi");
    const body = type === binary ? envelope() : base64(envelope());
    const answer = await begin(whole, [body], { ...me, "content-type": type, accept });
    expect(answer.headers["content-type"]).toBe(text ? `${textType}+proto` : binary);
    const received = await textOf(answer);
    const bytes = text ? bytesOf(received) : Buffer.from(received, "latin1");
    expect(read(bytes)).toEqual({ said: "Hi", error: undefined });
  });

  it("JSON, and HTTP/2", async () => {
    chat = says("Hi");
    const request = base64(encodeEnvelope(0, Buffer.from(JSON.stringify(hello))));
    const type = `${textType}+json`;
    const asked = { ":method": "POST", ":path": whole, "content-type": type, ...me };
    const answer = await http2(session(url), asked, request);
    expect(answer.headers["content-type"]).toBe(type);
    const [first, last] = framesOf(bytesOf(answer.body));
    expect(JSON.parse(String(first?.data)).choices[0].message.content).toBe("Hi");
    expect(last?.flags).toBe(trailerFlag);
  });
});
