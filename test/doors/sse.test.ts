import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { type CallSignal, nativeSignal } from "../../src/core/cancellation.js";
import { LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import { gate } from "../support/calls.js";
import { startLintel } from "../support/lintel.js";
import { hangsAfter, paints, piece, says, scripted } from "../support/scripted.js";
import { eventsOf, hello, http, serve, serveChat } from "./serve.js";

/** Reads on until what came matches. */
async function readUntil(socket: Socket, pattern: RegExp): Promise<string> {
  let text = "";
  socket.setEncoding("utf8");
  for await (const data of socket.iterator({ destroyOnReturn: false })) {
    text += data;
    if (pattern.test(text)) return text;
  }
  throw new Error(`ended with ${JSON.stringify(text.slice(-300))}`);
}

const streamed = JSON.stringify(hello({ stream: true }));

describe("streams: status, silence, speed", () => {
  test("the status is held until the first message", async () => {
    const asked = gate();
    const { open, opened } = gate();
    const server = await serveChat(async function* () {
      asked.open();
      await opened;
      yield [piece("Hi"), piece("", "stop", [1, 1])];
    });
    let answered = false;
    const response = server.post("/llm", hello({ stream: true })).then((r) => {
      answered = true;
      return r;
    });
    await asked.opened;
    // Whatever had been sent until then would have come before this answer.
    await (await server.get("/v1/models")).text();
    expect(answered).toBe(false);
    open();
    expect((await response).status).toBe(200);
    await (await response).text();
  });

  test.each([
    [
      "/llm",
      {
        // As in all chunks: not the request's id.
        id: expect.stringMatching(/^chatcmpl-[\w-]{24}$/),
        object: "chat.completion.chunk",
        created: expect.any(Number),
        model: "chat-1",
        choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: "error" }],
      },
    ],
    ["/v1/chat/completions", {}],
  ])(
    "%s: it is held no longer than `holdMs`; a failure then is an error in the stream",
    async (path, chunk) => {
      const { open, opened } = gate();
      const server = await serveChat(
        // biome-ignore lint/correctness/useYield: it fails before it has something
        async function* () {
          await opened;
          throw new LintelError("upstream_failed", "it broke");
        },
        { doors: { holdMs: 10 } },
      );
      const response = await server.post(path, hello({ stream: true, model: "" }));
      expect(response.status).toBe(200);
      expect(response.headers.get("x-request-id")).toBeTruthy();
      open();
      const events = eventsOf(await response.text());
      expect(events.at(-1)).toBe("[DONE]");
      expect(JSON.parse(events[0] ?? "")).toMatchObject({
        ...chunk,
        error: { code: "upstream_failed" },
      });
    },
  );

  test("what can't be encoded is an error in the stream, and the end of the call", async () => {
    const { open, opened: aborted } = gate();
    const server = await serve(
      scripted({
        async *streamTextToImage({ signal }) {
          signal.addEventListener("abort", open, { once: true });
          const message = progressEvent({ index: 0, images: 1, step: 1, steps: 2 });
          Object.assign(message.event.value ?? {}, { queuePosition: 1n });
          yield [message];
        },
      }),
    );
    const asked = { model_id: "image-1", prompt: "a cat", stream: true };
    const events = eventsOf(await (await server.post("/text-to-image", asked)).text());
    expect(JSON.parse(events[0] ?? "")).toMatchObject({ error: { code: "internal" } });
    expect(events.slice(1)).toEqual(["[DONE]"]);
    await aborted;
  });

  test("silence is filled with comments, between events only", async () => {
    const { open, opened } = gate();
    const server = await serveChat(
      async function* () {
        yield [piece("Hi")];
        await opened;
        yield [piece("", "stop", [1, 1])];
      },
      { doors: { keepAliveMs: 10 } },
    );
    const socket = server.socket(http("/llm", streamed, "connection: close\r\n"));
    const before = await readUntil(socket, /(: keep-alive\n\n[^:]*){2}/);
    expect(before).toMatch(/\n\n\r\n[0-9a-f]+\r\n: keep-alive\n\n/);
    open();
    await readUntil(socket, /data: \[DONE\]\n\n/);
  });

  test("comments end with the stream, and with a client that leaves", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await serveChat(says("Hi"));
    const before = vi.getTimerCount();
    const socket = server.socket(http("/llm", streamed));
    await readUntil(socket, /data: \[DONE\]\n\n/);
    expect(vi.getTimerCount()).toBe(before);
    const { handle, aborted } = hangsAfter("Hi");
    const hanging = await serveChat(handle);
    const other = hanging.socket(http("/llm", streamed));
    await readUntil(other, /"content":"Hi"/);
    other.destroy();
    await aborted;
    expect(vi.getTimerCount()).toBe(before);
  });

  test("events put off the comments", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const steps = [gate(), gate()];
    const server = await serveChat(
      async function* () {
        yield [piece("a")];
        for (const { opened } of steps) {
          await opened;
          yield [piece("b")];
        }
        yield [piece("", "stop", [1, 3])];
      },
      { doors: { keepAliveMs: 15_000 } },
    );
    const socket = server.socket(http("/llm", streamed));
    let text = await readUntil(socket, /"content":"a"/);
    for (const { open } of steps) {
      vi.advanceTimersByTime(10_000);
      open();
      text += await readUntil(socket, /"content":"b"/);
    }
    text += text.includes("[DONE]") ? "" : await readUntil(socket, /\[DONE\]/);
    expect(text).not.toContain(": keep-alive\n\n");
  });

  test("messages that came at once leave in one write", async () => {
    const server = await serveChat(async function* () {
      yield [piece("a"), piece("b"), piece("c")];
      yield [piece("", "stop", [1, 3])];
    });
    const socket = server.socket(http("/llm", streamed, "connection: close\r\n"));
    const text = await readUntil(socket, /data: \[DONE\]\n\n/);
    // One chunk of HTTP/1.1's chunked coding is one write.
    const writes = text.split(/\r\n[0-9a-f]+\r\n/).filter((w) => w.includes("data: "));
    expect(writes.map((write) => write.match(/data: /g)?.length)).toEqual([5]);
  });

  test.each([
    ["each of its own turn of the event loop, as of a model server", 64 * 1024, true],
    ["all in one turn", 64 * 1024, false],
    ["all in one turn, small ones", 1024, false],
  ])("a client that does not read stops the iteration: %s", async (_, size, turns) => {
    let pulled = 0;
    let seen: CallSignal | undefined;
    const text = "x".repeat(size);
    const most = 128e6 / size;
    const endless: Handle<"chat"> = async function* ({ signal }) {
      seen = signal;
      for (; pulled < most; pulled++) {
        if (turns) await new Promise(setImmediate);
        yield [piece(text)];
      }
    };
    const server = await serveChat(endless);
    const socket = server.socket(http("/llm", streamed));
    socket.pause();
    let last = -1;
    await vi.waitFor(
      () => {
        const before = last;
        last = pulled;
        expect(pulled).toBeGreaterThan(0);
        expect(pulled).toBe(before);
      },
      { interval: 100 },
    );
    // Buffers of the two sockets, no more.
    expect(pulled).toBeLessThan(most / 5);
    expect(seen?.aborted).toBe(false);
    // It goes on once the client reads.
    const stuck = pulled;
    socket.resume();
    await vi.waitFor(() => expect(pulled).toBeGreaterThan(stuck + 50));
    // And a client that leaves instead of reading is noticed.
    socket.pause();
    socket.destroy();
    await vi.waitFor(() => expect(seen?.aborted).toBe(true));
  });
});

describe("a client that does not read, at the end of the gateway", () => {
  /** A whole answer or a stream, more than sockets hold. */
  const text = "x".repeat(32 * 1024 * 1024);
  const stuck = async (stream: boolean) => {
    const lintel = await startLintel([scripted({ chat: says(text) })]);
    onTestFinished(() => lintel.close());
    const socket = connect(Number(new URL(lintel.url).port), "127.0.0.1");
    onTestFinished(() => {
      socket.destroy();
    });
    socket.pause();
    socket.write(http("/llm", JSON.stringify(hello({ stream }))));
    await once(socket, "readable");
    return { lintel, socket };
  };

  test("its call is ended with the grace, and its connection after it", async () => {
    const { lintel, socket } = await stuck(true);
    expect(lintel.core.readiness.running).toBe(1);
    const closed = lintel.close(10);
    await lintel.core.idle();
    socket.resume();
    await closed;
  });

  test("it has the rest of the grace for an answer that is complete", async () => {
    const { lintel, socket } = await stuck(false);
    await lintel.core.idle();
    const idle = connect(Number(new URL(lintel.url).port), "127.0.0.1");
    idle.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(idle, "data");
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const closed = lintel.close(600_000);
    const left = once(idle, "close");
    await vi.advanceTimersByTimeAsync(60_000);
    // Others are not kept for it.
    await left;
    let length = 0;
    for await (const part of socket) length += part.length;
    expect(length).toBeGreaterThan(text.length);
    await closed;
  });
});

describe("streams: the client goes away", () => {
  test("before the first token", async () => {
    const { handle, aborted } = hangsAfter();
    const { open, opened } = gate();
    const server = await serveChat((call) => {
      open();
      return handle(call);
    });
    const socket = server.socket(http("/llm", streamed));
    await opened;
    socket.destroy();
    await aborted;
  });

  test("in mid-stream", async () => {
    const { handle, aborted } = hangsAfter("Hi");
    const server = await serveChat(handle);
    const socket = server.socket(http("/llm", streamed));
    await readUntil(socket, /"content":"Hi"/);
    socket.destroy();
    await aborted;
  });

  test("with only its own side closed", async () => {
    const { handle, aborted } = hangsAfter("Hi");
    const server = await serveChat(handle);
    const socket = server.socket(http("/llm", streamed));
    await readUntil(socket, /"content":"Hi"/);
    socket.end();
    await aborted;
  });

  test("of an answer that is not streamed", async () => {
    const { handle, aborted } = hangsAfter("Hi");
    const { open, opened } = gate();
    const server = await serveChat((call) => {
      open();
      return handle(call);
    });
    const socket = server.socket(http("/llm", JSON.stringify(hello())));
    await opened;
    socket.destroy();
    await aborted;
  });

  test("of images, streamed or not", async () => {
    for (const stream of [true, false]) {
      const { open, opened } = gate();
      const over = gate();
      const server = await serve(
        scripted({
          async *streamTextToImage(call) {
            for await (const batch of paints(1)(call)) {
              yield batch;
              open();
              await once(nativeSignal(call.signal), "abort");
              over.open();
              throw call.signal.reason;
            }
          },
        }),
      );
      const socket = server.socket(
        http("/text-to-image", JSON.stringify({ prompt: "a cat", stream })),
      );
      await opened;
      socket.destroy();
      await over.opened;
    }
  });

  test("after its answer: nothing is aborted", async () => {
    let signal: CallSignal | undefined;
    const server = await serveChat((call) => {
      signal = call.signal;
      return says("Hi")(call);
    });
    for (const stream of [true, false]) {
      const body = JSON.stringify(hello({ stream }));
      const socket = server.socket(http("/llm", body, "connection: close\r\n"));
      await readUntil(socket, stream ? /\[DONE\]/ : /"choices"/);
      socket.destroy();
      await once(socket, "close");
      await new Promise(setImmediate);
      expect(signal?.aborted).toBe(false);
    }
  });
});
