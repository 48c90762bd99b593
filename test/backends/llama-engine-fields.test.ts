/** How the operator has GGUF models run: what they keep of conversations, how they choose tokens, and how long they stay. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { importLlama, runtime } from "../../src/backends/llama/library.js";
import { bytesNeeded, type KvCacheType } from "../../src/backends/llama/memory.js";
import type { Backend } from "../../src/core/backend.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { answer, backendFor, chatRequest, say, start, tiny, trained } from "./llama-subject.js";

function backend(path: string, config: object): Backend {
  const made = backendFor(path, config);
  onTestFinished(() => made.close());
  return made;
}

const told = async (path: string, config: object, more: object = {}) =>
  (await answer(backend(path, config), chatRequest("What is 2 + 3?", { maxTokens: 24, ...more })))
    .text;

describe("what a model has read of conversations", () => {
  it.each(["f32", "bf16", "q8_0", "q4_0"])("is kept as %s", async (kv_cache_type) => {
    expect((await told(trained, { kv_cache_type })).length).toBeGreaterThan(0);
  });

  it("takes less memory the shorter it is kept", async () => {
    const library = await importLlama();
    const { llama } = await runtime(library, false, silent);
    const shape = { contextSize: 4096, largestDefault: 4096, sequences: 8 };
    const bytes: number[] = [];
    for (const kvCacheType of ["f32", "f16", "q8_0", "q4_0"] as KvCacheType[]) {
      bytes.push(await bytesNeeded(library, llama, trained, { ...shape, kvCacheType }));
    }
    expect(bytes.toSorted((a, b) => b - a)).toEqual(bytes);
    expect(new Set(bytes).size).toBe(bytes.length);
  });

  it.each([
    ["of a model whose heads are too small", tiny, { kv_cache_type: "q8_0" }, "does not divide"],
    [
      "without flash attention",
      trained,
      { kv_cache_type: "q8_0", flash_attention: false },
      "quantized V cache requires flash_attn",
    ],
  ])("can't be kept shorter %s, and the model says why", async (_, path, config, why) => {
    await expect(told(path, config)).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringContaining(why),
    });
  });
});

describe("tokens", () => {
  const hot = { temperature: 2, seed: 3n };

  /** What a model says by a core, which fills in what the operator says. */
  async function saidBy(config: object, more: object = {}): Promise<string> {
    const core = coreOf([backend(tiny, config)]);
    const messages = [say("What is 2 + 3?")];
    const request = { messages, temperature: 0, maxTokens: 24, ...more };
    const [answered] = await run(core, "complete", request);
    return answered?.choices[0]?.message?.content ?? "";
  }

  it("are only the likeliest, where min_p leaves out all others", async () => {
    const greedy = await saidBy({});
    expect(await saidBy({}, { ...hot, minP: 1 })).toBe(greedy);
    expect(await saidBy({ min_p: 1 }, hot)).toBe(greedy);
    expect(await saidBy({ min_p: 1 }, { ...hot, minP: 0.001 })).not.toBe(greedy);
    expect(await saidBy({ min_p: 0 }, hot)).not.toBe(greedy);
  });

  it.each([
    ["repeat_penalty", "repetitionPenalty"],
    ["presence_penalty", "presencePenalty"],
    ["frequency_penalty", "frequencyPenalty"],
  ] as const)("that are in the answer already are chosen less often: %s", async (field, asked) => {
    const request = { maxTokens: 64 };
    const [plain, penalized] = [await saidBy({}, request), await saidBy({ [field]: 2 }, request)];
    const distinct = (text: string) => new Set(text).size;
    expect(distinct(penalized)).toBeGreaterThan(distinct(plain));
    expect(await saidBy({}, { ...request, [asked]: 2 })).toBe(penalized);
    // What a request says goes before what the operator does.
    const little = { ...request, [asked]: 1e-9 + (field === "repeat_penalty" ? 1 : 0) };
    expect(await saidBy({ [field]: 2 }, little)).toBe(plain);
    // And what says that nothing is changed changes nothing.
    const none = { repeat_penalty: 1, presence_penalty: 0, frequency_penalty: 0, min_p: 0 };
    expect(await saidBy(none, request)).toBe(plain);
  });

  it("are chosen by defaults that the model tells", async () => {
    const config = { min_p: 0.25, repeat_penalty: 1.5, presence_penalty: 0.5 };
    const [model] = backend(tiny, config).models();
    const fields = ["frequency_penalty", "presence_penalty", "repetition_penalty", "min_p"];
    expect(model?.supports).toEqual(expect.arrayContaining(fields));
    const defaults = { min_p: 0.25, repetition_penalty: 1.5, presence_penalty: 0.5 };
    expect(model?.defaults).toEqual(defaults);
    expect(backend(tiny, {}).models()[0]?.defaults).toEqual({});
  });
});

describe("a model that no call wants", () => {
  const state = (made: Backend) => made.models()[0]?.state;

  it("leaves memory after a while, and is loaded by the next call", async () => {
    const made = backend(tiny, { keep_alive: 1 });
    made.start?.();
    await made.ready?.("", never);
    await vi.waitFor(() => expect(state(made)).toBe(State.IDLE));
    // Who only looks whether it can be called does not bring it back.
    await made.health?.(never);
    expect(state(made)).toBe(State.IDLE);
    expect((await answer(made, chatRequest("hello"))).completion).toBe(8);
    await vi.waitFor(() => expect(state(made)).toBe(State.IDLE));
  });

  it("stays as long as one runs", async () => {
    const made = backend(tiny, { keep_alive: 1, context_size: 1024 });
    const stream = start(made, chatRequest("hello", { maxTokens: 200 }));
    let pieces = 0;
    for (let next = await stream.next(); !next.done; next = await stream.next()) {
      pieces++;
      expect(state(made)).toBe(State.READY);
    }
    expect(pieces).toBeGreaterThan(20);
    await vi.waitFor(() => expect(state(made)).toBe(State.IDLE));
  });

  it("stays for good where nothing is said", async () => {
    const made = backend(tiny, {});
    await answer(made, chatRequest("hello"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(state(made)).toBe(State.READY);
  });
});
