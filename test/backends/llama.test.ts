import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { loadModel } from "../../src/backends/llama/load.js";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { backendContract } from "./contract.js";
import { answer, backendFor, chatRequest, start, tiny, trained } from "./llama-subject.js";
import type { Subject } from "./subject.js";

backendContract("llama", {
  methods: ["chat", "countTokens"],
  skips: {
    "hold counting": "nothing can hold it up",
    "hold before": "llama.cpp can't be held up; see: gives a sequence to who waits for it",
    "hold middle": "llama.cpp can't be held up; see: hears an abort between two tokens",
  },
  async setup() {
    const backend = backendFor(tiny);
    await backend.ready?.("tiny", never);
    return {
      backend,
      request: ((_method, text = "hello") => chatRequest(text)) as Subject["request"],
      hold() {
        throw new Error("llama.cpp can't be held up");
      },
      close() {},
    };
  },
});

describe("sampling", () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = backendFor(tiny);
    await backend.ready?.("tiny", never);
  });
  afterAll(() => backend.close());
  const ask = (more: Parameters<typeof chatRequest>[1]) =>
    answer(backend, chatRequest("hello", { maxTokens: 16, ...more }));

  it("is deterministic at temperature 0", async () => {
    const first = await ask({ temperature: 0, seed: 1n });
    expect((await ask({ temperature: 0, seed: 2n })).text).toBe(first.text);
  });

  it.each([1e-7, 1e-40, 5e-324])("takes the likeliest token only at %d", async (temperature) => {
    const greedy = await ask({ temperature: 0 });
    expect((await ask({ temperature, seed: 2n })).text).toBe(greedy.text);
  });

  it("follows the seed, and chance without one", async () => {
    const first = await ask({ temperature: 1, seed: 7n });
    expect((await ask({ temperature: 1, seed: 7n })).text).toBe(first.text);
    expect((await ask({ temperature: 1, seed: 8n })).text).not.toBe(first.text);
    const free = [await ask({ temperature: 1 }), await ask({ temperature: 1, seed: -1n })];
    expect(free[0]?.text).not.toBe(free[1]?.text);
  });

  it("takes the largest seed for one like the others", async () => {
    const first = await ask({ temperature: 1, seed: 4294967295n });
    expect((await ask({ temperature: 1, seed: 4294967295n })).text).toBe(first.text);
  });

  it("takes the likeliest token only with top_k 1 or a tiny top_p", async () => {
    const greedy = await ask({ temperature: 0 });
    expect((await ask({ temperature: 2, topK: 1, seed: 3n })).text).toBe(greedy.text);
    expect((await ask({ temperature: 2, topP: 0.0001, seed: 3n })).text).toBe(greedy.text);
  });

  it("takes top_k 0 and -1 for all tokens", async () => {
    const all = await ask({ temperature: 2, topK: -1, seed: 5n });
    expect((await ask({ temperature: 2, topK: 0, seed: 5n })).text).toBe(all.text);
    expect((await ask({ temperature: 2, topK: 2, seed: 5n })).text).not.toBe(all.text);
  });
});

it("warns of a context that is larger than what the model was trained for", async () => {
  const warned: object[] = [];
  const log = { ...silent, warn: (fields: object) => void warned.push(fields) };
  for (const contextSize of [128, 256]) {
    const settings = { path: tiny, sequences: 1, gpu: false, contextSize } as const;
    await (await loadModel(settings, { log, signal: never })).close();
  }
  expect(warned).toEqual([{ path: tiny, contextSize: 256, trained: 128 }]);
});

describe("limits", () => {
  let backend: Backend;
  beforeAll(() => {
    backend = backendFor(tiny, { sequences: 1 });
  });
  afterAll(() => backend.close());

  it("counts tokens exactly", async () => {
    const { prompt, completion, finishReason } = await answer(backend, chatRequest("hello"));
    // <|bos|><|user|>hello<|end|><|assistant|>: every byte is a token.
    expect({ prompt, completion, finishReason }).toEqual({
      prompt: 9,
      completion: 8,
      finishReason: "length",
    });
  });

  it("generates no more than the context holds", async () => {
    const { completion, finishReason } = await answer(
      backend,
      chatRequest("hello", { maxTokens: 10_000 }),
    );
    expect({ completion, finishReason }).toEqual({ completion: 128 - 9, finishReason: "length" });
  });

  it("answers a conversation that leaves room for one token", async () => {
    const { prompt, completion } = await answer(backend, chatRequest("x".repeat(128 - 5)));
    expect({ prompt, completion }).toEqual({ prompt: 127, completion: 1 });
  });

  it("refuses a conversation that does not fit, with the numbers", async () => {
    const error = await answer(backend, chatRequest("x".repeat(124))).catch((e) => e);
    expect(error).toBeInstanceOf(LintelError);
    expect(error).toMatchObject({ code: "invalid_value", param: "messages" });
    expect(error.message).toContain("128 tokens");
    // The word that OpenAI's clients look for.
    expect(error.message).toContain("context_length_exceeded");
    expect(error.message).toContain("127");
  });

  it("refuses more messages than there is room for tokens without reading them", async () => {
    const messages = Array.from({ length: 128 }, () => chatRequest("x").messages).flat();
    const error = await answer(backend, chatRequest("", { messages })).catch((e) => e);
    expect(error).toMatchObject({ code: "invalid_value", param: "messages" });
    expect(error.message).toContain("at least 128 tokens");
    expect(error.message).toContain("127");
  });

  it("reads a long conversation in pieces, and gives the same answer again", async () => {
    const wide = backendFor(tiny, { sequences: 1, context_size: 2048 });
    const request = chatRequest("abcdefgh".repeat(200));
    const first = await answer(wide, request);
    expect(first.prompt).toBe(1604);
    // The second one finds most of its prompt in the sequence.
    expect((await answer(wide, request)).text).toBe(first.text);
    await wide.close();
  });
});

describe("stop", () => {
  let backend: Backend;
  beforeAll(() => {
    backend = backendFor(tiny);
  });
  afterAll(() => backend.close());

  it("ends before a stop text, also one over several tokens", async () => {
    const free = await answer(backend, chatRequest("stop test", { maxTokens: 40 }));
    const printable = /[ -~]{2,3}/.exec(free.text)?.[0] ?? "";
    expect(printable.length).toBeGreaterThan(1);
    const stopped = await answer(
      backend,
      chatRequest("stop test", { maxTokens: 40, stop: ["never this", printable] }),
    );
    expect([stopped.finishReason, stopped.stopSequence]).toEqual(["stop", printable]);
    expect(stopped.text).toBe(free.text.slice(0, free.text.indexOf(printable)));
  });

  it("gives out what only looked like a stop text", async () => {
    const free = await answer(backend, chatRequest("hello", { maxTokens: 6 }));
    const { text, finishReason, stopSequence } = await answer(
      backend,
      chatRequest("hello", { maxTokens: 6, stop: [`${free.text}and more`] }),
    );
    expect([text, finishReason, stopSequence]).toEqual([free.text, "length", undefined]);
  });
});

describe("calls at once", () => {
  let backend: Backend;
  afterEach(() => backend.close());

  it("hears an abort between two tokens", async () => {
    backend = backendFor(tiny, { sequences: 1 });
    const controller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const stream = start(backend, chatRequest("hello", { maxTokens: 100 }), controller.signal);
    await stream.next();
    controller.abort(reason);
    await expect(stream.next()).rejects.toBe(reason);
    expect((await answer(backend, chatRequest("hello"))).completion).toBe(8);
  });

  it("gives a sequence to who waits for it, in turn; who leaves loses the place", async () => {
    backend = backendFor(tiny, { sequences: 1 });
    const first = start(backend, chatRequest("hello", { maxTokens: 100 }));
    await first.next();
    const leaving = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const order: string[] = [];
    const ask = (name: string, signal?: AbortSignal) =>
      answer(backend, chatRequest(name), signal).finally(() => order.push(name));
    const waiting = [ask("two"), ask("three", leaving.signal), ask("four")];
    leaving.abort(reason);
    await expect(waiting[1]).rejects.toBe(reason);
    expect(order).toEqual(["three"]);
    await first.return?.();
    await Promise.all([waiting[0], waiting[2]]);
    expect(order).toEqual(["three", "two", "four"]);
  });

  it("ends running and waiting calls when it is closed", async () => {
    backend = backendFor(tiny, { sequences: 1 });
    const running = start(backend, chatRequest("hello", { maxTokens: 100 }));
    await running.next();
    const waiting = answer(backend, chatRequest("hello")).catch((error) => error);
    await backend.close();
    await expect(running.next()).rejects.toMatchObject({ code: "shutting_down" });
    expect(await waiting).toMatchObject({ code: "shutting_down" });
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "shutting_down",
    });
  });
});

describe("the embedded model", () => {
  let backend: Backend;
  beforeAll(() => {
    backend = backendFor(trained);
  });
  afterAll(() => backend.close());

  it("answers in words and ends by itself", async () => {
    const { text, finishReason, completion } = await answer(
      backend,
      chatRequest("Hello", { maxTokens: 200 }),
    );
    expect(text).toMatch(/^[A-Z][ -~]+[.!?]$/);
    expect(finishReason).toBe("stop");
    expect(completion).toBeGreaterThan(2);
  });

  it("serves several at once with the same answers as one by one", async () => {
    const words = ["Hello", "Who are you?", "What is 2 + 2?", "Tell me a story.", "Thank you"];
    const ask = (word: string) => answer(backend, chatRequest(word, { maxTokens: 24 }));
    const alone: string[] = [];
    for (const word of words) alone.push((await ask(word)).text);
    const together = await Promise.all(words.map(ask));
    expect(together.map(({ text }) => text)).toEqual(alone);
  });
});
