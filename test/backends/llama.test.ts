import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { checkFile } from "../../src/backends/llama/file.js";
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
    expect(stopped.finishReason).toBe("stop");
    expect(stopped.text).toBe(free.text.slice(0, free.text.indexOf(printable)));
  });

  it("gives out what only looked like a stop text", async () => {
    const free = await answer(backend, chatRequest("hello", { maxTokens: 6 }));
    const { text, finishReason } = await answer(
      backend,
      chatRequest("hello", { maxTokens: 6, stop: [`${free.text}and more`] }),
    );
    expect({ text, finishReason }).toEqual({ text: free.text, finishReason: "length" });
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

describe("files", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function failure(name: string): Promise<string> {
    const backend = backendFor(join(folder, name));
    const error = await answer(backend, chatRequest("hello")).catch((e) => e);
    expect(error).toMatchObject({ code: "model_not_loaded" });
    const [model] = backend.models();
    expect(model).toMatchObject({ state: State.FAILED, stateDetail: error.message });
    expect(error.message).toContain(name);
    expect(error.message).not.toContain(folder);
    await backend.close();
    return error.message;
  }

  it("says that a file is not there", async () => {
    expect(await failure("nowhere.gguf")).toContain("no such file");
  });

  it("says that a file is not a GGUF file", async () => {
    await writeFile(join(folder, "text.gguf"), "this is no model");
    expect(await failure("text.gguf")).toContain("not a GGUF file");
  });

  it("says that a file ends in its header", async () => {
    await copyFile(tiny, join(folder, "header.gguf"));
    await truncate(join(folder, "header.gguf"), 3000);
    expect(await failure("header.gguf")).toMatch(/damaged or incomplete/);
  });

  const architecture = Buffer.from("general.architecture");
  const damages: Record<string, (bytes: Buffer) => unknown> = {
    // The length of a text stands in 64 bits in front of it.
    "a text is longer than the file": (bytes) =>
      bytes.writeUInt32LE(3_000_000_000, bytes.indexOf(architecture) - 8),
    "a list is longer than the file": (bytes) =>
      bytes.writeUInt32LE(1, bytes.indexOf("tokenizer.ggml.tokens") + 21 + 4 + 4 + 4),
    "a value has a type that there is not": (bytes) =>
      bytes.writeUInt32LE(70, bytes.indexOf(architecture) + architecture.length),
    "it has keys without end": (bytes) => bytes.writeUInt32LE(1, 20),
    "a tensor is empty": (bytes) =>
      bytes.writeBigUInt64LE(0n, bytes.indexOf("token_embd.weight") + 17 + 4),
    "a tensor has too many dimensions": (bytes) =>
      bytes.writeUInt32LE(255, bytes.indexOf("token_embd.weight") + 17),
    "it has a version of the future": (bytes) => bytes.writeUInt32LE(70, 4),
  };

  it.each(Object.entries(damages))("says that a file is damaged: %s", async (_, damage) => {
    const bytes = await readFile(tiny);
    damage(bytes);
    await writeFile(join(folder, "damaged.gguf"), bytes);
    expect(await failure("damaged.gguf")).toMatch(/the file is damaged or incomplete: /);
  });

  it.each([
    [5, undefined],
    [70, "the file is damaged or incomplete: its header has no end"],
  ])("takes a header of %d MB: %s", async (megabytes, why) => {
    const path = join(folder, "large.gguf");
    const head = Buffer.alloc(4 + 4 + 8 + 8 + 8 + 1 + 4 + 8);
    head.write("GGUF");
    head.writeUInt32LE(3, 4);
    // One key, "k", and its text.
    head.writeBigUInt64LE(1n, 16);
    head.writeBigUInt64LE(1n, 24);
    head.write("k", 32);
    head.writeUInt32LE(8, 33);
    head.writeBigUInt64LE(BigInt(megabytes) * 2n ** 20n, 37);
    await writeFile(path, head);
    await truncate(path, 80 * 2 ** 20);
    const checked = checkFile(path).then(
      () => undefined,
      (error: Error) => error.message,
    );
    expect(await checked).toBe(why);
  });

  it("takes no key whose name has parts without end", async () => {
    const name = Buffer.from("a.".repeat(1000));
    const head = Buffer.alloc(4 + 4 + 8 + 8 + 8);
    head.write("GGUF");
    head.writeUInt32LE(3, 4);
    head.writeBigUInt64LE(1n, 16);
    head.writeBigUInt64LE(BigInt(name.length), 24);
    const path = join(folder, "parts.gguf");
    await writeFile(path, Buffer.concat([head, name, Buffer.alloc(8)]));
    await expect(checkFile(path)).rejects.toThrow(
      "the file is damaged or incomplete: the name of a key has 2000 bytes",
    );
  });

  it("names the part of a model in several files that is not there", async () => {
    await copyFile(tiny, join(folder, "big-00001-of-00002.gguf"));
    const backend = backendFor(join(folder, "big-00001-of-00002.gguf"));
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "model_not_loaded",
      message: "big-00002-of-00002.gguf: no such file",
    });
    await backend.close();
  });

  it("says that a file ends in its weights", async () => {
    await copyFile(tiny, join(folder, "cut.gguf"));
    await truncate(join(folder, "cut.gguf"), 60_000);
    expect(await failure("cut.gguf")).toMatch(/corrupted|incomplete|bounds/);
  });

  it("speaks ChatML with a file that has no template, behind the beginning that it wants", async () => {
    const path = join(folder, "plain.gguf");
    const bytes = await readFile(tiny);
    const [template, wants] = ["tokenizer.chat_template", "tokenizer.ggml.add_bos_token"];
    bytes.write(template.replace("template", "nothing_"), bytes.indexOf(template));
    // Behind the key and its type.
    bytes[bytes.indexOf(wants) + wants.length + 4] = 1;
    await writeFile(path, bytes);
    const settings = { path, sequences: 1, gpu: false } as const;
    const model = await loadModel(settings, { log: silent, signal: never });
    try {
      const tokens = model.tokenize(chatRequest("hello").messages);
      const text = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n";
      const { bos } = model.model.tokens;
      expect(bos).not.toBeNull();
      expect(tokens).toEqual([bos, ...model.model.tokenize(text, true)]);
      expect(model.stops).toEqual(["<|im_end|>"]);
    } finally {
      await model.close();
    }
  });

  it("says that a chat template does not work", async () => {
    const bytes = await readFile(tiny);
    const at = bytes.indexOf("{% endfor %}");
    bytes.write("{% endfur %}", at);
    await writeFile(join(folder, "template.gguf"), bytes);
    expect(await failure("template.gguf")).toContain("chat template");
  });

  it("says how much memory is missing", async () => {
    const settings = { path: trained, sequences: 4, gpu: false } as const;
    const options = { log: silent, signal: never, weigh: true, freeMemory: 2e6 };
    await expect(loadModel(settings, options)).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringMatching(
        /^lintel-chat\.gguf: the model needs about \d+\.\d GB of memory, and 0\.0 GB are free$/,
      ),
    });
  });

  it("says what an engine said that can't compute a token, and loads the file once it can", async () => {
    const { LlamaContextSequence } = await import("node-llama-cpp");
    vi.spyOn(
      LlamaContextSequence.prototype,
      "evaluateWithoutGeneratingNewTokens",
    ).mockRejectedValueOnce(new Error("the device is lost"));
    const settings = { path: tiny, sequences: 1, gpu: false } as const;
    const options = { log: silent, signal: never };
    await expect(loadModel(settings, options)).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringContaining("the device is lost"),
    });
    vi.restoreAllMocks();
    await (await loadModel(settings, options)).close();
  });

  it("loads no file to its end that nobody will have", async () => {
    const leaving = new AbortController();
    const watch = <T>(_: string, load: (moved: () => void) => Promise<T>) => {
      const loaded = load(() => {});
      leaving.abort();
      return loaded;
    };
    const settings = { path: tiny, sequences: 1, gpu: false } as const;
    const loaded = loadModel(settings, { log: silent, signal: leaving.signal, watch });
    await expect(loaded).rejects.toMatchObject({ code: "shutting_down" });
    // Nor begins one whose turn comes later.
    const { signal } = leaving;
    await expect(loadModel(settings, { log: silent, signal })).rejects.toMatchObject({
      code: "shutting_down",
    });
  });

  it("tries a file again that was put right", async () => {
    const backend = backendFor(join(folder, "late.gguf"));
    await expect(answer(backend, chatRequest("hello"))).rejects.toThrow("no such file");
    await copyFile(tiny, join(folder, "late.gguf"));
    await expect(answer(backend, chatRequest("hello"))).rejects.toThrow("no such file");
    // The time of day counts for nothing: it may be set back.
    vi.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 10_000);
    expect((await answer(backend, chatRequest("hello"))).completion).toBe(8);
    vi.restoreAllMocks();
    await backend.close();
  });

  it("works on beside a broken file", async () => {
    const good = backendFor(tiny);
    await failure("nowhere.gguf");
    expect((await answer(good, chatRequest("hello"))).completion).toBe(8);
    await good.close();
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
