/** What is made of a server's errors: the caller's words, the log's, and what is done next. */
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { keepSecret } from "../../src/core/secrets.js";
import { fixture } from "./fixture.js";
import { answering, causeOf, failure, routed } from "./openai-failing.js";
import { backendFor, chatRequest, chunk } from "./openai-subject.js";
import { callOf } from "./subject.js";
import { type Exchange, type Script, Upstream } from "./upstream.js";

describe("the log is told", () => {
  it("how an answer begins that is no stream", async () => {
    const page = `<html>${"We are back soon. ".repeat(100)}</html>`;
    const thrown = await failure((exchange) =>
      exchange.send(200, { "content-type": "text/html" }, page),
    );
    expect(thrown.message).toBe("the model server answered with no stream");
    expect(causeOf(thrown)).toBe(page.slice(0, 300));
  });

  it("the status of a refusal, and all that the server said", async () => {
    const said = "no room at 10.0.0.5";
    const warn = vi.fn();
    const script = answering(400, { error: { message: said } });
    const thrown = await failure(script, "chat", { ...silent, warn });
    expect(thrown.message).not.toContain("10.0.0.5");
    expect(warn.mock.calls).toEqual([
      [{ id: "req-contract", status: 400, said }, "the model server refused"],
    ]);
  });

  it.each([
    ["a message", (text: string) => JSON.stringify({ error: { message: text } })],
    ["a page", (text: string) => text],
  ])("nothing of a key that stands where %s is cut off", async (_, bodyOf) => {
    keepSecret(["Wq7nTc4KzLr8Vb2Y"]);
    const warn = vi.fn();
    const text = `${"x".repeat(1992)}Wq7nTc4KzLr8Vb2Y`;
    const script: Script = (exchange) => exchange.send(502, {}, bodyOf(text));
    const thrown = await failure(script, "chat", { ...silent, warn });
    expect(causeOf(thrown)).toContain("xx[key]");
    expect(JSON.stringify(warn.mock.calls)).not.toContain("Wq7");
  });

  it("where a server leads to, without what may be a secret, and the caller is not", async () => {
    const location = "https://models.example.com/v1/chat/completions/?key=Wq7#top";
    const script: Script = (exchange) => exchange.send(308, { location }, "<h1>Moved</h1>");
    const thrown = await failure(script);
    expect(thrown).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
    expect(thrown.message).toBe("the model server failed (status 308)");
    expect(causeOf(thrown)).toBe("it redirects to https://models.example.com/v1/chat/completions/");
  });

  const page = `<html><h1>502 Bad Gateway</h1>${"nginx ".repeat(1000)}</html>`;
  it.each([
    ["a proxy's page", 502, page, page.slice(0, 2000)],
    ["plain text", 404, "404 page not found", "404 page not found"],
    ["JSON without words", 400, '{"error":{"code":7}}', '{"error":{"code":7}}'],
    ["what is no text", 500, Buffer.from("1f8b0800000000000003cb48cdc9c907", "hex"), ""],
  ])("how a refusal begins that has no message: %s", async (_, status, body, said) => {
    const warn = vi.fn();
    const script: Script = (exchange) => exchange.send(status, {}, body);
    const thrown = await failure(script, "chat", { ...silent, warn });
    expect(thrown.message).not.toMatch(/nginx|page|7/);
    expect(causeOf(thrown) ?? "").toBe(said);
    expect(warn.mock.calls).toEqual([
      [{ id: "req-contract", status, said }, "the model server refused"],
    ]);
  });
});

describe("routing is told", () => {
  it.each([
    ["Go", "Client sent an HTTP request to an HTTPS server.\n"],
    [
      "nginx",
      "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>",
    ],
    [
      "Apache",
      `<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
<html><head><title>400 Bad Request</title></head><body><h1>Bad Request</h1>
<p>Your browser sent a request that this server could not understand.<br />
Reason: You're speaking plain HTTP to an SSL-enabled server port.<br /></p></body></html>`,
    ],
  ])("that TLS is spoken at the address of a server: %s's", async (_, page) => {
    const thrown = await failure((exchange) => exchange.send(400, {}, page));
    expect(thrown).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
    expect(causeOf(thrown)).toBe(page);
  });

  it("that another Lintel is about to leave", async () => {
    const thrown = await failure((exchange) => exchange.play(fixture("lintel/leaving")));
    expect(thrown).toMatchObject({ code: "unavailable", retryAfter: 5, leaving: true });
    expect(thrown.message).toBe("the model server can't take the request now");
    const { leaving } = await failure(answering(503, { error: { code: "busy" } }));
    expect(leaving).toBe(false);
  });
});

describe("a caller is told", () => {
  it.each([
    [
      "what a provider said to OpenRouter, in JSON",
      routed(400, '{"error":{"message":"too long"}}'),
    ],
    ["the same in Google's list", routed(400, '[{"error":{"message":"too long"}}]')],
    ["the same in words", routed(400, "too long")],
    ["the same as an object", routed(400, { error: { message: "too long" } })],
    ["the texts of a list", { error: ["too long"] }],
    ["the messages of a list", { errors: [{ message: "too long", code: 5021 }], success: false }],
    ["the words of an exception", { error: "ValueError", errors: "too long" }],
  ])("%s", async (_, body) => {
    const { code, message } = await failure(answering(400, body));
    expect([code, message]).toEqual([
      "invalid_value",
      "the model server refused the request: too long",
    ]);
  });

  it.each([
    ["a page", "<html>Bad Gateway at http://10.0.0.1</html>"],
    ["nothing", ""],
    ["JSON without words", '{"error":{"code":7}}'],
    ["a number", 7],
  ])("OpenRouter's own words where the provider sent %s", async (_, raw) => {
    const { message } = await failure(answering(400, routed(400, raw)));
    expect(message).toBe("the model server refused the request: Provider returned error");
  });

  it("each entry of a list, and no more than fits", async () => {
    const { message } = await failure((exchange) => exchange.play(fixture("cloudflare/bad-input")));
    expect(message).toContain("AiError: Bad input: Error: oneOf at '/' not met");
    const two = await failure(answering(400, { error: ["one", { message: "two" }, 3] }));
    expect(two.message).toBe("the model server refused the request: one; two");
    const many = await failure(answering(400, { error: Array(10_000).fill("again and again") }));
    expect(many.message.length).toBeLessThan(600);
  });

  it.each([
    [
      "behind the words",
      { message: "too long", code: "context_length_exceeded" },
      "too long (context_length_exceeded)",
    ],
    [
      "once",
      { message: "unsupported_value: n", code: "unsupported_value" },
      "unsupported_value: n",
    ],
    [
      "before a message that is cut",
      { message: "a".repeat(600), code: "b" },
      `b: ${"a".repeat(497)}`,
    ],
    ["not where it is a number", { message: "too long", code: "3051" }, "too long"],
    ["not where it is no word", { message: "too long", code: "see http://10.0.0.5" }, "too long"],
    ["not where it is endless", { message: "too long", code: "c".repeat(65) }, "too long"],
  ])("a server's code %s", async (_, error, words) => {
    for (const script of [
      answering(400, { error }),
      answering(400, routed(400, JSON.stringify({ error }))),
    ]) {
      expect((await failure(script)).message).toBe(
        `the model server refused the request: ${words}`,
      );
    }
  });

  it("a code also in the middle of a stream and without words, and no key for a code", async () => {
    const error = { message: "too long", code: "context_length_exceeded" };
    const { message } = await failure((exchange) => exchange.stream({ error }));
    expect(message).toContain("too long (context_length_exceeded)");
    const alone = await failure(answering(400, { error: { code: error.code } }));
    expect(alone.message).toBe("the model server refused the request: context_length_exceeded");
    const key = await failure(
      answering(400, { error: { message: "no", code: "sk-abcdefghijkl" } }),
    );
    expect(key.message).not.toContain("abcdefghijkl");
  });

  it("no address and no key of a provider", async () => {
    const raw = '{"error":{"message":"see http://10.0.0.5:8000/x and key sk-abcdefghijkl"}}';
    const { message } = await failure(answering(400, routed(400, raw)));
    expect(message).not.toMatch(/10\.0\.0\.5|8000|sk-abc/);
  });
});

describe("what Cloudflare says of a server that it does not reach", () => {
  it.each([
    [520, "upstream_failed"],
    [521, "upstream_failed"],
    [522, "timeout"],
    [523, "upstream_failed"],
    [525, "upstream_failed"],
    [526, "upstream_failed"],
    [524, "timeout"],
    [530, "upstream_failed"],
  ])("may pass: %i", async (status, code) => {
    const error = await failure((exchange) =>
      exchange.send(status, { "content-type": "text/plain" }, `error code: ${status}`),
    );
    expect(error).toMatchObject({ code, retry: "anywhere" });
  });
});

describe("where another server may do it, it is asked:", () => {
  it.each([401, 402, 403, 404, 405, 410, 412, 501])("%i", async (status) => {
    const error = await failure(answering(status, { error: { message: "no" } }));
    expect(error).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
  });
});

describe("a server's own fault, for which the request may be to blame, is not tried there again:", () => {
  it.each([500, 505, 507, 599])("%i", async (status) => {
    const error = await failure(answering(status, { error: { message: "no" } }));
    expect(error).toMatchObject({ code: "upstream_failed", retry: "doubtful" });
  });

  it("in an answer of status 200, and in a stream, too", async () => {
    const error = { message: "Internal server error", type: "server_error" };
    for (const script of [
      answering(200, { error }),
      (exchange: Exchange) => exchange.stream({ error }),
    ]) {
      expect(await failure(script)).toMatchObject({ code: "upstream_failed", retry: "doubtful" });
    }
  });
});

describe("the status of a refusal counts, and when to come again, where its body", () => {
  const cut = '{"error":{"message":"busy"';

  it.each([
    [
      "breaks off",
      async (exchange, status) => {
        await exchange.head(status, { "content-length": "200", "retry-after": "7" });
        await exchange.raw(cut);
        exchange.destroy();
      },
    ],
    [
      "is packed",
      (exchange, status) =>
        exchange.send(
          status,
          { "content-encoding": "gzip", "retry-after": "7" },
          gzipSync(`${cut}}}`),
        ),
    ],
    [
      "is larger than anyone reads",
      (exchange, status) =>
        exchange.send(status, { "retry-after": "7" }, "<".repeat(2 * 1024 * 1024)),
    ],
  ] satisfies [string, (exchange: Exchange, status: number) => Promise<void>][])(
    "%s",
    async (_, refuse) => {
      for (const [status, expected] of [
        [503, { code: "unavailable", askedDelay: 7 }],
        [429, { code: "rate_limited", askedDelay: 7 }],
        [401, { code: "upstream_failed", retry: "elsewhere" }],
        [400, { code: "invalid_value" }],
      ] as const) {
        const script: Script = (exchange) => refuse(exchange, status);
        expect(await failure(script)).toMatchObject(expected);
      }
    },
  );
});

describe("what a server says of its own failure is for the log alone:", () => {
  const said = "CUDA out of memory at 10.0.0.5";

  it.each([
    ["a status", answering(500, { error: said })],
    ["overload", answering(503, { error: { message: said } })],
    ["a provider behind OpenRouter", answering(502, routed(502, `{"error":"${said}"}`))],
    ["a whole answer", answering(200, { error: said })],
    ["a whole answer of a provider", answering(200, routed(502, said))],
    ["a whole answer in a list", answering(200, [{ error: { message: said, code: 500 } }])],
    ["an event", (exchange) => exchange.stream({ error: { message: said, code: 500 } })],
    ["an event of that name", (e) => e.stream(`event: error\ndata: {"message":"${said}"}\n\n`)],
  ] satisfies [string, Script][])("%s", async (_, script) => {
    const error = await failure(script);
    expect(error.message).not.toContain("CUDA");
    expect(causeOf(error)).toBe(said);
  });

  it("in whole answers", async () => {
    for (const error of [said, { message: said, code: 500 }]) {
      const thrown = await failure(answering(200, [{ error }]), "complete");
      expect(causeOf(thrown)).toBe(said);
    }
  });

  it("the reason of half a completion", async () => {
    const message = { role: "assistant", content: "a" };
    const choices = [{ index: 0, message, finish_reason: "network_error" }];
    const error = await failure(answering(200, { choices }), "complete");
    expect(error.code).toBe("upstream_failed");
    expect(causeOf(error)).toBe("finish reason network_error");
  });

  it("and is cut", async () => {
    const error = await failure(answering(500, { error: "x".repeat(100_000) }));
    expect(causeOf(error)).toBe("x".repeat(2000));
  });
});

describe("an error that no event has around it counts as one", () => {
  const error = { message: "slow down", code: 429 };
  const begun = `data: ${JSON.stringify(chunk({ content: "a" }))}`;
  const lines = (value: unknown, space?: number) => JSON.stringify(value, null, space);

  it.each([
    ["in the stream's place", lines({ error })],
    ["as a text", '{"error":"slow down","code":429}\n\n'],
    ["in a list, on several lines", `${lines([{ error }], 2)}\r\n`],
    ["after an event", `${begun}\n\n${lines({ error })}\n`],
    ["after an event, on several lines", `${begun}\n\n${lines({ error }, 2)}\n\n`],
    ["right below an event", `${begun}\n${lines({ error })}\n\n`],
    ["before the end", `${begun}\n\n${lines({ error })}\n\ndata: [DONE]\n\n`],
    ["below other JSON", `{"status":"ok"}\n{"open":\n\n${lines({ error })}\n\n`],
    ["in MiniMax's form", lines({ base_resp: { status_code: 1002, status_msg: "slow down" } })],
  ])("%s", async (_, body) => {
    for (const type of ["text/event-stream", "text/plain"]) {
      const thrown = await failure((exchange) =>
        exchange.send(200, { "content-type": type }, body),
      );
      expect(causeOf(thrown)).toContain("slow down");
      if (!body.includes('"error":"')) expect(thrown.code).toBe("rate_limited");
    }
  });

  it.each([
    ["what is none", '{"status":"ok"}\n[1]\n{"a":\n1}\n'],
    ["what has no end", `{"a":"${"}\n".repeat(20_000)}\n`],
  ])("and %s does not", async (_, body) => {
    const end = `data: ${JSON.stringify(chunk({}, "stop"))}\n\ndata: [DONE]\n\n`;
    const upstream = await Upstream.start((exchange) =>
      exchange.send(200, { "content-type": "text/event-stream" }, `${body}${begun}\n\n${end}`),
    );
    const backend = backendFor(upstream.url);
    onTestFinished(() => upstream.close());
    onTestFinished(() => backend.close());
    let text = "";
    for await (const step of backend.handlers.chat?.(callOf("chat", chatRequest())) ?? []) {
      for (const { choices } of step) text += choices[0]?.delta?.content ?? "";
    }
    expect(text).toBe("a");
  });
});
