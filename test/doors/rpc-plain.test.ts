/** Plain gRPC at the level of frames: what no client library sends. */
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { afterAll, describe, expect, it } from "vitest";
import { BadRequestSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import { LintelError } from "../../src/core/errors.js";
import { imageEvent, inlineImage } from "../../src/core/image-events.js";
import { onTrailers } from "../support/grpc-trailers.js";
import { chatModel, imageModel } from "../support/models.js";
import {
  breaksAfter,
  hangsAfter,
  paints,
  piece,
  png,
  says,
  scripted,
} from "../support/scripted.js";
import { hello, serveRpc } from "./rpc-server.js";

/** What the model `breaks` does now. */
let chat = says();
/** What the model of images does now. */
let draw = paints();
const backends = [
  scripted({ chat: says("a", "b") }),
  scripted({ chat: (call) => chat(call) }, [chatModel("breaks")], "broken"),
  scripted({ streamTextToImage: (call) => draw(call) }, [imageModel("draws")], "drawing"),
];
const { url } = await serveRpc(backends, {}, afterAll);
const client = connect(url);
afterAll(() => client.destroy());

const message = encodeEnvelope(0, toBinary(LLMRequestSchema, create(LLMRequestSchema, hello)));

const picture = encodeEnvelope(
  0,
  toBinary(
    TextToImageRequestSchema,
    create(TextToImageRequestSchema, { modelId: "draws", prompt: "a cat" }),
  ),
);

/** Sends parts of a body; gives what came back. */
function post(parts: readonly Uint8Array[], more: Record<string, string> = {}, session = client) {
  const stream = session.request({
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
  onTrailers(stream, (trailers) => Object.assign(came.trailers, trailers));
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

/** What HTTP/2 counts as the size of a list of headers. */
const sizeOf = (headers: object) =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);

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

  /** Trailers of which grpc-java and C-core take 8 KiB in all. */
  async function failing(request: MessageInitShape<typeof LLMRequestSchema>) {
    const bytes = toBinary(LLMRequestSchema, create(LLMRequestSchema, request));
    const answer = await post([encodeEnvelope(0, bytes)]);
    expect(sizeOf(answer.trailers)).toBeLessThan(8192);
    // The connection goes on.
    expect((await post([message])).trailers["grpc-status"]).toBe("0");
    return errorIn(answer);
  }

  it("a conversation full of mistakes is an error that clients can take", async () => {
    const error = await failing({
      messages: Array(9_000).fill({ role: "king", content: "x" }),
      stop: Array(9_000).fill(""),
      temperature: 3,
      maxTokens: 0,
      topP: 2,
      topK: -2,
      seed: -2n,
    });
    expect(error?.code).toBe(Code.InvalidArgument);
    expect(error?.rawMessage).toMatch(/^messages\[0\]\.role: must be one of .*; and \d more$/);
    const fields = error?.findDetails(BadRequestSchema)[0]?.fieldViolations.map((v) => v.field);
    for (const field of ["messages", "stop", "temperature", "max_tokens", "top_p", "top_k", "seed"])
      expect(fields).toContain(field);
  });

  it.each(["%", "\n", "é", "図", "🎨", "\ud83c"])(
    "a model server's endless words, of %j, are an error that clients can take",
    async (character) => {
      const words = character.repeat(5000);
      chat = breaksAfter(
        new LintelError("invalid_fields", words, {
          param: words,
          violations: Array(500).fill({ field: words, message: words }),
          retryAfter: 1.5,
        }),
      );
      const error = await failing({ ...hello, model: "breaks" });
      expect(error?.rawMessage).toMatch(/^(.)\1*…$/su);
      expect(error?.findDetails(BadRequestSchema)[0]?.fieldViolations).not.toEqual([]);
    },
  );

  it("what a call is warned of makes no error larger than clients take", async () => {
    /** Breaks off behind an image that nobody is sent, for the answer comes whole. */
    const said = async (warning: string, words: string) => {
      const violations = Array(500).fill({ field: words, message: words });
      draw = async function* (call) {
        call.warnings.add(warning);
        yield [imageEvent(0, inlineImage(png(7), 7))];
        throw new LintelError("invalid_fields", words, { violations });
      };
      const answer = await post([picture], {
        ":path": "/lintel.v1.TextToImageService/TextToImage",
      });
      expect(errorIn(answer)?.code).toBe(Code.InvalidArgument);
      expect(sizeOf(answer.trailers)).toBeLessThan(8192);
      return answer.trailers["x-lintel-warnings"];
    };
    expect(await said("a little", "words")).toMatch(/^a little/);
    expect(await said("much-".repeat(400), "%".repeat(5000))).toBeUndefined();
  });

  it("a model server that wants to be left alone for ages is an error that clients can take", async () => {
    chat = breaksAfter(new LintelError("invalid_value", "words", { retryAfter: 1e23 }));
    const error = await failing({ ...hello, model: "breaks" });
    expect(error?.code).toBe(Code.InvalidArgument);
    expect(error?.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds).toBe(31_536_000n);
  });

  it("an answer that can't be encoded is an error, and the connection goes on", async () => {
    chat = async function* () {
      yield [piece("a", "stop", [0.5, 1])];
    };
    const asked = create(LLMRequestSchema, { ...hello, model: "breaks" });
    const bytes = encodeEnvelope(0, toBinary(LLMRequestSchema, asked));
    for (const method of ["Chat", "Complete"]) {
      const answer = await post([bytes], { ":path": `/lintel.v1.ChatService/${method}` });
      expect(errorIn(answer)?.code).toBe(Code.Internal);
    }
    expect((await post([message])).trailers["grpc-status"]).toBe("0");
  });

  const broken = { ...hello, model: "breaks" };
  const inBytes = toBinary(LLMRequestSchema, create(LLMRequestSchema, broken));
  const inJson = Buffer.from(JSON.stringify(broken));
  it.each([
    ["plain", "application/grpc", inBytes],
    ["by the library", "application/grpc+json", inJson],
  ])("large answers that nobody reads leave room for others: %s", async (_, type, asked) => {
    const text = "a".repeat(30 * 1024 * 1024);
    chat = says(text);
    const own = connect(url);
    const large = Array.from({ length: 5 }, () => {
      const stream = own.request({
        ":method": "POST",
        ":path": "/lintel.v1.ChatService/Complete",
        "content-type": type,
        authorization: "Bearer me",
      });
      return stream.end(encodeEnvelope(0, asked)) as typeof stream;
    });
    await Promise.all(large.map((stream) => once(stream, "response")));
    expect((await post([message], {}, own)).trailers["grpc-status"]).toBe("0");
    let bytes = 0;
    for await (const part of large[0] ?? []) bytes += part.length;
    expect(bytes).toBeGreaterThan(text.length);
    // Outside of the read that brought the last of it: Node 20 corrupts its memory there.
    await setImmediate();
    own.destroy();
  });

  it("takes a message as large as is allowed", async () => {
    const saying = (letters: number) => {
      const messages = [{ role: "user", content: "x".repeat(letters) }];
      return toBinary(LLMRequestSchema, create(LLMRequestSchema, { messages }));
    };
    const most = 1024 * 1024;
    const largest = saying(2 * most - saying(most).length);
    expect(largest).toHaveLength(most);
    expect((await post([encodeEnvelope(0, largest)])).trailers["grpc-status"]).toBe("0");
  });

  it("takes a message in however many pieces", async () => {
    const pieces = [...message].map((byte) => Uint8Array.of(byte));
    expect((await post(pieces)).trailers["grpc-status"]).toBe("0");
  });

  it.each([
    ["no message", [], Code.Unimplemented],
    ["two messages", [message, message], Code.Unimplemented],
    ["the begin of a second one", [message, Uint8Array.of(0)], Code.Unimplemented],
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

  it.each([
    {},
    // Of two the shorter one counts.
    { "x-request-timeout-ms": "60000" },
  ])("a deadline that passes ends the call, beside %j", async (more) => {
    const hanging = hangsAfter("x");
    const server = await serveRpc([scripted({ chat: hanging.handle })]);
    const own = connect(server.url);
    const stream = own.request({
      ":method": "POST",
      ":path": "/lintel.v1.ChatService/Chat",
      "content-type": "application/grpc",
      authorization: "Bearer me",
      "grpc-timeout": "50m",
      ...more,
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

  it.each([
    ["NGHTTP2_CANCEL", constants.NGHTTP2_CANCEL],
    ["NGHTTP2_INTERNAL_ERROR", constants.NGHTTP2_INTERNAL_ERROR],
  ])("a client that resets its stream ends the work for it: %s", async (_, code) => {
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
    stream.close(code);
    await hanging.aborted;
    own.destroy();
  });
});
