/** What an exchange leaves behind at its end: a connection that others can have, no timer, and no listener. */
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { begun, some } from "./begun-exchange.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("draining", () => {
  it("keeps the connection if the server ends soon, whatever the caller does", async () => {
    const { caller, exchange, controller, over } = begun();
    exchange.onResponseData(controller, some);
    exchange.drain();
    exchange.abort();
    caller.abort(new LintelError("cancelled", "left"));
    exchange.onResponseData(controller, some);
    exchange.onResponseEnd();
    expect(controller.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
    await over;
  });

  it("gives the connection up if the server goes on", async () => {
    const { exchange, controller, over } = begun();
    exchange.drain();
    exchange.onResponseData(controller, Buffer.alloc(65 * 1024));
    expect(controller.aborted).toBe(true);
    await over;
  });

  it("gives the connection up if the server hangs", async () => {
    const { exchange, controller, over } = begun();
    exchange.onResponseData(controller, some);
    exchange.drain();
    vi.advanceTimersByTime(1000);
    expect(controller.aborted).toBe(true);
    await over;
  });

  it("takes what a server was held back with, and what came before does not count", async () => {
    const { exchange, controller } = begun();
    exchange.onResponseData(controller, Buffer.alloc(2 * 1024 * 1024));
    expect(controller.paused).toBe(true);
    exchange.drain();
    expect(controller.paused).toBe(false);
    exchange.onResponseData(controller, some);
    exchange.onResponseEnd();
    expect(controller.aborted).toBe(false);
  });
});

describe("an answer that is larger than is wanted", () => {
  it("gives the connection up, on which the server would wait to go on", async () => {
    const { exchange, controller, over } = begun();
    exchange.onResponseData(controller, Buffer.alloc(512 * 1024));
    await expect(exchange.text(10)).rejects.toMatchObject({ code: "upstream_failed" });
    expect(controller.aborted).toBe(true);
    await over;
  });

  it("is refused, though all of it is there", async () => {
    const { exchange, controller } = begun();
    exchange.onResponseData(controller, Buffer.alloc(11));
    exchange.onResponseEnd();
    await expect(exchange.text(10)).rejects.toMatchObject({ code: "upstream_failed" });
  });
});

it.each<[string, (it: ReturnType<typeof begun>) => void]>([
  ["ended", ({ exchange }) => exchange.onResponseEnd()],
  [
    "failed",
    ({ exchange, controller }) => exchange.onResponseError(controller, new Error("reset")),
  ],
  ["is drained", ({ exchange }) => exchange.drain()],
])("an exchange that %s is kept by no caller's signal", async (_, end) => {
  const begin = begun();
  const listeners = () => getEventListeners(begin.caller.signal, "abort").length;
  expect(listeners()).toBe(1);
  end(begin);
  expect(listeners()).toBe(0);
});

it("a server that was held back is asked for no more once all is there", async () => {
  const { exchange, controller } = begun();
  exchange.onResponseData(controller, Buffer.alloc(2 * 1024 * 1024));
  exchange.onResponseEnd();
  await exchange.read();
  // Another answer may come over the connection by now, whose reader holds it back.
  expect(controller.paused).toBe(true);
});
