import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Http2Session } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { slowLink } from "../support/slow-link.js";
import { chatRequest, start } from "./llama-subject.js";
import { chatting, connectTo, piece, serve } from "./node-peer.js";
import { callOf } from "./subject.js";

/** A server that counts the connections that were made to it, and those that are open. */
async function counting(...[chat]: Parameters<typeof chatting>) {
  const peer = await serve(chatting(chat));
  const made = new Set<object>();
  const open = new Set<object>();
  peer.server.on("stream", ({ session }) => {
    if (!session || made.has(session)) return;
    made.add(session);
    open.add(session);
    session.on("close", () => open.delete(session));
  });
  return { backend: connectTo(peer.address), made, open };
}

/** So many callers leave after the first message, 50 at a time. */
async function leave(backend: Backend, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 50) {
    const leaving = Array.from({ length: Math.min(left, 50) }, async () => {
      const caller = new AbortController();
      const stream = start(backend, chatRequest("hello"), caller.signal);
      await stream.next();
      caller.abort();
      await expect(stream.next()).rejects.toThrow();
    });
    await Promise.all(leaving);
  }
}

it("a node may send much ahead of its client's word, whose way back may be long", async () => {
  const peer = await serve(chatting(async function* () {}));
  const sessions: Http2Session[] = [];
  peer.server.on("session", (session) => sessions.push(session));
  const backend = connectTo(peer.address);
  await vi.waitFor(() => {
    const [session] = sessions;
    // What it may send until it hears from its client again.
    expect(session?.state.remoteWindowSize).toBeGreaterThanOrEqual(8 * 1024 * 1024);
    expect(session?.remoteSettings.initialWindowSize).toBe(1024 * 1024);
  });
  await backend.close();
});

it.each([
  ["whole answers", false],
  ["callers who leave once they have their answer", true],
])("%s don't wear a connection out", async (_, leaves) => {
  const { backend, made } = await counting(async function* () {});
  for (let i = 0; i < 12; i++) {
    const asked = Array.from({ length: 50 }, async () => {
      const caller = new AbortController();
      const call = callOf("complete", chatRequest("hello"), caller.signal);
      // As the core does: it asks for no more than the one message.
      for await (const _ of backend.handlers.complete?.(call) ?? []) {
        if (leaves) caller.abort();
        break;
      }
    });
    await Promise.all(asked);
  }
  expect(made.size).toBe(1);
});

// Node's server takes 1000 resets at once on a connection, and ends it with all its streams then.
it("callers who leave don't break what others read from the same node", async () => {
  let go = () => {};
  const { backend, made, open } = await counting(async function* ({ messages }, signal) {
    yield piece("one");
    if (messages[0]?.content === "patient") {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      yield piece("two", "stop");
    } else {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    }
  });
  const patient = start(backend, chatRequest("patient"));
  await patient.next();
  await leave(backend, 2000);
  go();
  const { value } = await patient.next();
  expect(value?.[0]?.choices[0]?.delta?.content).toBe("two");
  await patient.next();
  expect(made.size).toBeGreaterThan(1);
  await expect.poll(() => open.size).toBe(1);
});

it("a backend that is closed lets go of its node at once", async () => {
  const { backend, open } = await counting(async function* () {
    yield piece("one", "stop");
  });
  for await (const _ of { [Symbol.asyncIterator]: () => start(backend, chatRequest("hello")) });
  expect(open.size).toBe(1);
  await backend.close();
  await expect.poll(() => open.size).toBe(0);
});

it("calls that were given up are forgotten in time, 20 a second", async () => {
  let now = Math.floor(performance.now());
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const { backend, made } = await counting(async function* (_, signal) {
    yield piece("one");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  await leave(backend, 501);
  expect(made.size).toBe(1);
  await leave(backend, 500);
  expect(made.size).toBe(2);
  now += 10_000;
  await leave(backend, 201);
  expect(made.size).toBe(2);
  await leave(backend, 1);
  expect(made.size).toBe(3);
});

// A node of Lintel takes 250 streams at once on a connection, other servers as a rule 100 or more.
it("calls beyond those that one connection takes go by another", async () => {
  let go = () => {};
  const all = new Promise<void>((resolve) => {
    go = resolve;
  });
  const routes = chatting(async function* () {
    yield piece("one");
    await all;
    yield piece("two", "stop");
  });
  const { address } = await serve(routes, { settings: { maxConcurrentStreams: 100 } });
  const backend = connectTo(address);
  const streams = Array.from({ length: 250 }, () => start(backend, chatRequest("hello")));
  await Promise.all(streams.map((stream) => stream.next()));
  await backend.health(never);
  go();
  const ends = await Promise.all(streams.map((stream) => stream.next()));
  expect(ends.map(({ value }) => value?.[0]?.choices[0]?.delta?.content)).toEqual(
    streams.map(() => "two"),
  );
});

/** A backend on a server that takes connections, and never answers a handshake. */
async function mute(connect: string) {
  const asked = new Set<Socket>();
  const server = createServer((socket) => asked.add(socket.on("error", () => {})));
  onTestFinished(() => {
    for (const socket of asked) socket.destroy();
    server.close();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const models = [{ id: "m", task: "chat" }];
  const backend = connectTo(`https://127.0.0.1:${port}`, { models, timeouts: { connect } });
  return { asked, backend };
}

it("a call whose caller leaves waits for no connection", async () => {
  const { backend } = await mute("1h");
  const caller = new AbortController();
  const left = new Error("left");
  const call = callOf("chat", chatRequest("hello"), caller.signal);
  const next = backend.handlers.chat?.(call)[Symbol.asyncIterator]().next();
  caller.abort(left);
  await expect(next).rejects.toBe(left);
});

it("a connection that does not come about in its time is given up, and the next call asks for another", async () => {
  const { asked, backend } = await mute("50ms");
  for (const least of [1, 2]) {
    const call = start(backend, chatRequest("hello")).next();
    await expect(call).rejects.toMatchObject({ code: "timeout", retry: "anywhere" });
    expect(asked.size).toBeGreaterThanOrEqual(least);
  }
});

it("a connection behind one that its server leaves has no more time to come about", async () => {
  const { port, goaway, stop } = await leavingServer();
  const models = [{ id: "m", task: "chat" }];
  const backend = connectTo(`http://127.0.0.1:${port}`, { models, timeouts: { connect: "50ms" } });
  const running = start(backend, chatRequest("hello"));
  await running.next();
  goaway();
  // It came behind the word that the server leaves.
  await running.next();
  await stop();
  const next = start(backend, chatRequest("hello")).next();
  await expect(next).rejects.toMatchObject({ code: "timeout", retry: "anywhere" });
});

/** A server of gRPC that leaves its connection when told to; stopped, it takes no other. */
async function leavingServer() {
  const program = `
    const server = require("node:http2").createServer();
    const answer = { ":status": 200, "content-type": "application/grpc+proto" };
    const empty = Buffer.alloc(5);
    server.on("stream", (stream, { ":path": path }) => {
      stream.on("error", () => {});
      if (!path.endsWith("/Chat")) {
        return stream.respond({ ...answer, "grpc-status": "12" }, { endStream: true });
      }
      stream.respond(answer);
      stream.write(empty);
      process.once("message", () => {
        stream.session.goaway(0, stream.id);
        stream.write(empty);
      });
    });
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      process.send(server.address().port);
    });`;
  const child = spawn(process.execPath, ["-e", program], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = await once(child, "message");
  const stop = async () => {
    child.kill("SIGSTOP");
    // Those that its queue has room for, and one whose question stays open.
    const queued = Array.from({ length: 8 }, () => connect(port, "127.0.0.1"));
    for (const socket of queued) {
      socket.on("error", () => {});
      onTestFinished(() => void socket.destroy());
    }
    await once(queued[0] as Socket, "connect");
  };
  return { port: Number(port), goaway: () => void child.send("leave"), stop };
}

it("a connection that came about in its time is kept beyond it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { server, address } = await serve(
    chatting(async function* () {
      yield piece("one", "stop");
    }),
  );
  const sessions = vi.fn();
  server.on("session", sessions);
  const backend = connectTo(address);
  const ask = async () => {
    const call = start(backend, chatRequest("hello"));
    for await (const _ of { [Symbol.asyncIterator]: () => call });
  };
  await ask();
  // Five seconds to connect, after which nobody asks whether it is still there.
  await vi.advanceTimersByTimeAsync(6000);
  await ask();
  expect(sessions).toHaveBeenCalledOnce();
});

it("a call's own time to connect counts where it is shorter", async () => {
  const { backend } = await mute("1h");
  const call = { ...callOf("chat", chatRequest("hello")), connectMs: 50 };
  const next = backend.handlers.chat?.(call)[Symbol.asyncIterator]().next();
  await expect(next).rejects.toMatchObject({ code: "timeout", retry: "anywhere" });
});

it("a call that comes while a silent connection is given up does not end the process", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const thrown = vi.fn();
  process.on("uncaughtException", thrown);
  onTestFinished(() => void process.off("uncaughtException", thrown));
  const peer = await serve(chatting(async function* () {}));
  const link = await slowLink(peer.port, 0);
  onTestFinished(() => link.close());
  const backend = connectTo(`http://127.0.0.1:${link.port}`);
  const ask = () => start(backend, chatRequest("hello")).next();
  const failed = ask().catch(() => {
    void ask().catch(() => {});
  });
  await link.held;
  // It is probed after 20 seconds, and has 15 to answer.
  await vi.advanceTimersByTimeAsync(40_000);
  await failed;
  await backend.close();
  expect(thrown).not.toHaveBeenCalled();
});
