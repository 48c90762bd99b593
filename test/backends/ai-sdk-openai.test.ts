/** Vendors that speak OpenAI's form, by the provider for any of them. */
import { text as textOf } from "node:stream/consumers";
import { ReadableStream } from "node:stream/web";
import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { chat, complete } from "../../src/backends/ai-sdk/chat.js";
import { untilDone } from "../../src/backends/ai-sdk/until-done.js";
import { never } from "../support/calls.js";
import { bodies, chatted, thrownBy } from "./ai-sdk-calls.js";
import { at, whole } from "./ai-sdk-compatible.js";
import { echo as anthropic, anthropicAt } from "./ai-sdk-subject.js";
import { fixture } from "./fixture.js";
import { chatRequest, chunk, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import { cut, type Script, type Upstream } from "./upstream.js";

/** Streams or answers half a completion that ends for a reason. */
const ending =
  (finish_reason: string, usage?: object): Script =>
  async (exchange) => {
    if (!exchange.json().stream) {
      const choices = [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason }];
      return exchange.sendJson(200, { id: "c", created: 1, model: "m", choices, usage });
    }
    const end = { ...chunk({}, finish_reason), usage };
    await exchange.stream(chunk({ content: "a" }), end, "data: [DONE]\n\n");
    await exchange.end();
  };

describe("a field that a vendor refuses", () => {
  /** Refuses requests that have the field, with the fixture. */
  const refusing =
    (field: string, name: string, otherwise: Script): Script =>
    (exchange) =>
      field in exchange.json() ? exchange.play(fixture(name)) : otherwise(exchange);

  it.each([
    ["moonshot/refuses-temperature", at, echo],
    ["openrouter/refuses-temperature", at, echo],
    ["anthropic/refuses-temperature", ({ url }: Upstream) => opened(anthropicAt(url)), anthropic],
  ])("is left out, and told to who set it: %s", async (name, backendAt, otherwise) => {
    const server = await serve(refusing("temperature", name, otherwise));
    const backend = backendAt(server);
    await chatted(backend);
    expect(bodies(server).map(({ temperature }) => temperature)).toEqual([0.7, undefined]);
    expect(backend.models()[0]?.supports).not.toContain("temperature");
    const other = backendAt(server);
    const { warnings } = await whole(other, { temperature: 0.2 });
    expect(warnings).toEqual(["temperature: not supported by this model, ignored"]);
    await whole(other);
    expect(
      bodies(server)
        .slice(2)
        .map(({ temperature }) => temperature),
    ).toEqual([0.2, undefined, undefined]);
  });

  it("of a default is not told", async () => {
    const server = await serve(refusing("temperature", "moonshot/refuses-temperature", echo));
    expect((await chatted(at(server))).warnings).toEqual([]);
  });

  it("is not remembered where it fails without, too", async () => {
    const server = await serve((exchange) =>
      exchange.play(fixture("openrouter/refuses-temperature")),
    );
    const backend = at(server);
    expect(await thrownBy(chatted(backend))).toMatchObject({
      code: "invalid_value",
      message: expect.stringContaining("'temperature' does not support 0.7"),
    });
    expect(server.requests).toHaveLength(2);
    expect(backend.models()[0]?.supports).toContain("temperature");
  });

  it("and without which the answer would be another is none of them", async () => {
    const server = await serve(refusing("max_tokens", "openai/refuses-max-tokens", echo));
    expect(await thrownBy(chatted(at(server)))).toMatchObject({ code: "invalid_value" });
    expect(server.requests).toHaveLength(1);
  });
});

describe("a refusal of stop", () => {
  const refusing = (message: string): Script => {
    const error = { message, type: "invalid_request_error", param: "stop" };
    return (exchange) => exchange.sendJson(400, { error });
  };

  it("names it, and another target may take it", async () => {
    const words = "Unsupported parameter: 'stop' is not supported with this model.";
    const backend = at(await serve(refusing(words)));
    for (const run of [chatted, whole]) {
      expect(await thrownBy(run(backend, { stop: ["."] }))).toMatchObject({
        code: "unsupported_parameter",
        param: "stop",
        retry: "elsewhere",
        message: `stop: the model server refused the request: ${words}`,
      });
    }
  });

  it("is none that is about what it holds", async () => {
    const backend = at(await serve(refusing("stop: must have at most 4 items")));
    expect(await thrownBy(whole(backend, { stop: ["."] }))).toMatchObject({
      code: "invalid_value",
    });
  });
});

describe("a finish reason that the provider does not know", () => {
  it.each([
    ["model_length", "length"],
    ["sensitive", "content_filter"],
    ["eos", "stop"],
    ["length", "length"],
  ])("%s is %s", async (said, finishReason) => {
    const backend = at(await serve(ending(said)));
    for (const { last } of [await chatted(backend), await whole(backend)]) {
      expect(last?.choices[0]?.finishReason).toBe(finishReason);
    }
  });

  it.each(["abort", "insufficient_system_resource", "network_error"])(
    "%s is a failure",
    async (said) => {
      const backend = at(await serve(ending(said)));
      for (const run of [chatted(backend), whole(backend)]) {
        expect(await thrownBy(run)).toMatchObject({ code: "upstream_failed" });
      }
    },
  );
});

describe("a whole answer where a stream was asked for", () => {
  const message = { role: "assistant", content: "Hello" };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

  it.each([
    ["length", "length"],
    [null, "stop"],
    ["", "stop"],
  ])("is the stream, that ended for its reason: %j", async (finish_reason, reason) => {
    const choices = [{ index: 0, message, finish_reason }];
    const answer = { id: "c", created: 1, model: "m", choices, usage };
    const { text, last } = await chatted(
      at(await serve((exchange) => exchange.sendJson(200, answer))),
    );
    expect([text, last?.choices[0]?.finishReason]).toEqual(["Hello", reason]);
    expect(last?.usage).toMatchObject({ promptTokens: 3, completionTokens: 2 });
  });

  it.each([
    [{ error: { message: "slow down", code: 429 } }, "rate_limited"],
    [[{ error: { message: "too long", code: 400 } }], "invalid_value"],
    [{ choices: [{ message, finish_reason: "error" }] }, "upstream_failed"],
    [{ choices: [] }, "upstream_failed"],
    [{ hello: "there" }, "upstream_failed"],
    ["hello", "upstream_failed"],
  ])("fails as it says: %j", async (answer, code) => {
    const backend = at(await serve((exchange) => exchange.sendJson(200, answer)));
    expect(await thrownBy(chatted(backend))).toMatchObject({ code });
  });

  it("is Anthropic's error", async () => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    const server = await serve((exchange) => exchange.sendJson(200, { type: "error", error }));
    expect(await thrownBy(chatted(opened(anthropicAt(server.url))))).toMatchObject({
      code: "unavailable",
    });
  });
});

describe("why OpenAI's models say nothing else", () => {
  const refusing: Script = async (exchange) => {
    if (!exchange.json().stream) {
      const message = { role: "assistant", content: null, refusal: "I can't." };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      return exchange.sendJson(200, { id: "c", created: 1, model: "m", choices });
    }
    const said = [{ role: "assistant", content: null, refusal: "I " }, { refusal: "can't" }];
    const end = [chunk({ refusal: "." }, "stop"), "data: [DONE]\n\n"];
    await exchange.stream(...said.map((delta) => chunk(delta)), ...end);
    await exchange.end();
  };

  it("is text", async () => {
    const backend = at(await serve(refusing));
    const { text, last } = await chatted(backend);
    // The package's own word since 2.0.88 or so, with which it tells the text itself, too.
    expect([text, last?.choices[0]?.finishReason]).toEqual(["I can't.", "content_filter"]);
    const [choice] = (await whole(backend)).last?.choices ?? [];
    expect([choice?.message?.content, choice?.finishReason]).toEqual([
      "I can't.",
      "content_filter",
    ]);
  });

  it("is not told twice where the provider tells it", async () => {
    const { url } = await serve(refusing);
    const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: "k" }).chat("m");
    const known = {
      model,
      package: "",
      providerOptions: {},
      refused: new Set<string>(),
      learn() {},
    };
    let told = "";
    for await (const step of chat(known, callOf("chat", chatRequest()), never)) {
      for (const { choices } of step) told += choices[0]?.delta?.content ?? "";
    }
    expect(told).toBe("I can't.");
    for await (const [answer] of complete(known, callOf("complete", chatRequest()), never)) {
      expect(answer?.choices[0]?.message?.content).toBe("I can't.");
    }
  });
});

describe("a ping of Anthropic's form", () => {
  const ping = 'event: ping\ndata: {"type":"ping"}\n\n';

  it.each([
    ["first", [ping, chunk({ content: "a" })]],
    ["in the middle", [chunk({ content: "a" }), ping, ping]],
  ])("is passed over: %s", async (_, events) => {
    const end = [chunk({}, "length"), "data: [DONE]\n\n"];
    const backend = at(await serve((exchange) => exchange.stream(...events, ...end)));
    const { text, last } = await chatted(backend);
    expect([text, last?.choices[0]?.finishReason]).toEqual(["a", "length"]);
  });

  it("does not make an answer of none", async () => {
    const backend = at(await serve((exchange) => exchange.stream(ping, "data: [DONE]\n\n")));
    expect(await thrownBy(chatted(backend))).toMatchObject({ code: "upstream_failed" });
  });
});

describe("the marker of a stream's end", () => {
  const events = [chunk({ content: "a" }), chunk({}, "stop"), "data: [DONE]\n\n"];

  it("ends it where the server leaves the connection open, and that one is let go of", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let gone: Promise<void> | undefined;
    const backend = at(
      await serve((exchange) => {
        gone = exchange.gone;
        return exchange.stream(...events);
      }),
    );
    const { text, last } = await chatted(backend);
    expect([text, last?.choices[0]?.finishReason]).toEqual(["a", "stop"]);
    vi.advanceTimersByTime(1000);
    await gone;
  });

  it("leaves the connection to a server that is about to end the answer", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const server = await serve(async (exchange) => {
      await exchange.stream(...events);
      await ended;
      await exchange.end();
    });
    const backend = at(server);
    await chatted(backend);
    await chatted(backend);
    expect([server.open, server.connections]).toEqual([2, 2]);
    end();
  });

  it("is followed by nothing that counts", async () => {
    const backend = at(
      await serve(async (exchange) => {
        await exchange.stream(...events, chunk({ content: "b" }));
        await exchange.end();
      }),
    );
    expect((await chatted(backend)).text).toBe("a");
  });

  const passed = (pieces: Iterable<Uint8Array>) =>
    textOf(untilDone(ReadableStream.from(pieces) as ReadableStream<Uint8Array>));

  it.each(["data: [DONE]\n", "data:[DONE]\n", "data: [DONE]\r\n", "data: [DONE]\r"])(
    "is found wherever the bytes are cut: %j",
    async (line) => {
      const before = `data: {"text":"[DONE]"}\n\n`;
      const bytes = Buffer.from(`${before}${line}\ndata: {}\n\n`);
      for (let at = 1; at < bytes.length; at++) {
        const text = await passed(cut(bytes, [at]));
        expect(text.replace(/[\r\n]+$/, "")).toBe(before + line.trimEnd());
      }
      expect(await passed(cut(bytes, 1))).toMatch(/\[DONE\][\r\n]+$/);
    },
  );

  it("is none inside of a line, and a stream without it is as it was", async () => {
    const text = 'event: x\ndata: {"text":"data: [DONE]"}\n\ndata: [DONE] or not\n\n';
    expect(await passed(cut(Buffer.from(text), 5))).toBe(text);
  });
});

it("a stream that breaks off is told as that", async () => {
  const backend = at(
    await serve(async (exchange) => {
      await exchange.stream(chunk({ content: "a" }));
      await exchange.end();
    }),
  );
  expect(await thrownBy(chatted(backend))).toMatchObject({
    code: "upstream_failed",
    message: "the model server broke off its answer: no finish reason",
  });
});

it("counts what only the total has", async () => {
  const usage = { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 };
  const backend = at(await serve(ending("stop", usage)));
  for (const { last } of [await chatted(backend), await whole(backend)]) {
    expect(last?.usage).toMatchObject({
      promptTokens: 32,
      completionTokens: 103,
      totalTokens: 135,
    });
  }
});

it.each([
  ["below zero", { prompt_tokens: -1, completion_tokens: 2, total_tokens: 1 }, [0, 2, 2]],
  ["in fractions", { prompt_tokens: 3.5, completion_tokens: 2, total_tokens: 5.5 }, [0, 2, 2]],
  ["in fractions everywhere", { prompt_tokens: 3.5, completion_tokens: 2.5, total_tokens: 6 }, []],
])("counts %s are none", async (_, usage, [prompt, completion, total]) => {
  const backend = at(await serve(ending("stop", usage)));
  for (const { last } of [await chatted(backend), await whole(backend)]) {
    const { promptTokens, completionTokens, totalTokens } = last?.usage ?? {};
    expect([promptTokens, completionTokens, totalTokens]).toEqual([prompt, completion, total]);
  }
});
