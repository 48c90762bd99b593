import { mkdtemp, rm } from "node:fs/promises";
import { constants, type ServerHttp2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HandlerContext } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { type TextToImageRequest, TextToImageService } from "../../gen/lintel/v1/image_pb.js";
import { ModelsService, State, Task } from "../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { Handle } from "../../src/core/call.js";
import { toConnectError } from "../../src/core/connect-error.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { startNode } from "../../src/node.js";
import { never } from "../support/calls.js";
import { slowLink } from "../support/slow-link.js";
import { answer, chatRequest, start, tiny } from "./llama-subject.js";
import { chatting, connectTo, piece, serve } from "./node-peer.js";
import { imageRequest } from "./picture.js";
import { callOf } from "./subject.js";

const listed = (backend: Backend) =>
  vi.waitFor(() => expect(backend.models()[0]?.state).toBe(State.READY));

describe("a Lintel node", () => {
  it.each(["port", "socket"])("is reached by its %s", async (way) => {
    const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const running = await startNode({
      models: [tiny],
      listen: way === "port" ? { host: "127.0.0.1", port: 0 } : { path: join(folder, "n.sock") },
      log: silent,
    });
    onTestFinished(() => running.close(0));
    expect(running.models).toEqual(["tiny"]);
    const backend = connectTo(running.url, way === "port" ? { token: "me" } : {});
    await backend.health(never);
    await listed(backend);
    expect(backend.models()).toMatchObject([
      { id: "tiny", task: Task.CHAT, maxTokens: 128, contextLength: 128 },
    ]);
    const { prompt, completion, finishReason } = await answer(backend, chatRequest("hello"));
    expect({ prompt, completion, finishReason }).toEqual({
      prompt: 9,
      completion: 8,
      finishReason: "length",
    });
    const refused = answer(backend, chatRequest("x".repeat(200)));
    await expect(refused).rejects.toMatchObject({ code: "invalid_value", param: "messages" });
    await running.close();
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "upstream_unreachable",
    });
  });
});

describe("any server of the contract", () => {
  it.each(["complete", "chat"] as const)(
    "gets the token, the request id, the deadline, and whether more of the request is made already: %s",
    async (method) => {
      let seen: { header: Headers; timeout: number | undefined } | undefined;
      const note = ({ requestHeader, timeoutMs }: HandlerContext) => {
        seen = { header: requestHeader, timeout: timeoutMs() };
      };
      const peer = await serve((router) => {
        router.service(ChatService, {
          complete(_request, context) {
            note(context);
            return {};
          },
          async *chat(_request, context) {
            note(context);
            yield piece("one", "stop");
          },
        });
      });
      const backend = connectTo(peer.address, { token: "secret" });
      const call = {
        ...callOf(method, chatRequest("hello")),
        deadline: performance.now() + 60_000,
        begun: true,
      };
      const handle = backend.handlers[method] as Handle<"complete" | "chat"> | undefined;
      for await (const _ of handle?.({ ...call, begun: false }) ?? []);
      expect(seen?.header.get("x-lintel-begun")).toBeNull();
      for await (const _ of handle?.(call) ?? []);
      expect(seen?.header.get("x-lintel-begun")).toBe("1");
      expect(seen?.header.get("authorization")).toBe("Bearer secret");
      expect(seen?.header.get("x-request-id")).toBe(call.id);
      expect(seen?.timeout).toBeGreaterThan(50_000);
      expect(seen?.timeout).toBeLessThanOrEqual(60_000);
    },
  );

  it("hears an abort, before the first message and in the middle", async () => {
    for (const at of ["before", "middle"]) {
      let reached = () => {};
      const started = new Promise<void>((resolve) => {
        reached = resolve;
      });
      let stop = () => {};
      const stopped = new Promise<void>((resolve) => {
        stop = resolve;
      });
      const peer = await serve(
        chatting(async function* (_request, signal) {
          signal.addEventListener("abort", stop);
          reached();
          if (at === "middle") yield piece("one");
          await stopped;
        }),
      );
      const backend = connectTo(peer.address);
      const controller = new AbortController();
      const reason = new LintelError("cancelled", "the caller left");
      const stream = start(backend, chatRequest("hello"), controller.signal);
      const first = stream.next();
      if (at === "middle") await first;
      await started;
      controller.abort(reason);
      await expect(at === "middle" ? stream.next() : first).rejects.toBe(reason);
      await stopped;
    }
  });

  it("ends its calls when the backend is closed", async () => {
    const peer = await serve(
      chatting(async function* (_request, signal) {
        yield piece("one");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
    );
    const backend = connectTo(peer.address);
    const stream = start(backend, chatRequest("hello"));
    await stream.next();
    const next = stream.next();
    await backend.close();
    await expect(next).rejects.toMatchObject({ code: "shutting_down" });
  });

  it("gives its errors on, as Lintel's own", async () => {
    const errors = [
      new LintelError("rate_limited", "slow down", { retryAfter: 7 }),
      new LintelError("unsupported_parameter", "no seeds", { param: "seed" }),
    ];
    for (const error of errors) {
      const peer = await serve(
        // biome-ignore lint/correctness/useYield: it fails before it has anything
        chatting(async function* () {
          throw toConnectError(error);
        }),
      );
      const thrown = await answer(connectTo(peer.address), chatRequest("hello")).catch((e) => e);
      expect(thrown).toBeInstanceOf(LintelError);
      expect(thrown).toMatchObject({
        code: error.code,
        message: error.message,
        param: error.param,
        retryAfter: error.retryAfter,
      });
    }
  });

  it("is unreachable when nobody listens, or the connection breaks", async () => {
    const peer = await serve(
      chatting(async function* () {
        yield piece("one");
        await new Promise(() => {});
      }),
    );
    const backend = connectTo(peer.address);
    const stream = start(backend, chatRequest("hello"));
    await stream.next();
    const next = stream.next();
    peer.cut();
    const error = await next.catch((e) => e);
    expect(error).toMatchObject({ code: "upstream_unreachable" });
    expect(error.message).not.toContain(String(peer.port));
    peer.server.close();
    await expect(backend.health(never)).rejects.toMatchObject({ code: "upstream_unreachable" });
    for (const address of [peer.address, "unix:/nonexistent/lintel.sock"]) {
      const gone = await answer(connectTo(address), chatRequest("hello")).catch((e) => e);
      expect(gone).toMatchObject({ code: "upstream_unreachable" });
      expect(gone.message).not.toMatch(/\d{4}|\.sock/);
    }
  });

  it.each<[string, (stream: ServerHttp2Stream) => void]>([
    ["that is reset", (stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ["without its end", (stream) => stream.end()],
  ])("is lost with an answer %s", async (_, end) => {
    const peer = await serve(chatting(async function* () {}));
    const backend = connectTo(peer.address);
    await listed(backend);
    peer.server.removeAllListeners("request");
    peer.server.on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
      end(stream);
    });
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "upstream_unreachable",
    });
    expect(backend.models()).toMatchObject([{ id: "m", state: State.FAILED }]);
  });

  it("is unreachable when it falls silent", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const peer = await serve(chatting(async function* () {}));
    const link = await slowLink(peer.port, 0);
    onTestFinished(() => link.close());
    const backend = connectTo(`http://127.0.0.1:${link.port}`);
    const call = answer(backend, chatRequest("hello"));
    const failed = expect(call).rejects.toMatchObject({ code: "upstream_unreachable" });
    await link.held;
    // It is probed after 20 seconds, and has 15 to answer.
    await vi.advanceTimersByTimeAsync(40_000);
    await failed;
  });

  it("that says itself that it ended a call is not lost: the call may be half done", async () => {
    const peer = await serve(
      // biome-ignore lint/correctness/useYield: it fails before it has anything
      chatting(async function* () {
        throw toConnectError(new LintelError("cancelled", "the caller left"));
      }),
    );
    const backend = connectTo(peer.address);
    await listed(backend);
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "upstream_failed",
      retry: "never",
    });
    expect(backend.models()).toMatchObject([{ id: "m", state: State.READY }]);
  });

  it("that has no room for a stream is busy, not lost", async () => {
    const peer = await serve(chatting(async function* () {}));
    const backend = connectTo(peer.address);
    await listed(backend);
    peer.server.removeAllListeners("request");
    peer.server.on("stream", (stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM));
    const refused = await answer(backend, chatRequest("hello")).catch((e) => e);
    expect(refused).toMatchObject({ code: "overloaded" });
    expect(backend.models()).toMatchObject([{ id: "m", state: State.READY }]);
  });

  it("that can't reach a server of its own can be reached itself", async () => {
    const peer = await serve(
      chatting(async function* ({ model }) {
        if (model === "broken") {
          throw toConnectError(new LintelError("upstream_unreachable", "it can't be reached"));
        }
        yield piece("hi", "stop");
      }),
    );
    const backend = connectTo(peer.address);
    await listed(backend);
    await expect(answer(backend, chatRequest("hello", { model: "broken" }))).rejects.toMatchObject({
      code: "upstream_unreachable",
    });
    expect(backend.models()).toMatchObject([{ id: "m", state: State.READY }]);
    peer.server.close();
    peer.cut();
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "upstream_unreachable",
    });
    expect(backend.models()).toMatchObject([{ id: "m", state: State.FAILED }]);
  });

  it("sends images of any size, which are asked for inline", async () => {
    const data = new Uint8Array(70 * 1024 * 1024).fill(7);
    let asked: { includeData?: boolean; safetyCheck?: boolean | undefined } = {};
    const peer = await serve((router) => {
      router.service(TextToImageService, {
        textToImage(request) {
          asked = request;
          return { images: [{ data, seed: 3, mimeType: "image/png" }] };
        },
      });
    });
    const backend = connectTo(peer.address);
    const call = callOf("textToImage", {
      $typeName: "lintel.v1.TextToImageRequest",
      modelId: "m",
      prompt: "a circle",
      loras: "",
      negativePrompt: "",
      includeData: false,
      includePreviews: false,
      user: "",
    });
    for await (const [message] of backend.handlers.textToImage?.(call) ?? []) {
      expect(message?.images[0]?.data.length).toBe(data.length);
    }
    // No model of this node says that it checks images: so it is not asked to.
    expect(asked).toMatchObject({ includeData: true, safetyCheck: false });
  });

  it("is asked to check the images of those models that say they can, unless nobody wants it", async () => {
    const asked: [string, boolean | undefined][] = [];
    const model = { task: Task.TEXT_TO_IMAGE, state: State.READY };
    const models = [
      { ...model, id: "checks", supports: ["seed", "safety_check"] },
      { ...model, id: "plain", supports: ["seed"] },
    ];
    const peer = await serve((router) => {
      router.service(ModelsService, { listModels: () => ({ models }) });
      router.service(TextToImageService, {
        textToImage({ modelId, safetyCheck }) {
          asked.push([modelId, safetyCheck]);
          return {};
        },
      });
    });
    const backend = connectTo(peer.address);
    await listed(backend);
    for (const modelId of ["checks", "plain", "unknown"]) {
      for (const safetyCheck of [undefined, true, false]) {
        const request = { ...imageRequest({ modelId }), safetyCheck } as TextToImageRequest;
        for await (const _ of backend.handlers.textToImage?.(callOf("textToImage", request)) ?? []);
      }
    }
    expect(asked).toEqual([
      ...[true, true, false].map((wanted) => ["checks", wanted]),
      ...["plain", "unknown"].flatMap((id) => [1, 2, 3].map(() => [id, false])),
    ]);
  });
});
