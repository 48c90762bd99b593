import { expect, it, vi } from "vitest";
import { iterable } from "../../src/core/iterate.js";
import { ask, Steps, type Waiter } from "../../src/core/steps.js";

/** Counts to three, at once or a microtask later, and fails then. */
class Count extends Steps<number> {
  #at = 0;
  readonly #soon: (work: () => void) => void;

  constructor(soon: (work: () => void) => void) {
    super();
    this.#soon = soon;
  }

  ask(by: Waiter<IteratorResult<number>>): void {
    this.#at += 1;
    const at = this.#at;
    this.#soon(() => {
      if (at > 3) by.failed(new Error("too far"));
      else by.came({ done: false, value: at });
    });
  }

  async return(): Promise<IteratorResult<number>> {
    return { done: true, value: undefined };
  }
}

async function* counted() {
  yield* [1, 2, 3];
  throw new Error("too far");
}

const iterators: readonly (readonly [string, () => AsyncIterator<number>])[] = [
  ["that tells its steps at once", () => new Count((work) => work())],
  ["that tells them later", () => new Count(queueMicrotask)],
  ["of promises", counted],
];

it.each(iterators)("an iterator %s is asked step by step, up to its failure", async (_, make) => {
  const iterator = make();
  const seen: unknown[] = [];
  await new Promise<void>((over) => {
    const waiter: Waiter<IteratorResult<number>> = {
      came(step) {
        seen.push(step.value);
        ask(iterator, waiter);
      },
      failed(reason) {
        seen.push(String(reason));
        over();
      },
    };
    ask(iterator, waiter);
  });
  expect(seen).toEqual([1, 2, 3, "Error: too far"]);
});

it("an iterator that throws when it is asked has failed", () => {
  const broken: AsyncIterator<number> = {
    next() {
      throw new Error("broken");
    },
  };
  const failed = vi.fn();
  ask(broken, { came: () => {}, failed });
  expect(failed).toHaveBeenCalledExactlyOnceWith(new Error("broken"));
});

it.each(iterators)("an iterator %s is iterated like any other", async (_, make) => {
  const seen: number[] = [];
  const all = async () => {
    for await (const value of iterable(make)) seen.push(value);
  };
  await expect(all()).rejects.toThrow("too far");
  expect(seen).toEqual([1, 2, 3]);
});
