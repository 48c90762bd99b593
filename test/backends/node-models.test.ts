/** Which models a server of the contract has, and when it is asked for them. */
import { createServer as createHttp1Server } from "node:http";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { ModelsService, State, Task } from "../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { toConnectError } from "../../src/core/connect-error.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { answer, chatRequest, start } from "./llama-subject.js";
import { chatting, connectTo, piece, serve } from "./node-peer.js";

const listed = (backend: Backend) =>
  vi.waitFor(() => expect(backend.models()[0]?.state).toBe(State.READY));

describe("the models of a server of the contract", () => {
  it("is asked for its models, again after it was away", async () => {
    const peer = await serve(chatting(async function* () {}));
    const backend = connectTo(peer.address, { refresh: 100 });
    await listed(backend);
    expect(backend.models()).toBe(backend.models());
    peer.cut();
    peer.server.close();
    await vi.waitFor(() => expect(backend.models()[0]?.state).toBe(State.FAILED));
    const again = createServer(connectNodeAdapter({ routes: chatting(async function* () {}) }));
    await new Promise<void>((done) => again.listen(peer.port, "127.0.0.1", done));
    onTestFinished(() => {
      again.close();
    });
    await listed(backend);
    await backend.close();
  });

  it("is asked again soon while it has none: its own servers may begin with it", async () => {
    let asked = 0;
    const model = { id: "m", task: Task.CHAT, state: State.READY };
    const peer = await serve((router) => {
      router.service(ModelsService, {
        listModels: () => ({ models: asked++ === 0 ? [] : [model] }),
      });
    });
    const backend = connectTo(peer.address);
    await listed(backend);
    expect(asked).toBe(2);
  });

  it("is asked again soon once it tells of some, and ever more seldom: others may follow", async () => {
    let asked = 0;
    const all = ["a", "b"].map((id) => ({ id, task: Task.CHAT, state: State.READY }));
    const peer = await serve((router) => {
      router.service(ModelsService, {
        listModels: () => ({ models: asked++ < 2 ? all.slice(0, 1) : all }),
      });
    });
    const backend = connectTo(peer.address);
    const ids = () => backend.models().map(({ id }) => id);
    await vi.waitFor(() => expect(ids()).toEqual(["a", "b"]));
    expect(asked).toBe(3);
  });

  it("is asked again as soon as ever while a model of its loads", async () => {
    const model = { id: "m", task: Task.CHAT, state: State.LOADING };
    const peer = await serve((router) => {
      router.service(ModelsService, { listModels: () => ({ models: [model] }) });
    });
    const timer = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timer.mockRestore());
    const backend = connectTo(peer.address);
    const waits = () => timer.mock.calls.map(([, ms]) => ms).filter((ms) => ms === 500);
    // Otherwise the second one would be twice as long.
    await vi.waitFor(() => expect(waits().length).toBeGreaterThan(1));
    await backend.close();
  });

  it("that can't be asked for its models is one line of the log, until it told of some", async () => {
    let asked = 0;
    const peer = await serve((router) => {
      router.service(ModelsService, {
        listModels() {
          asked++;
          if (asked === 4) return { models: [{ id: "m", task: Task.CHAT, state: State.READY }] };
          throw toConnectError(new LintelError("unavailable", "scripted"));
        },
      });
    });
    const lines: object[] = [];
    const log = { ...silent, warn: (fields: object) => void lines.push(fields) };
    connectTo(peer.address, { refresh: 100 }, log);
    await vi.waitFor(() => expect(asked).toBeGreaterThan(6));
    const line = {
      backend: "peer",
      code: "unavailable",
      reason: expect.stringContaining("scripted"),
    };
    expect(lines).toEqual([line, line]);
  });

  it("that can't be asked for another reason is another line of the log", async () => {
    let asked = 0;
    const said = ["first", "first", "second", "second"];
    const peer = await serve((router) => {
      router.service(ModelsService, {
        listModels() {
          throw toConnectError(new LintelError("unavailable", said[asked++] ?? "second"));
        },
      });
    });
    const lines: object[] = [];
    const log = { ...silent, warn: (fields: object) => void lines.push(fields) };
    connectTo(peer.address, { refresh: "100ms" }, log);
    await vi.waitFor(() => expect(asked).toBeGreaterThan(5));
    expect(lines).toMatchObject([
      { reason: expect.stringContaining("first") },
      { reason: expect.stringContaining("second") },
    ]);
  });

  it("that is none, but speaks HTTP/1 alone, is told as that", async () => {
    const server = createHttp1Server((_request, response) => response.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const lines: object[] = [];
    const log = { ...silent, warn: (fields: object) => void lines.push(fields) };
    const backend = connectTo(`http://127.0.0.1:${port}`, {}, log);
    await expect(backend.ready?.("m", never)).rejects.toMatchObject({
      code: "upstream_unreachable",
    });
    expect(lines).toMatchObject([
      { reason: expect.stringMatching(/Protocol error; no HTTP\/2 is spoken there$/) },
    ]);
  });

  it("is waited for where it is to say which models there are, and lists none", async () => {
    const peer = await serve((router) => {
      router.service(ModelsService, { listModels: () => ({ models: [] }) });
    });
    await connectTo(peer.address).ready?.("m", never);
  });

  it("that could not be asked before, and lists none now, is not said to be away any more", async () => {
    let asked = 0;
    const peer = await serve((router) => {
      router.service(ModelsService, {
        listModels() {
          if (asked++ === 0) throw toConnectError(new LintelError("unavailable", "it begins"));
          return { models: [] };
        },
      });
    });
    const backend = connectTo(peer.address, { refresh: 100 });
    await expect(backend.ready?.("m", never)).rejects.toMatchObject({ code: "unavailable" });
    await vi.waitFor(() => expect(asked).toBeGreaterThan(1));
    await backend.ready?.("m", never);
  });

  it("that does not answer holds up no call of a configured model, and is not said to be gone at the end", async () => {
    const warn = vi.fn();
    const peer = await serve((router) => {
      router.service(ModelsService, { listModels: () => new Promise(() => {}) });
    });
    const models = [{ id: "m", task: "chat" }];
    const backend = connectTo(peer.address, { models }, { ...silent, warn });
    await backend.ready?.("m", never);
    await backend.close();
    expect(warn).not.toHaveBeenCalled();
  });

  it("that does not list its models in its time is one that took too long", async () => {
    let asked = () => {};
    const begun = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const peer = await serve((router) => {
      router.service(ModelsService, {
        listModels(_request, { signal }) {
          asked();
          return new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          });
        },
      });
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const backend = connectTo(peer.address);
    const ready = expect(backend.ready?.("m", never)).rejects.toMatchObject({ code: "timeout" });
    await begun;
    vi.advanceTimersByTime(10_000);
    await ready;
  });

  it("may lack a list of models, if they are configured", async () => {
    const peer = await serve((router) => {
      router.service(ChatService, {
        async *chat() {
          yield piece("hi", "stop") as never;
        },
      });
    });
    const backend = connectTo(peer.address, { models: [{ id: "m", task: "chat" }] });
    await backend.health(never);
    expect(backend.models()).toMatchObject([{ id: "m", state: State.READY }]);
    expect(backend.models()[0]?.supports).toEqual(
      expect.arrayContaining(["temperature", "max_tokens", "stop"]),
    );
    expect((await answer(backend, chatRequest("hello"))).text).toBe("hi");
  });

  it("that lists none is there again soon after a call was lost", async () => {
    const peer = await serve((router) => {
      router.service(ChatService, {
        async *chat(_, { signal }) {
          yield piece("one");
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
      });
    });
    const backend = connectTo(peer.address, { models: [{ id: "m", task: "chat" }] });
    await backend.health(never);
    const call = start(backend, chatRequest("hello"));
    await call.next();
    peer.cut();
    await expect(call.next()).rejects.toMatchObject({ code: "upstream_unreachable" });
    expect(backend.models()[0]?.state).toBe(State.FAILED);
    await listed(backend);
  });

  it("is used for the models that are configured alone, each as it tells of it", async () => {
    const all = ["a", "b"].map((id) => ({ id, task: Task.CHAT, state: State.READY, maxTokens: 5 }));
    const peer = await serve((router) => {
      router.service(ModelsService, { listModels: () => ({ models: all }) });
    });
    const models = ["c", "b"].map((id) => ({ id, task: "chat", max_tokens: 9 }));
    const backend = connectTo(peer.address, { models });
    await vi.waitFor(() =>
      expect(backend.models()).toMatchObject([
        { id: "c", state: State.READY, maxTokens: 9 },
        { id: "b", state: State.READY, maxTokens: 5 },
      ]),
    );
  });
});
