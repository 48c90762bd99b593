import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageService } from "../../gen/lintel/v1/image_pb.js";
import { ModelsService } from "../../gen/lintel/v1/models_pb.js";
import type { Handle } from "../../src/core/call.js";
import { fromConnectError } from "../../src/core/connect-error.js";
import { LintelError } from "../../src/core/errors.js";
import { tcp } from "../server/serve.js";
import { chatModel, imageModel } from "../support/models.js";
import { breaksAfter, hangsAfter, paints, piece, says, scripted } from "../support/scripted.js";
import { chatOver, hello, me, serveRpc, transportOf, wires } from "./rpc-server.js";

async function failureOf(promise: Promise<unknown>): Promise<ConnectError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(ConnectError);
  return thrown as ConnectError;
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

const often = { interval: 5 };

/** What the shared backend does now. */
let chat: Handle<"chat"> = says("x");
const backend = scripted({ chat: (call) => chat(call), streamTextToImage: paints(1) }, [
  chatModel("chat-1"),
  chatModel("plain-1", { supports: [] }),
  imageModel("image-1"),
]);
const { url, core } = await serveRpc([backend], { door: { bodyLimit: 2000 } }, afterAll);

describe.each(wires)("%s", (wire) => {
  const transport = transportOf(wire, url, afterAll);
  const client = createClient(ChatService, transport);

  it("a whole completion", async () => {
    chat = says("Hel", "lo");
    let headers = new Headers();
    const answer = await client.complete(hello, {
      headers: { ...me.headers, "x-request-id": "my-own.id:1" },
      onHeader: (h) => {
        headers = h;
      },
    });
    expect(answer.choices).toMatchObject([
      { index: 0, finishReason: "stop", message: { role: "assistant", content: "Hello" } },
    ]);
    expect(answer.usage).toMatchObject({ promptTokens: 7, completionTokens: 2, totalTokens: 9 });
    expect(headers.get("x-request-id")).toBe("my-own.id:1");
  });

  it("a stream, with what was dropped in a header", async () => {
    chat = says("a", "b");
    let headers = new Headers();
    const messages = await collect(
      client.chat(
        { ...hello, model: "plain-1", topK: 3 },
        { ...me, onHeader: (h) => (headers = h) },
      ),
    );
    expect(messages.map((m) => m.choices[0]?.delta?.content).join("")).toBe("ab");
    expect(messages.at(-1)?.choices[0]?.finishReason).toBe("stop");
    expect(messages.at(-1)?.usage?.totalTokens).toBe(9);
    expect(headers.get("x-request-id")).toMatch(/^[\w-]{16}$/);
    // nginx collects what it does not know to be a stream.
    expect(headers.get("x-accel-buffering")).toBe(/^gRPC(?!-)/.test(wire) ? null : "no");
    expect(headers.get("x-lintel-warnings")).toMatch(/top_k/);
  });

  it("images", async () => {
    const client = createClient(TextToImageService, transport);
    const request = { prompt: "a circle", includeData: true, seed: 5n };
    const { images } = await client.textToImage(request, me);
    expect(images).toMatchObject([{ seed: 5, nsfw: false, mimeType: "image/png" }]);
    expect(images[0]?.data.length).toBeGreaterThan(50);
    const events = await collect(client.streamTextToImage(request, me));
    expect(events.map((e) => e.event.case)).toEqual(["progress", "image", "done"]);
  });

  it("fields at fault are named", async () => {
    chat = says("x");
    const request = { ...hello, temperature: 3, topP: 0 };
    for (const call of [
      client.complete,
      (r: typeof request, o: typeof me) => collect(client.chat(r, o)),
    ]) {
      const error = await failureOf(call(request, me));
      expect(error.code).toBe(Code.InvalidArgument);
      expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations.map((v) => v.field)).toEqual([
        "temperature",
        "top_p",
      ]);
      expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
        { domain: "lintel", reason: "invalid_fields", metadata: { param: "temperature" } },
      ]);
    }
  });

  it("no token", async () => {
    chat = says("x");
    expect((await failureOf(client.complete(hello))).code).toBe(Code.Unauthenticated);
    expect((await failureOf(collect(client.chat(hello)))).code).toBe(Code.Unauthenticated);
    const basic = { headers: { authorization: "Basic bWU6bWU=" } };
    expect((await failureOf(client.complete(hello, basic))).code).toBe(Code.Unauthenticated);
    await client.complete(hello, { headers: { authorization: "bEaReR  me" } });
  });

  it("a failure after the first message ends the stream with the error, not cleanly", async () => {
    const failing = breaksAfter(new LintelError("upstream_unreachable", "gone"), "a");
    chat = failing;
    const seen: string[] = [];
    const error = await failureOf(
      (async () => {
        for await (const m of client.chat(hello, me)) {
          seen.push(m.choices[0]?.delta?.content ?? "");
        }
      })(),
    );
    expect(seen).toEqual(["a"]);
    expect(fromConnectError(error).code).toBe("upstream_unreachable");
  });

  it("what nobody foresaw is internal, and keeps its words to itself", async () => {
    const failing = breaksAfter(new Error("secret at 10.0.0.1"));
    chat = failing;
    const error = await failureOf(client.complete(hello, me));
    expect(error.code).toBe(Code.Internal);
    expect(JSON.stringify(error) + error.message).not.toContain("secret");
  });

  it.each(["before the first message", "in the middle"])(
    "a client that leaves %s is seen by the backend",
    async (when) => {
      const { handle, aborted } = hangsAfter(...(when === "in the middle" ? ["a"] : []));
      chat = handle;
      const before = backend.asked.length;
      const controller = new AbortController();
      const stream = client.chat(hello, { ...me, signal: controller.signal });
      const done = failureOf(
        (async () => {
          for await (const _ of stream) controller.abort();
        })(),
      );
      if (when !== "in the middle") {
        await expect.poll(() => backend.asked.length, often).toBe(before + 1);
        controller.abort();
      }
      expect((await done).code).toBe(Code.Canceled);
      await aborted;
      await expect.poll(() => core.readiness.running, often).toBe(0);
    },
  );

  it("a client that leaves a unary call is seen by the backend", async () => {
    const { handle, aborted } = hangsAfter("a");
    chat = handle;
    const before = backend.asked.length;
    const controller = new AbortController();
    const done = failureOf(client.complete(hello, { ...me, signal: controller.signal }));
    await expect.poll(() => backend.asked.length, often).toBe(before + 1);
    controller.abort();
    expect((await done).code).toBe(Code.Canceled);
    await aborted;
    await expect.poll(() => core.readiness.running, often).toBe(0);
  });

  it("a message that is too large", async () => {
    chat = says("x");
    const request = { messages: [{ role: "user", content: "x".repeat(100_000) }] };
    for (const call of [
      client.complete,
      (r: typeof request, o: typeof me) => collect(client.chat(r, o)),
    ]) {
      const error = await failureOf(call(request, me));
      expect(error.code).toBe(Code.ResourceExhausted);
      expect(fromConnectError(error).code).toBe("too_large");
      expect(error.rawMessage).toBe("the message is too large: at most 2000 bytes are allowed");
    }
    expect((await failureOf(client.complete(request))).code).toBe(Code.Unauthenticated);
    await client.complete(hello, me);
  });

  it("refused while shutting down", async () => {
    const { url, core } = await serveRpc([scripted({ chat: says("x") })]);
    await core.drain();
    const error = await failureOf(chatOver(wire, url).complete(hello, me));
    expect(fromConnectError(error)).toMatchObject({ code: "unavailable", retryAfter: 5 });
  });
});

it.concurrent.each(wires)(
  "%s: a deadline reaches the backend and comes back as such",
  async (w) => {
    const { handle, aborted } = hangsAfter("a");
    const backend = scripted({ chat: handle });
    const { url } = await serveRpc([backend], {}, afterAll);
    const client = createClient(ChatService, transportOf(w, url, afterAll));
    // On a busy machine a deadline may pass before the backend is asked.
    for (let timeoutMs = 300; backend.asked.length === 0; timeoutMs *= 2) {
      const error = await failureOf(client.complete(hello, { ...me, timeoutMs }));
      expect(error.code).toBe(Code.DeadlineExceeded);
    }
    await aborted;
  },
);

it("lists models", async () => {
  const client = createClient(ModelsService, transportOf("gRPC, binary", url));
  const { models } = await client.listModels({}, me);
  expect(models.map((m) => m.id)).toEqual(["chat-1", "image-1", "plain-1"]);
});

describe("a client that does not read, and then leaves, holds nothing", () => {
  /** Streams without end; tells the test what was let go of. */
  function endless(length = 50_000) {
    const state = { open: 0, taken: 0 };
    const handle = async function* () {
      state.open++;
      try {
        for (;;) {
          yield [piece("x".repeat(length))];
          state.taken++;
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        state.open--;
      }
    };
    /** Resolves when every buffer between is full: for many turns nothing more was taken. */
    const full = async () => {
      for (let turns = 0, taken = -1; turns < 200; turns++) {
        if (state.taken !== taken) turns = 0;
        taken = state.taken;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    return { state, handle, full };
  }

  it.each([
    ["gRPC, binary", 50_000],
    // More than one write each.
    ["gRPC, binary", 200_000],
    ["Connect on HTTP/1, binary", 50_000],
  ] as const)("%s: pieces of %i bytes", async (wire, length) => {
    const { state, handle, full } = endless(length);
    const { url, core } = await serveRpc([scripted({ chat: handle })]);
    const controller = new AbortController();
    const stream = chatOver(wire, url).chat(hello, { ...me, signal: controller.signal });
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    await full();
    expect(core.readiness.running).toBe(1);
    controller.abort();
    await iterator.next().catch(() => {});
    await expect.poll(() => [core.readiness.running, state.open], often).toEqual([0, 0]);
  });

  it("in a pipeline, behind an answer that has not ended", async () => {
    const { state, handle } = endless();
    const first = hangsAfter("a");
    const backend = scripted({
      chat: (call) => (backend.asked.length === 1 ? first.handle(call) : handle()),
    });
    const { port, core } = await serveRpc([backend]);
    const socket = tcp(port);
    const body = encodeEnvelope(0, new TextEncoder().encode(JSON.stringify(hello)));
    const head = [
      "POST /lintel.v1.ChatService/Chat HTTP/1.1",
      "host: localhost",
      "authorization: Bearer me",
      "content-type: application/connect+json",
      `content-length: ${body.length}`,
    ];
    const request = Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
    socket.write(Buffer.concat([request, request]));
    await expect.poll(() => [core.readiness.running, state.open], often).toEqual([2, 1]);
    socket.destroy();
    await first.aborted;
    await expect.poll(() => [core.readiness.running, state.open], often).toEqual([0, 0]);
  });
});
