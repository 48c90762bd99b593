/** Calls to a node that end otherwise than with an answer, and connections that their servers leave. */
import { once } from "node:events";
import {
  constants,
  createServer as createHttp2,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ChatService, type LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Call } from "../../src/core/call.js";
import { gate, never } from "../support/calls.js";
import { answer, chatRequest, start } from "./llama-subject.js";
import { chatting, connectTo, piece, serve } from "./node-peer.js";
import { callOf } from "./subject.js";

/** Answers until the caller leaves. */
async function* endless(_request: LLMRequest, signal: AbortSignal) {
  yield piece("one");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

async function* brief() {
  yield piece("one", "stop");
}

/** A stream that is to be over so many milliseconds from now. */
const within = (ms: number): Call<"chat"> => ({
  ...callOf("chat", chatRequest("hello")),
  deadline: performance.now() + ms,
});

describe("a call's deadline", () => {
  it.each([
    ["is told the node", 99_999_999, expect.stringMatching(/^\d{8}m$/)],
    ["that gRPC's header has no room for is kept on this side alone", 2 * 86_400_000, null],
  ])("%s", async (_, ms, told) => {
    const seen = vi.fn();
    const peer = await serve((router) => {
      router.service(ChatService, {
        async *chat(_request, { requestHeader }) {
          seen(requestHeader.get("grpc-timeout"));
          yield piece("one", "stop");
        },
      });
    });
    const backend = connectTo(peer.address, { models: [{ id: "m", task: "chat" }] });
    const texts: (string | undefined)[] = [];
    for await (const [message] of backend.handlers.chat?.(within(ms)) ?? []) {
      texts.push(message?.choices[0]?.delta?.content);
    }
    expect(texts).toEqual(["one"]);
    expect(seen.mock.calls).toEqual([[told]]);
  });

  it("that passes is one of the calls that a connection is worn out by", async () => {
    // So that none of them is forgotten.
    const now = Math.floor(performance.now());
    const clock = vi.spyOn(performance, "now").mockReturnValue(now);
    onTestFinished(() => clock.mockRestore());
    const peer = await serve(chatting(endless));
    const sessions = new Set<unknown>();
    peer.server.on("stream", ({ session }) => sessions.add(session));
    const backend = connectTo(peer.address);
    const late = async () => {
      const read = async () => {
        for await (const _ of backend.handlers.chat?.(within(100)) ?? []);
      };
      await expect(read()).rejects.toMatchObject({ code: "timeout" });
    };
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 50 }, late));
    await late();
    expect(sessions.size).toBe(1);
    await backend.health(never);
    expect(sessions.size).toBe(2);
  });
});

it("a node need not go on where nobody reads on", async () => {
  const left = gate();
  const peer = await serve(
    chatting(async function* (_request, signal) {
      yield piece("one");
      signal.addEventListener("abort", left.open);
      await left.opened;
    }),
  );
  const stream = start(connectTo(peer.address), chatRequest("hello"));
  await stream.next();
  await stream.return?.();
  await left.opened;
});

it.each(["chat", "complete"] as const)(
  "an answer that is too large is the node's fault, and no limit of it: %s",
  async (method) => {
    const peer = await serve(chatting(brief));
    const backend = connectTo(peer.address);
    await backend.health(never);
    const closed = gate();
    peer.server.removeAllListeners("request");
    peer.server.on("stream", (stream) => {
      stream.on("error", () => {}).on("close", closed.open);
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
      stream.write(Buffer.from([0, 0x10, 0, 0, 1, 0]));
    });
    const read = async () => {
      const call = callOf(method, chatRequest("hello")) as never;
      for await (const _ of backend.handlers[method]?.(call) ?? []);
    };
    await expect(read()).rejects.toMatchObject({ code: "upstream_failed", retry: "never" });
    await closed.opened;
  },
);

it.each(["chat", "complete"] as const)(
  "a call that is ended without an answer, and without an error, is lost: %s",
  async (method) => {
    const peer = await serve(chatting(brief));
    const backend = connectTo(peer.address);
    await backend.health(never);
    peer.server.removeAllListeners("request");
    peer.server.on("stream", (stream) => stream.close(constants.NGHTTP2_NO_ERROR));
    const read = async () => {
      const call = callOf(method, chatRequest("hello")) as never;
      for await (const _ of backend.handlers[method]?.(call) ?? []);
    };
    await expect(read()).rejects.toMatchObject({ code: "upstream_unreachable" });
  },
);

describe.each(["chat", "complete"] as const)(
  "a status whose message is not escaped: %s",
  (method) => {
    const status = { "grpc-status": "14", "grpc-message": "100% busy: caf%C3%A9, 5%zz" };
    it.each([
      ["alone", (stream: ServerHttp2Stream) => stream.respond({ ...grpc, ...status }, ended)],
      [
        "in trailers",
        (stream: ServerHttp2Stream) => {
          stream.respond(grpc, { waitForTrailers: true });
          stream.once("wantTrailers", () => stream.sendTrailers(status)).end();
        },
      ],
    ])("counts, %s", async (_, answers) => {
      const server = createHttp2().on("stream", answers).listen(0, "127.0.0.1");
      onTestFinished(() => void server.close());
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const models = [{ id: "m", task: "chat" }];
      const backend = connectTo(`http://127.0.0.1:${port}`, { models });
      const read = async () => {
        const call = callOf(method, chatRequest("hello")) as never;
        for await (const _ of backend.handlers[method]?.(call) ?? []);
      };
      await expect(read()).rejects.toMatchObject({
        code: "unavailable",
        cause: { rawMessage: status["grpc-message"] },
      });
    });
  },
);

const grpc = { ":status": 200, "content-type": "application/grpc" };
const ended = { endStream: true };

/** A server that says how many calls it takes at once, and its connections in their order. */
async function listening(routes: (router: ConnectRouter) => void, atOnce = 250) {
  const peer = await serve(routes, { settings: { maxConcurrentStreams: atOnce } });
  const sessions: ServerHttp2Session[] = [];
  peer.server.on("session", (session) => sessions.push(session as ServerHttp2Session));
  return { ...peer, sessions };
}

/** Streams that wait, of a server that takes three at once on a connection, and lists no models. */
async function narrow() {
  const go = gate();
  const { address, server } = await listening((router) => {
    router.service(ChatService, {
      async *chat() {
        yield piece("one") as never;
        await go.opened;
        yield piece("two", "stop") as never;
      },
    });
  }, 3);
  const backend = connectTo(address, { models: [{ id: "m", task: "chat" }] });
  const ask = async (count: number) => {
    const calls = Array.from({ length: count }, () => start(backend, chatRequest("hello")));
    await Promise.all(calls.map((call) => call.next()));
    go.open();
    for (const call of calls) {
      expect((await call.next()).value?.[0]?.choices[0]?.delta?.content).toBe("two");
    }
  };
  return { backend, server, ask };
}

it("a connection has as many calls as its server takes at once", async () => {
  const { backend, server, ask } = await narrow();
  await backend.health(never);
  const shares = new Map<unknown, number>();
  server.on("stream", ({ session }) => shares.set(session, (shares.get(session) ?? 0) + 1));
  await ask(7);
  expect([...shares.values()].sort()).toEqual([1, 3, 3]);
});

it("calls that a server refuses, which has not said yet how many it takes, go by other connections", async () => {
  const { ask } = await narrow();
  await ask(20);
});

it("of a server that takes no calls for now no more connections are made", async () => {
  const { address, sessions } = await listening(chatting(brief));
  const backend = connectTo(address);
  await backend.health(never);
  const told = new Promise((resolve) => sessions[0]?.once("localSettings", resolve));
  sessions[0]?.settings({ maxConcurrentStreams: 0 });
  await told;
  const waiting = answer(backend, chatRequest("hello"));
  sessions[0]?.settings({ maxConcurrentStreams: 100 });
  expect((await waiting).text).toBe("one");
  expect(sessions).toHaveLength(1);
});

describe("a server that leaves a connection", () => {
  it("gets what it did not begin by the next one, and ends what it began", async () => {
    const go = gate();
    const { address, sessions } = await listening(
      chatting(async function* ({ messages }) {
        yield piece("one");
        if (messages[0]?.content === "wait") await go.opened;
        yield piece("two", "stop");
      }),
    );
    const backend = connectTo(address);
    const begun = start(backend, chatRequest("wait"));
    await begun.next();
    // It hears of none of these before it has left.
    const others = Array.from({ length: 20 }, () => answer(backend, chatRequest("hello")));
    sessions[0]?.close();
    for (const { text } of await Promise.all(others)) expect(text).toBe("onetwo");
    expect(backend.models()).toMatchObject([{ id: "m", state: State.READY }]);
    go.open();
    expect((await begun.next()).value?.[0]?.choices[0]?.delta?.content).toBe("two");
    expect(sessions).toHaveLength(2);
  });

  it("again and again can't be reached", async () => {
    const asked = new Set<Socket>();
    // SETTINGS, and GOAWAY as if it had begun nothing.
    const frames = [
      [0, 0, 0, 4, 0, 0, 0, 0, 0],
      [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ];
    const server = createServer((socket) => {
      asked.add(socket.on("error", () => {}));
      socket.once("data", () => socket.write(Buffer.from(frames.flat())));
    });
    onTestFinished(() => {
      for (const socket of asked) socket.destroy();
      server.close();
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const models = [{ id: "m", task: "chat" }];
    const backend = connectTo(`http://127.0.0.1:${port}`, { models });
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "upstream_unreachable",
      retry: "anywhere",
    });
    expect(backend.models()).toMatchObject([{ id: "m", state: State.FAILED }]);
  });
});

it("a node that fell silent while nobody called is waited for no longer than for a connection", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { port } = await serve((router) => {
    router.service(ChatService, { chat: brief as never });
  });
  let silent = false;
  const open = new Set<Socket>();
  const between = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one.on("error", () => {}));
      one.on("data", (data) => silent || other.write(data));
    }
  });
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    between.close();
  });
  await new Promise<void>((done) => between.listen(0, "127.0.0.1", done));
  const models = [{ id: "m", task: "chat" }];
  const { port: through } = between.address() as AddressInfo;
  const backend = connectTo(`http://127.0.0.1:${through}`, { models });
  expect((await answer(backend, chatRequest("hello"))).text).toBe("one");
  // Longer than `ping`, and not as long as `refresh`.
  await vi.advanceTimersByTimeAsync(25_000);
  silent = true;
  const call = expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
    code: "timeout",
    retry: "anywhere",
  });
  // The probe has 15 seconds, a connection 5.
  await vi.advanceTimersByTimeAsync(5000);
  await call;
  silent = false;
  expect((await answer(backend, chatRequest("hello"))).text).toBe("one");
});
