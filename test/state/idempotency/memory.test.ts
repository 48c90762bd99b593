import { expect, it } from "vitest";
import type { Opened } from "../../../src/core/idempotency/store.js";
import { memoryIdempotency } from "../../../src/state/idempotency/memory.js";
import { idempotencyContract } from "./contract.js";

idempotencyContract("first answers in memory", async (options) => {
  const store = memoryIdempotency(options);
  return { stores: [store, store], close: () => store.close() };
});

const { signal } = new AbortController();

function first(opened: Opened | Promise<Opened>) {
  if (opened instanceof Promise || opened.as !== "first") throw new Error("not the first");
  return opened.recorder;
}

it("forgets answers after their time", () => {
  let now = 0;
  const store = memoryIdempotency({
    ttlMs: 1000,
    maxAnswerBytes: 100,
    maxBytes: 10_000,
    clock: () => now,
  });
  const ask = () => store.open({ name: "a", print: "p", signal });
  first(ask()).finish();
  now = 999;
  expect(ask()).toMatchObject({ as: "again" });
  now = 1000;
  expect(ask()).toMatchObject({ as: "first" });
});

it("keeps the newest answers where there is no room for all", () => {
  const store = memoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 2000, maxBytes: 10_000 });
  const ask = (name: string) => store.open({ name, print: "p", signal });
  for (let i = 0; i < 100; i++) {
    const recorder = first(ask(`${i}`));
    recorder.append(new Uint8Array(1000));
    recorder.finish();
  }
  expect(ask("99")).toMatchObject({ as: "again" });
  expect(ask("94")).toMatchObject({ as: "again" });
  expect(ask("0")).toMatchObject({ as: "first" });
});

it("has room for as much as runs at once, and not for more", () => {
  const store = memoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 2000, maxBytes: 5000 });
  const recorders = Array.from({ length: 10 }, (_, i) =>
    first(store.open({ name: `${i}`, print: "p", signal })),
  );
  for (const recorder of recorders) recorder.append(new Uint8Array(1000));
  expect(recorders.filter(({ recording }) => recording)).toHaveLength(2);
  for (const recorder of recorders) recorder.finish();
  expect(store.open({ name: "9", print: "p", signal })).toMatchObject({ as: "too large" });
});
