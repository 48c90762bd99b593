/** Connections to OpenAI-compatible servers: that are not made, fall silent, and are let go of when a call is aborted or the backend closed. */
import { describe, expect, it } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { say } from "../support/messages.js";
import { against, backend, failed, stream } from "./openai-streamed.js";
import { chatRequest, chunk, echo } from "./openai-subject.js";
import { serve } from "./serve.js";
import { callOf } from "./subject.js";
import { type Script, Upstream } from "./upstream.js";

describe("servers that can't be reached", () => {
  it("is upstream_unreachable where nobody listens", async () => {
    const upstream = await Upstream.start();
    const { url } = upstream;
    await upstream.close();
    const { error } = await stream(backend(url));
    expect(error).toEqual(failed("upstream_unreachable"));
    expect(error?.message).not.toMatch(/127\.0\.0\.1/);
  });

  it("is timeout where a connection is not made in time", async () => {
    // A TLS handshake that the other side never answers.
    const upstream = await serve(() => {});
    const url = upstream.url.replace("http:", "https:");
    const { error } = await stream(backend(url, { timeouts: { connect: 20 } }));
    expect(error).toEqual(failed("timeout"));
  });

  it.each([
    ["nothing comes", async () => {}],
    ["nothing follows the head", (exchange) => exchange.stream()],
  ] satisfies [string, Script][])("is timeout where %s", async (_, before) => {
    const seen: Promise<void>[] = [];
    const { backend } = await against(
      async (exchange) => {
        seen.push(exchange.gone);
        await before(exchange);
        await exchange.gone;
      },
      { timeouts: { first_token: 50 } },
    );
    expect((await stream(backend)).error).toEqual(failed("timeout"));
    await Promise.all(seen);
  });

  it("is timeout where a stream falls silent", async () => {
    const { backend } = await against(
      async (exchange) => {
        await exchange.stream(chunk({ content: "a" }));
        await exchange.gone;
      },
      { timeouts: { idle: 50 } },
    );
    const streamed = await stream(backend);
    expect(streamed.text).toBe("a");
    expect(streamed.error).toEqual(failed("timeout"));
  });
});

describe("an abort", () => {
  it("of a call that waits for a connection leaves the others alone", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { upstream, backend } = await against(
      async (exchange) => {
        await gate;
        await echo(exchange);
      },
      { connections: 1 },
    );
    const first = stream(backend);
    await upstream.received(1);
    const controller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const second = stream(backend, callOf("chat", chatRequest(), controller.signal));
    controller.abort(reason);
    expect((await second).error).toBe(reason);
    release();
    expect((await first).text).toBe("you said hello ");
    expect((await stream(backend)).text).toBe("you said hello ");
    expect(upstream.requests).toHaveLength(2);
  });

  it("keeps a server that is busy with calls from no health check", async () => {
    const { upstream, backend } = await against(
      async (exchange) => {
        if (exchange.request.path.endsWith("/models")) return exchange.sendJson(200, { data: [] });
        await exchange.gone;
      },
      { connections: 1 },
    );
    const controller = new AbortController();
    const running = stream(backend, callOf("chat", chatRequest(), controller.signal));
    await upstream.received(1);
    await backend.health(controller.signal);
    controller.abort(new LintelError("cancelled", "the caller left"));
    await running;
  });

  it("frees the connection's place, however often", async () => {
    const { upstream, backend } = await against(
      async (exchange) => {
        if (exchange.json().messages[0].content !== "hang") return echo(exchange);
        await exchange.stream(chunk({ content: "a" }));
        await exchange.gone;
      },
      { connections: 2 },
    );
    const messages = [say("user", "hang")];
    for (let round = 1; round <= 10; round++) {
      const controller = new AbortController();
      const running = stream(backend, callOf("chat", chatRequest({ messages }), controller.signal));
      await upstream.received(round);
      controller.abort(new LintelError("cancelled", "the caller left"));
      expect((await running).error?.code).toBe("cancelled");
    }
    const calls = await Promise.all([1, 2, 3, 4].map(() => stream(backend)));
    expect(calls.map(({ text }) => text)).toEqual(Array(4).fill("you said hello "));
    expect(upstream.open).toBeLessThanOrEqual(2);
  });

  it("by a consumer that stops reading closes the connection", async () => {
    const seen: Promise<void>[] = [];
    const { backend } = await against(async (exchange) => {
      seen.push(exchange.gone);
      await exchange.stream(chunk({ content: "a" }));
      await exchange.gone;
    });
    for await (const _ of backend.handlers.chat?.(callOf("chat", chatRequest())) ?? []) break;
    await Promise.all(seen);
    expect(seen).toHaveLength(1);
  });
});

describe("closing", () => {
  it("is the reason that running and later calls give", async () => {
    const { upstream, backend } = await against((exchange) => exchange.gone);
    const running = stream(backend);
    await upstream.received(1);
    await backend.close();
    expect((await running).error).toEqual(failed("shutting_down"));
    expect((await stream(backend)).error).toEqual(failed("shutting_down"));
    expect(upstream.requests).toHaveLength(1);
  });
});
