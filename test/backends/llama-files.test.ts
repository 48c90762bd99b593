/** Files of models: those that are not there, damaged or cut short, or can't be loaded now. */
import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { checkFile } from "../../src/backends/llama/file.js";
import { loadModel } from "../../src/backends/llama/load.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { answer, backendFor, chatRequest, tiny, trained } from "./llama-subject.js";

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
