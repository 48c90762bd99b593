/** The clocks of an exchange and its transport, and how a fast server is held back. */
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { Exchange } from "../../src/backends/http/exchange.js";
import { errorBodyOf } from "../../src/backends/http/refused.js";
import { Transport } from "../../src/backends/http/transport.js";
import { LintelError } from "../../src/core/errors.js";
import { verdictOf } from "../../src/core/routing/blame.js";
import { never } from "../support/calls.js";
import { begun, Controller, some } from "./begun-exchange.js";
import { Upstream } from "./upstream.js";

const timeout = expect.objectContaining({ code: "timeout" });
const timeoutAfter = (message: string) =>
  expect.objectContaining({ code: "timeout", cause: expect.objectContaining({ message }) });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"])(
  "%s is a lack of the gateway's own, and no server's fault",
  async (code) => {
    const exchange = new Exchange(never, 1000, 100);
    exchange.onResponseError(undefined, Object.assign(new Error("connect"), { code }));
    await expect(exchange.answer).rejects.toMatchObject({ code: "overloaded" });
    expect(verdictOf("overloaded")).toBe("neutral");
  },
);

describe("the clock", () => {
  it("runs for the first byte, not for the head", async () => {
    const { exchange, controller, over } = begun();
    const read = exchange.read();
    vi.advanceTimersByTime(999);
    expect(controller.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    await expect(read).rejects.toEqual(timeoutAfter("no answer for 1000 ms"));
    expect(controller.aborted).toBe(true);
    await over;
  });

  it("starts anew with every byte after it, as long as somebody waits", async () => {
    const { exchange, controller } = begun();
    exchange.onResponseData(controller, some);
    await exchange.read();
    // A reader who takes longer than the server may.
    vi.advanceTimersByTime(1000);
    for (let i = 0; i < 20; i++) {
      const read = exchange.read();
      vi.advanceTimersByTime(99);
      exchange.onResponseData(controller, some);
      expect(await read).toEqual([some]);
    }
    // Who has been served takes as long, too.
    vi.advanceTimersByTime(1000);
    expect(controller.aborted).toBe(false);
    const read = exchange.read();
    vi.advanceTimersByTime(100);
    await expect(read).rejects.toEqual(timeoutAfter("nothing more for 100 ms"));
    expect(controller.aborted).toBe(true);
  });

  it("counts the time to connect and to wait for a connection", async () => {
    const exchange = new Exchange(never, 1000, 100);
    vi.advanceTimersByTime(1000);
    await expect(exchange.answer).rejects.toEqual(timeout);
    const controller = new Controller();
    exchange.onRequestStart(controller);
    expect(controller.aborted).toBe(true);
  });

  it("stands still while the reader is slow", async () => {
    const { exchange, controller } = begun();
    exchange.onResponseData(controller, Buffer.alloc(2 * 1024 * 1024));
    expect(controller.paused).toBe(true);
    vi.advanceTimersByTime(1_000_000);
    expect(controller.aborted).toBe(false);
    expect((await exchange.read())?.length).toBe(1);
    expect(controller.paused).toBe(false);
    const read = exchange.read();
    vi.advanceTimersByTime(100);
    await expect(read).rejects.toEqual(timeout);
  });

  it("does not run where no time is set", () => {
    const exchange = new Exchange(never, 0, 0);
    exchange.answer.catch(() => {});
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is stopped when all is over", async () => {
    const { exchange, controller, over } = begun();
    exchange.onResponseData(controller, some);
    exchange.onResponseEnd();
    expect(vi.getTimerCount()).toBe(0);
    expect(await exchange.read()).toEqual([some]);
    expect(await exchange.read()).toBeUndefined();
    await over;
  });
});

describe("reading", () => {
  it("brings all that came since the last time", async () => {
    const { exchange, controller } = begun();
    exchange.onResponseData(controller, Buffer.from("a"));
    exchange.onResponseData(controller, Buffer.from("b"));
    expect((await exchange.read())?.map(String)).toEqual(["a", "b"]);
  });

  it("brings all that one read of the socket brought, though somebody waited for the first", async () => {
    const { exchange, controller } = begun();
    const pieces = ["a", "b", "c"].map((text) => Buffer.from(text));
    const read = exchange.read();
    for (const piece of pieces) exchange.onResponseData(controller, piece);
    expect(await read).toEqual(pieces);
    const last = exchange.read();
    exchange.onResponseData(controller, some);
    exchange.onResponseEnd();
    expect(await last).toEqual([some]);
    expect(await exchange.read()).toBeUndefined();
  });

  it("holds a server back that sends much at once, until it was read", async () => {
    const { exchange, controller } = begun();
    const read = exchange.read();
    for (let i = 0; i < 5; i++) exchange.onResponseData(controller, Buffer.alloc(64 * 1024));
    expect(controller.paused).toBe(true);
    expect(await read).toHaveLength(5);
    expect(controller.paused).toBe(false);
  });

  it("holds a server back that sends letter by letter, long before they are many bytes", async () => {
    const { exchange, controller } = begun();
    let sent = 0;
    for (; !controller.paused && sent < 100_000; sent++) exchange.onResponseData(controller, some);
    expect(sent).toBeLessThan(10_000);
    expect(await exchange.read()).toHaveLength(sent);
    expect(controller.paused).toBe(false);
  });

  it("brings what came before a failure, then the failure", async () => {
    const { exchange, controller } = begun();
    exchange.onResponseData(controller, some);
    exchange.onResponseError(controller, new Error("reset"));
    expect(await exchange.read()).toEqual([some]);
    await expect(exchange.read()).rejects.toEqual(
      expect.objectContaining({ code: "upstream_failed" }),
    );
  });

  it("tells of the head when all that came with it is there, also a failure", async () => {
    const { exchange, controller } = begun();
    let told = false;
    const answer = exchange.answer.finally(() => {
      told = true;
    });
    await Promise.resolve();
    expect(told).toBe(false);
    exchange.onResponseData(controller, some);
    exchange.onResponseError(controller, new Error("reset"));

    const { status } = await answer;

    expect(status).toBe(200);
    expect(await exchange.read()).toEqual([some]);
    await expect(exchange.read()).rejects.toMatchObject({ code: "upstream_failed" });
  });

  it("comes behind thousands of heads that announce it, and not behind ever more", async () => {
    for (const [heads, status] of [
      [10_000, 200],
      [10_001, undefined],
    ] as const) {
      const exchange = new Exchange(never, 1000, 100);
      const controller = new Controller();
      exchange.onRequestStart(controller);
      for (let i = 0; i < heads; i++) exchange.onResponseStart(controller, 102, {});
      expect(controller.aborted).toBe(status === undefined);
      exchange.onResponseStart(controller, 200, {});
      const answer = exchange.answer.then((it) => it.status);
      if (status) expect(await answer).toBe(status);
      else await expect(answer).rejects.toMatchObject({ code: "upstream_failed" });
      exchange.abort();
    }
  });

  it("brings nothing more after an abort", async () => {
    const { caller, exchange, controller } = begun();
    const reason = new LintelError("cancelled", "left");
    exchange.onResponseData(controller, some);
    caller.abort(reason);
    await expect(exchange.read()).rejects.toBe(reason);
    expect(controller.reason).toBe(reason);
  });
});

describe("the body of a refusal", () => {
  function refused() {
    const begin = begun();
    begin.exchange.onResponseStart(begin.controller, 503, {});
    begin.exchange.onResponseData(begin.controller, some);
    return { ...begin, body: errorBodyOf(begin.exchange, begin.caller.signal) };
  }

  it("is what came of it in two seconds", async () => {
    const { exchange, controller, body } = refused();
    for (let ms = 0; ms < 2000; ms += 50) {
      expect(controller.aborted).toBe(false);
      exchange.onResponseData(controller, some);
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(await body).toBe("x".repeat(41));
    expect(controller.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is for nobody who has left", async () => {
    const { caller, body } = refused();
    const reason = new LintelError("cancelled", "left");
    caller.abort(reason);
    await expect(body).rejects.toBe(reason);
  });
});

describe("the time to connect", () => {
  it("does not count while the transport's connections are all in use", async () => {
    // Sockets and undici's own work go on: only the clock stands still.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const server = await Upstream.start(async (exchange) => {
      await held;
      await exchange.send(200, {}, "done");
    });
    const transport = new Transport({
      origin: server.url,
      headers: {},
      timeouts: { connect: 60_000, first: 60_000, idle: 60_000 },
      connections: 1,
    });
    const { signal } = new AbortController();
    const send = () => transport.send({ method: "GET", path: "/", signal, connect: 300 });
    const first = send();
    await server.received(1);
    const second = send();
    vi.advanceTimersByTime(300);
    answer();
    for (const sent of [first, second]) expect(await (await sent).text(100)).toBe("done");
    await transport.close();
    await server.close();
  });

  it.each([
    ["shorter than that of the answer", 1000],
    ["and the answer's is any", 0],
  ])("counts where one is free, %s", async (_, first) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const exchange = new Exchange(never, first, 100, 300);
    vi.advanceTimersByTime(300);
    await expect(exchange.answer).rejects.toMatchObject({
      code: "timeout",
      message: "the model server did not take the connection",
    });
  });
});

describe("while all connections are in use", () => {
  it("how the server is can be asked, and what it has", async () => {
    const server = await Upstream.start(async (exchange) => {
      if (exchange.request.path === "/call") await exchange.gone;
      else await exchange.send(200, {}, "well");
    });
    const transport = new Transport({
      origin: server.url,
      headers: {},
      timeouts: { connect: 0, first: 0, idle: 0 },
      connections: 1,
    });
    const { signal } = new AbortController();
    const calls = [1, 2].map(() => transport.send({ method: "GET", path: "/call", signal }));
    await server.received(1);
    for (let i = 0; i < 2; i++) {
      const asked = transport.send({ method: "GET", path: "/models", signal, aside: true });
      expect(await (await asked).text(100)).toBe("well");
    }
    expect([server.requests.length, server.connections]).toEqual([3, 2]);
    const ended = calls.map((call) =>
      expect(call).rejects.toMatchObject({ code: "shutting_down" }),
    );
    await Promise.all([transport.close(), ...ended]);
    await server.close();
  });
});

describe("a request that waits for a connection", () => {
  it("is sent in its turn, and leaves nothing behind when nobody waits for it any more", async () => {
    const server = await Upstream.start(async (exchange) => {
      if (exchange.request.path === "/hangs") await exchange.gone;
      else await exchange.send(200, {}, exchange.request.path);
    });
    const transport = new Transport({
      origin: server.url,
      headers: {},
      timeouts: { connect: 0, first: 0, idle: 0 },
      connections: 1,
    });
    const left = new LintelError("cancelled", "the caller left");
    const callers = Array.from({ length: 64 }, () => new AbortController());
    const send = (path: string, { signal }: AbortController, body = "") =>
      transport.send({ method: "POST", path, body, signal });
    const [one, two, three] = ["/hangs", "/two", "/three"].map((path) => {
      const caller = new AbortController();
      return { caller, answer: send(path, caller) };
    });
    await server.received(1);
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    collect();
    const before = process.memoryUsage().heapUsed;
    const gone = callers.map((caller) =>
      send("/gone", caller, randomBytes(256 * 1024).toString("hex")),
    );
    for (const caller of callers) caller.abort(left);
    for (const answer of await Promise.allSettled(gone)) {
      expect(answer).toEqual({ status: "rejected", reason: left });
    }
    gone.length = 0;
    await setImmediate();
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(8 * 1024 * 1024);
    one?.caller.abort(left);
    await expect(one?.answer).rejects.toBe(left);
    for (const sent of [two, three]) expect((await sent?.answer)?.status).toBe(200);
    expect(server.requests.map(({ path }) => path)).toEqual(["/hangs", "/two", "/three"]);
    const last = Promise.allSettled(
      ["/hangs", "/four"].map((path) => send(path, new AbortController())),
    );
    await server.received(4);
    await transport.close();
    for (const answer of await last) {
      expect(answer).toMatchObject({ status: "rejected", reason: { code: "shutting_down" } });
    }
    expect(server.requests).toHaveLength(4);
    await server.close();
  });
});
