/** That sequences are evaluated together: what a batch holds, in which order, and who is waited for. */
import { type BatchingOptions, LlamaModel, type Token } from "node-llama-cpp";
import { afterEach, describe, expect, it, vi } from "vitest";
import { batchingStrategy, rankOf } from "../../src/backends/llama/batching.js";
import { answer, backendFor, chatRequest, start, tiny, trained } from "./llama-subject.js";

/** Items of a batch: a sequence's number and how many tokens it has. Of the last one comes an output. */
const items = (...waiting: readonly (readonly [sequence: number, tokens: number])[]) =>
  waiting.map(([sequence, tokens]) => ({
    tokens: Array.from({ length: tokens }, (_, i) => i as Token),
    logits: Array.from({ length: tokens }, (_, i) =>
      i === tokens - 1 ? (true as const) : undefined,
    ),
    evaluationPriority: rankOf(sequence),
  }));

/** What a strategy makes of them: numbers and tokens. */
function batchOf(
  strategy: ReturnType<typeof batchingStrategy>,
  given: ReturnType<typeof items>,
  size = 64,
) {
  return strategy({ items: given, size }).map(({ item, processAmount }) => [
    item.evaluationPriority,
    processAmount,
  ]);
}

describe("a batch", () => {
  it("holds the sequences in the order of their numbers", () => {
    expect(batchOf(batchingStrategy(), items([2, 1], [0, 1], [3, 1], [1, 1]))).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 1],
    ]);
  });

  it("gives running sequences their token before prompts share the rest", () => {
    const given = items([0, 100], [1, 1], [2, 3], [3, 100]);
    expect(batchOf(batchingStrategy(), given)).toEqual([
      [1, 1],
      [0, 30],
      [2, 3],
      [3, 30],
    ]);
  });

  it("has its outputs in the order in which they are made: of prompts only one ends", () => {
    const given = items([4, 1], [3, 20], [0, 9], [1, 2], [2, 1]);
    expect(batchOf(batchingStrategy(), given)).toEqual([
      [1, 1],
      [2, 1],
      [4, 1],
      [0, 8],
      [3, 20],
    ]);
    const withoutOutput = items([1, 6], [0, 9]).map((item) => ({ ...item, logits: [] }));
    expect(batchOf(batchingStrategy(), withoutOutput)).toEqual([
      [0, 9],
      [1, 6],
    ]);
  });

  it("leaves out whom it has no room for", () => {
    const given = items([0, 1], [1, 1], [2, 5]);
    expect(batchOf(batchingStrategy(), given, 2)).toEqual([
      [0, 1],
      [1, 1],
    ]);
  });

  it("waits for who was in the last one, but not for ever", () => {
    const strategy = batchingStrategy();
    expect(batchOf(strategy, items([0, 1], [1, 1], [2, 1]))).toHaveLength(3);
    expect(batchOf(strategy, items([0, 1], [2, 1]))).toEqual([]);
    expect(batchOf(strategy, items([0, 1], [2, 1], [1, 1]))).toHaveLength(3);
    let turns = 1;
    while (batchOf(strategy, items([0, 1], [2, 1])).length === 0 && turns < 1000) turns++;
    expect(turns).toBeGreaterThan(10);
    expect(turns).toBeLessThan(1000);
    // From now on two are all.
    expect(batchOf(strategy, items([0, 1], [2, 1]))).toHaveLength(2);
  });
});

/** The numbers of the sequences in each batch that the library makes from now on. */
function watchBatches(): (readonly number[])[] {
  const batches: (readonly number[])[] = [];
  const { createContext } = LlamaModel.prototype;
  vi.spyOn(LlamaModel.prototype, "createContext").mockImplementation(function (
    this: LlamaModel,
    options,
  ) {
    const strategy = options?.batching?.itemPrioritizationStrategy;
    if (typeof strategy !== "function") throw new Error("no strategy of ours");
    const itemPrioritizationStrategy: BatchingOptions["itemPrioritizationStrategy"] = (given) => {
      const batch = strategy(given);
      if (batch.length > 0) batches.push(batch.map(({ item }) => item.evaluationPriority));
      return batch;
    };
    return createContext.call(this, { ...options, batching: { itemPrioritizationStrategy } });
  });
  return batches;
}

describe("calls at once", () => {
  afterEach(() => vi.restoreAllMocks());

  it("share every batch, however they came", async () => {
    const batches = watchBatches();
    const backend = backendFor(tiny, { sequences: 8 });
    await answer(backend, chatRequest("warm"));
    batches.length = 0;
    const tokens = 40;
    const calls = Array.from({ length: 8 }, (_, i) =>
      answer(backend, chatRequest(`call ${i}`, { maxTokens: tokens })),
    );
    for (const { completion } of await Promise.all(calls)) expect(completion).toBe(tokens);
    const whole = batches.filter((batch) => batch.join() === "0,1,2,3,4,5,6,7");
    // The first and the last may differ: calls do not begin at the same moment.
    expect(whole.length).toBeGreaterThan(tokens - 8);
    expect(batches.length).toBeLessThan(tokens + 8);
    await backend.close();
  });

  it("begin as they would alone, whatever the lengths of their prompts", async () => {
    const backend = backendFor(trained, { sequences: 8 });
    // A sum's answer begins with its first number.
    const words = [
      "",
      "What is ",
      "Tell me: ",
      "Could you work out ",
      "Please tell me how much is ",
    ];
    const numbers = Array.from({ length: 400 }, (_, i) => 11 + ((i * 37) % 88));
    const begun: string[] = [];
    const ask = async (number: number, i: number) => {
      const question = `${words[i % words.length]}${number} + ${11 + (i % 80)}`;
      const { text } = await answer(backend, chatRequest(question, { maxTokens: 2 }));
      begun[i] = text.trim();
    };
    for (let i = 0; i < numbers.length; i += 8) {
      await Promise.all(numbers.slice(i, i + 8).map((number, j) => ask(number, i + j)));
    }
    expect(begun).toEqual(numbers.map(String));
    await backend.close();
  });

  it("are one token ahead of their reader, and never more", async () => {
    const batches = watchBatches();
    const backend = backendFor(tiny, { sequences: 1 });
    const messages = start(backend, chatRequest("slow reader", { maxTokens: 60 }));
    await messages.next();
    await messages.next();
    const before = batches.length;
    // Whatever was begun is through when another model's whole answer is there.
    const other = backendFor(tiny, { sequences: 1 });
    await answer(other, chatRequest("another", { maxTokens: 40 }));
    const ofOther = 40;
    expect(batches.length - before - ofOther).toBeLessThanOrEqual(1);
    await messages.return?.();
    await Promise.all([backend.close(), other.close()]);
  });
});
