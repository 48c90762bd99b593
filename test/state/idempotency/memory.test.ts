import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Opened } from "../../../src/core/idempotency/store.js";
import { MemoryIdempotency } from "../../../src/state/idempotency/memory.js";
import { outcome } from "../../support/calls.js";
import { settled } from "../../support/clock.js";
import { coreOf } from "../../support/core.js";
import { gate } from "../../support/routing.js";
import { paints, says, scripted } from "../../support/scripted.js";
import { idempotencyContract } from "./contract.js";

idempotencyContract("first answers in memory", async (options) => {
  const store = new MemoryIdempotency(options);
  return { stores: [store, store], close: () => store.close() };
});

const { signal } = new AbortController();

function first(opened: Opened | Promise<Opened>) {
  if (opened instanceof Promise || opened.as !== "first") throw new Error("not the first");
  return opened.recorder;
}

it("forgets answers after their time", () => {
  let now = 0;
  const store = new MemoryIdempotency({
    ttlMs: 1000,
    maxAnswerBytes: 100,
    maxBytes: 10_000,
    clock: () => now,
  });
  const ask = () => store.open({ name: "a", caller: "c", print: "p", signal });
  first(ask()).finish();
  now = 999;
  expect(ask()).toMatchObject({ as: "again" });
  now = 1000;
  expect(ask()).toMatchObject({ as: "first" });
});

it("forgets answers with addresses of images before others, as the images are", async () => {
  let now = 0;
  const clock = () => now;
  const store = new MemoryIdempotency({
    ttlMs: 1000,
    maxAnswerBytes: 9000,
    maxBytes: 90_000,
    clock,
  });
  const backend = scripted({ chat: says("a"), streamTextToImage: paints(1) });
  const core = coreOf([backend], {}, { idempotency: { store, lingerMs: 0, imageTtlMs: 100 } });
  const replayed = async () => {
    const calls = [
      await outcome(core, "complete", { messages: [{ role: "user", content: "x" }] }, key("chat")),
      await outcome(core, "textToImage", { prompt: "x" }, key("image")),
      await outcome(core, "streamTextToImage", { prompt: "x" }, key("images")),
      await outcome(core, "textToImage", { prompt: "x" }, { ...key("data"), baseUrl: null }),
    ];
    return calls.map(({ metadata }) => metadata.has("idempotent-replayed"));
  };
  const key = (idempotencyKey: string) => ({ idempotencyKey });
  expect(await replayed()).toEqual([false, false, false, false]);
  now = 99;
  expect(await replayed()).toEqual([true, true, true, true]);
  now = 100;
  expect(await replayed()).toEqual([true, false, false, true]);
});

it("makes room at the expense of who asks, among those who hold as much", () => {
  const store = new MemoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 2000, maxBytes: 2800 });
  const ask = (name: string, caller: string) => store.open({ name, caller, print: "p", signal });
  for (const [name, caller, bytes] of [
    ["one", "a", 1000],
    ["other", "b", 500],
  ] as const) {
    const recorder = first(ask(name, caller));
    recorder.append(new Uint8Array(bytes));
    recorder.finish();
  }
  // With that, b holds 1300 bytes with the overhead of what is whole, as a does.
  first(ask("third", "b")).append(new Uint8Array(500));
  expect(ask("one", "a")).toMatchObject({ as: "again" });
  expect(ask("other", "b")).toMatchObject({ as: "first" });
});

it("keeps the newest answers where there is no room for all", () => {
  const store = new MemoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 2000, maxBytes: 10_000 });
  const ask = (name: string) => store.open({ name, caller: "c", print: "p", signal });
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
  const store = new MemoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 2000, maxBytes: 5000 });
  const recorders = Array.from({ length: 10 }, (_, i) =>
    first(store.open({ name: `${i}`, caller: "c", print: "p", signal })),
  );
  for (const recorder of recorders) recorder.append(new Uint8Array(1000));
  expect(recorders.filter(({ recording }) => recording)).toHaveLength(2);
  for (const recorder of recorders) recorder.finish();
  expect(store.open({ name: "9", caller: "c", print: "p", signal })).toMatchObject({
    as: "too large",
  });
});

it("lets a call go on for as long as somebody waits, and ends it once nobody does", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { handle, signals } = gate();
  const store = new MemoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 2000, maxBytes: 10_000 });
  const core = coreOf([scripted({ chat: handle })], {}, { idempotency: { store, lingerMs: 1000 } });
  const ask = async () => {
    const leaving = new AbortController();
    const origin = { idempotencyKey: "key", signal: leaving.signal };
    const messages = [{ role: "user", content: "hello" }];
    const ended = outcome(core, "chat", { messages }, origin);
    await settled();
    return { ended, leave: () => leaving.abort() };
  };
  const first = await ask();
  const second = await ask();
  first.leave();
  await vi.advanceTimersByTimeAsync(5500);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  second.leave();
  expect((await second.ended).code).toBe("cancelled");
  await vi.advanceTimersByTimeAsync(1000);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  await core.idle();
});

describe("answers of several callers", () => {
  function asking() {
    const store = new MemoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 9000, maxBytes: 11_000 });
    const ask = (caller: string, key: string) =>
      store.open({ name: `${caller}:${key}`, caller, print: "p", signal });
    const begin = (caller: string, key: string, bytes: number) => {
      const recorder = first(ask(caller, key));
      for (let left = bytes; left > 0; left -= 500) recorder.append(new Uint8Array(500));
      return recorder;
    };
    return { ask, begin };
  }

  it("stay where another one's running answers need more than there is", () => {
    const { ask, begin } = asking();
    begin("victim", "1", 2000).finish();
    const running = Array.from({ length: 6 }, (_, i) => begin("stranger", `${i}`, 3000));
    expect(running.map(({ recording }) => recording)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(ask("victim", "1")).toMatchObject({ as: "again" });
    begin("victim", "2", 2000).finish();
    expect(ask("victim", "2")).toMatchObject({ as: "again" });
    expect(ask("victim", "1")).toMatchObject({ as: "again" });
  });

  it("push out a running one of who holds more", () => {
    const { ask, begin } = asking();
    const running = begin("stranger", "1", 8500);
    begin("victim", "1", 2000).finish();
    expect(running.recording).toBe(false);
    expect(ask("stranger", "1")).toMatchObject({ as: "too large" });
    expect(ask("victim", "1")).toMatchObject({ as: "again" });
  });

  it("make room for the others from the oldest of who holds most", () => {
    const { ask, begin } = asking();
    for (const key of ["1", "2", "3"]) begin("much", key, 2500).finish();
    for (const key of ["1", "2", "3"]) begin("little", key, 1000).finish();
    expect(ask("much", "1")).toMatchObject({ as: "first" });
    for (const [caller, key] of [
      ["much", "2"],
      ["much", "3"],
      ["little", "1"],
      ["little", "2"],
      ["little", "3"],
    ] as const) {
      expect(ask(caller, key)).toMatchObject({ as: "again" });
    }
  });

  it("that ended without an answer take nothing off what their caller holds besides", () => {
    const { ask, begin } = asking();
    begin("much", "kept", 5000).finish();
    for (let i = 0; i < 100; i++) begin("much", `${i}`, 500).forget();
    begin("little", "kept", 4000).finish();
    begin("other", "kept", 3000).finish();
    expect(ask("much", "kept")).toMatchObject({ as: "first" });
    expect(ask("little", "kept")).toMatchObject({ as: "again" });
  });

  it("that ended without an answer leave all of their room", () => {
    const { ask, begin } = asking();
    begin("a", "kept", 2000).finish();
    for (let i = 0; i < 100; i++) begin("b", `${i}`, 6000).forget();
    for (let i = 0; i < 100; i++) first(ask("c", `${i}`)).forget();
    begin("b", "kept", 6000).finish();
    expect(ask("a", "kept")).toMatchObject({ as: "again" });
    expect(ask("b", "kept")).toMatchObject({ as: "again" });
    // Nor do they hold anything when room is looked for.
    for (let i = 0; i < 3; i++) begin("d", `${i}`, 3000).finish();
    expect(ask("b", "kept")).toMatchObject({ as: "first" });
    expect(ask("d", "2")).toMatchObject({ as: "again" });
  });
});
