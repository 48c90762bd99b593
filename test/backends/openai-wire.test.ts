/** The openai backend against servers that do what servers do on the wire. */
import { describe, expect, it } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { openaiSchema } from "../../src/backends/openai/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { gate } from "../support/calls.js";
import { fixture, fixtureNames } from "./fixture.js";
import { against, backend, failed, stream } from "./openai-streamed.js";
import { chatRequest, chunk, echo } from "./openai-subject.js";
import { serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

async function whole(on: Backend, request: LLMRequest = chatRequest()): Promise<LLMResponse> {
  for await (const [message] of on.handlers.complete?.(callOf("complete", request)) ?? []) {
    if (message) return message;
  }
  throw new Error("no message");
}

describe("fixtures over the wire", () => {
  const streams = fixtureNames().filter((name) => /\/stream(?!.*error|.*abort)/.test(name));
  it.each(streams)("%s in pieces of one byte", async (name) => {
    const { backend } = await against((exchange) => exchange.play(fixture(name), 1));
    const streamed = await stream(backend);
    expect(streamed.error).toBeUndefined();
    expect(streamed.steps.flat().at(-1)?.usage?.totalTokens).toBeGreaterThan(0);
  });

  it.each(fixtureNames().filter((name) => /stream-(error|abort)/.test(name)))(
    "%s ends with an error, after the text",
    async (name) => {
      const { backend } = await against((exchange) => exchange.play(fixture(name)));
      const streamed = await stream(backend);
      expect(streamed.error).toBeInstanceOf(LintelError);
      expect(streamed.steps.flat().some((m) => m.choices[0]?.finishReason)).toBe(false);
      if (name !== "vllm/stream-error-old" && name !== "sglang/stream-error") {
        expect(streamed.text).not.toBe("");
      }
    },
  );
});

describe("one read", () => {
  it("is one step, with all the messages that it brought", async () => {
    const { backend } = await against(async (exchange) => {
      const many = ["a", "b", "c"].map((content) => chunk({ content }));
      const events = [...many, chunk({}, "stop")].map((c) => `data: ${JSON.stringify(c)}\n\n`);
      await exchange.stream(`${events.join("")}data: [DONE]\n\n`);
      await exchange.end();
    });
    const { steps } = await stream(backend);
    expect(steps.map((step) => step.length)).toEqual([4]);
  });

  it("of 20 MB in one data line is read", async () => {
    const content = "x".repeat(20 * 1024 * 1024);
    const { backend } = await against(async (exchange) => {
      await exchange.stream(chunk({ content }), chunk({}, "stop"), "data: [DONE]\n\n");
      await exchange.end();
    });
    const streamed = await stream(backend);
    expect(streamed.error).toBeUndefined();
    expect(streamed.text.length).toBe(content.length);
  });

  it("of more than that without an end is refused, and the connection closed", async () => {
    const upstream = await serve(async (exchange) => {
      await exchange.stream("data: ");
      const megabyte = Buffer.alloc(1024 * 1024, "x");
      for (let sent = 0; sent < 33; sent++) await exchange.chunk(megabyte);
      await exchange.gone;
    });
    const streamed = await stream(backend(upstream.url));
    expect(streamed.error).toEqual(failed("upstream_failed"));
  });

  it("of a whole answer is limited", async () => {
    const { backend } = await against(async (exchange) => {
      await exchange.head(200, { "content-type": "application/json" });
      const megabyte = Buffer.alloc(1024 * 1024, " ");
      for (let sent = 0; sent < 33; sent++) await exchange.chunk(megabyte);
      await exchange.gone;
    });
    await expect(whole(backend)).rejects.toEqual(failed("upstream_failed"));
  });
});

describe("the end", () => {
  it("leaves the connection to the next call, also where the last chunk comes late", async () => {
    const ends: (() => void)[] = [];
    const { upstream, backend } = await against(
      async (exchange) => {
        await exchange.stream(chunk({ content: "a" }, "stop"), "data: [DONE]\n\n");
        await new Promise<void>((resolve) => ends.push(resolve));
        await exchange.end();
      },
      { connections: 1 },
    );
    expect((await stream(backend)).error).toBeUndefined();
    const second = stream(backend);
    ends[0]?.();
    expect((await second).error).toBeUndefined();
    expect(upstream.connections).toBe(1);
  });

  it("is clean where a server breaks off after its finish reason", async () => {
    const { backend } = await against(async (exchange) => {
      await exchange.stream(chunk({ content: "a" }), chunk({}, "length"));
      exchange.destroy();
    });
    const { steps, error } = await stream(backend);
    expect(error).toBeUndefined();
    expect(steps.flat().at(-1)?.choices[0]?.finishReason).toBe("length");
  });

  it("is clean where the usage after its finish reason is cut off", async () => {
    const { backend } = await against(async (exchange) => {
      await exchange.stream(chunk({ content: "a" }), chunk({}, "stop"));
      await exchange.chunk('data: {"id":"c","usa');
      exchange.destroy();
    });
    const { text, error } = await stream(backend);
    expect([text, error]).toEqual(["a", undefined]);
  });

  it("is clean where a server hangs after its finish reason", async () => {
    const { backend } = await against(
      async (exchange) => {
        await exchange.stream(chunk({ content: "a" }), chunk({}, "stop"));
        await exchange.gone;
      },
      { timeouts: { idle: 50 } },
    );
    expect((await stream(backend)).error).toBeUndefined();
  });

  it.each([
    [
      "a chunked stream",
      (async (exchange) => {
        await exchange.stream(chunk({ content: "a" }));
        exchange.destroy();
      }) satisfies Script,
    ],
    [
      "a stream with a length",
      (async (exchange) => {
        await exchange.head(200, { "content-type": "text/event-stream", "content-length": "9999" });
        await exchange.raw(`data: ${JSON.stringify(chunk({ content: "a" }))}\n\n`);
        exchange.destroy();
      }) satisfies Script,
    ],
  ])("is a failure where %s is cut short", async (_, script) => {
    const { backend } = await against(script);
    const streamed = await stream(backend);
    expect(streamed.text).toBe("a");
    expect(streamed.error).toEqual(failed("upstream_failed"));
  });

  it("is a failure where a whole answer is cut short", async () => {
    const { backend } = await against(async (exchange) => {
      await exchange.head(200, { "content-type": "application/json", "content-length": "999" });
      await exchange.raw('{"choices":[');
      exchange.destroy();
    });
    await expect(whole(backend)).rejects.toEqual(failed("upstream_failed"));
  });
});

describe("answers that are not what was asked for", () => {
  it("reads a whole answer behind a byte order mark", async () => {
    const { status, headers, body } = fixture("vllm/whole");
    const marked = Buffer.concat([Buffer.from("\uFEFF"), body]);
    const { backend } = await against((exchange) => exchange.send(status, headers, marked));
    expect((await whole(backend)).choices[0]?.message?.content).toBe("Grüße 👋");
  });

  it("takes a whole answer for a stream", async () => {
    const { backend } = await against((exchange) => exchange.play(fixture("vllm/whole")));
    const { steps, text } = await stream(backend);
    expect(text).toBe("Grüße 👋");
    expect(steps.flat().at(-1)).toMatchObject({
      usage: { totalTokens: 18 },
      choices: [{ finishReason: "stop", delta: { content: "" } }],
    });
  });

  it.each([
    ["an error with status 200", (e) => e.sendJson(200, { error: { message: "no", code: 500 } })],
    ["a compressed body", (e) => e.send(200, { "content-encoding": "gzip" }, "xxxx")],
    ["a page of HTML", (e) => e.send(200, { "content-type": "text/html" }, "<html></html>")],
    ["nothing", (e) => e.send(200, { "content-type": "text/event-stream" }, "")],
    ["no HTTP", (e) => e.raw("SSH-2.0-OpenSSH_9.6\r\n")],
  ] satisfies [string, Script][])("fails on %s", async (_, script) => {
    const { backend } = await against(script);
    expect((await stream(backend)).error).toEqual(failed("upstream_failed"));
    await expect(whole(backend)).rejects.toEqual(failed("upstream_failed"));
  });

  const encoded = (encoding: string) =>
    against(async (exchange) => {
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const { body } = fixture("vllm/whole");
      await exchange.send(200, headers, body);
    });

  it.each(["identity", "Identity", "none", "UTF-8", ""])(
    "takes %j for no encoding at all",
    async (encoding) => {
      const { backend } = await encoded(encoding);
      expect((await stream(backend)).text).toBe("Grüße 👋");
      expect((await whole(backend)).usage?.totalTokens).toBe(18);
    },
  );

  it.each(["gzip", "GZIP", "x-gzip", "deflate", "compress", "br", "zstd", "identity, gzip"])(
    "fails on an answer in %s",
    async (encoding) => {
      const { backend } = await encoded(encoding);
      const { error } = await stream(backend);
      expect(error).toEqual(failed("upstream_failed"));
      expect(error?.message).toContain("an encoding that was not asked for");
    },
  );

  it("follows no redirect", async () => {
    const other = await serve(echo);
    const { backend } = await against((exchange) =>
      exchange.send(307, { location: `${other.url}/v1/chat/completions` }, ""),
    );
    await expect(whole(backend)).rejects.toEqual(failed("upstream_failed"));
    expect(other.requests).toHaveLength(0);
  });
});

describe("statuses", () => {
  it.each([
    [400, "invalid_value"],
    [401, "upstream_failed"],
    [403, "upstream_failed"],
    [404, "upstream_failed"],
    [408, "timeout"],
    [413, "invalid_value"],
    [422, "invalid_value"],
    [429, "rate_limited"],
    [500, "upstream_failed"],
    [502, "upstream_failed"],
    [503, "unavailable"],
    [504, "timeout"],
    [529, "unavailable"],
  ])("%i is %s", async (status, code) => {
    const message = "see http://10.0.0.5:8000/x and key sk-abcdefghijkl";
    const { backend } = await against((e) => e.sendJson(status, { error: { message } }));
    const { error } = await stream(backend);
    expect(error).toEqual(failed(code));
    expect(error?.message).not.toMatch(/10\.0\.0\.5|8000|sk-abc/);
    await expect(whole(backend)).rejects.toEqual(failed(code));
  });

  it.each([
    ["7", 7],
    ["0", 1],
    [() => new Date(Date.now() + 3_600_000).toUTCString(), 3600],
    ["soon", 1],
  ])("Retry-After %s", async (header, seconds) => {
    const value = typeof header === "string" ? header : header();
    const { backend } = await against((e) => e.sendJson(429, {}, { "retry-after": value }));
    const { error } = await stream(backend);
    expect(error?.retryAfter).toBeGreaterThanOrEqual(seconds - 5);
    expect(error?.retryAfter).toBeLessThanOrEqual(seconds);
  });
});

describe("configuration", () => {
  const entry = (more: object) =>
    openaiSchema.safeParse({ type: "openai", name: "n", url: "http://h", ...more }).success;

  it("takes what a server needs and nothing else", () => {
    expect(entry({})).toBe(true);
    expect(entry({ timeouts: { connect: "2s", idle: 1000 }, headers: { "x-a": "b" } })).toBe(true);
    expect(entry({ url: "ftp://h" })).toBe(false);
    expect(entry({ url: "http://user:pass@h" })).toBe(false);
    expect(entry({ headers: { "x a": "b" } })).toBe(false);
    expect(entry({ headers: { "x-a": "b\r\nc: d" } })).toBe(false);
    expect(entry({ api_key: "a\nb" })).toBe(false);
    expect(entry({ models: [] })).toBe(false);
    expect(entry({ dialect: "x" })).toBe(false);
    expect(entry({ unknown: 1 })).toBe(false);
  });
});

it("a chunk that says nothing says that the server is alive", async () => {
  const seen = gate();
  const { backend } = await against(async (exchange) => {
    await exchange.stream(chunk({ role: "assistant", content: null }));
    await seen.opened;
    await exchange.events(chunk({ content: "Yes." }), chunk({}, "stop"), "data: [DONE]\n\n");
    await exchange.end();
  });
  const call = { ...callOf("chat", chatRequest()), alive: seen.open };
  expect(await stream(backend, call)).toMatchObject({ text: "Yes.", error: undefined });
});
