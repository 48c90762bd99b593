/** What the first of several processes does with its workers, without any. */
import type { ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Config } from "../../src/config/schema.js";
import { Heartbeat } from "../../src/heartbeat.js";
import type { Reloaded } from "../../src/reloading.js";
import { restartPause } from "../../src/restart-pause.js";
import { Handover } from "../../src/workers/handover.js";
import { Questions } from "../../src/workers/questions.js";
import { relay } from "../../src/workers/relay.js";
import { Rollout } from "../../src/workers/rollout.js";
import { newSlot, type Slot } from "../../src/workers/slot.js";
import { valid } from "../config/text.js";
import { gate } from "../support/calls.js";
import { FakeClock } from "../support/clock.js";

const reloaded: Reloaded = { changed: ["models"], restart: [], added: [], removed: [] };
const first = valid("{}");
const second = valid("timeouts: { shutdown: 5s }");

/** Workers that listen, and what each answers when a configuration is handed to it. */
function workers(...answers: (Reloaded | string | undefined)[]) {
  const slots = answers.map((_, i): Slot => ({ ...newSlot(i + 1), listens: true, config: first }));
  const takers = {
    slots,
    // It begins anew, and gets nothing meanwhile.
    refused: vi.fn((slot: Slot, _problem?: string) => {
      slot.leaves = true;
    }),
    waits: vi.fn(),
    ask: vi.fn(async (slot: Slot) => {
      if (!slot.listens) return undefined;
      const answer = answers[slot.number - 1];
      const config = typeof answer === "object" ? second : first;
      const said = typeof answer === "string" ? { refused: answer } : { reloaded: answer };
      return { lintel: "reloaded", id: 0, config, ...said } as const;
    }),
  };
  const held = (): Config[] => slots.map(({ config }) => config as Config);
  return { ...takers, held, rollout: new Rollout(first, takers) };
}

describe("a configuration for all workers", () => {
  test("holds for those that come later once all have it", async () => {
    const { rollout, held } = workers(reloaded, reloaded);
    expect(await rollout.reload(second)).toEqual(reloaded);
    expect(rollout.config).toBe(second);
    expect(held()).toEqual([second, second]);
  });

  test("is as the workers have it, who leave out what needs a restart", async () => {
    const { rollout, held } = workers(reloaded);
    await rollout.reload(valid("body_limit: 2MiB"));
    expect(rollout.config).toBe(second);
    expect(held()).toEqual([second]);
  });

  test("is handed to each once, also to one that begins to listen meanwhile, or later", async () => {
    const { rollout, slots, ask, held, waits } = workers(reloaded, reloaded, reloaded);
    const [, early, late] = slots as [Slot, Slot, Slot];
    early.listens = false;
    late.listens = false;
    ask.mockImplementationOnce(async () => {
      // Its turn to be asked is over.
      await setImmediate();
      early.listens = true;
      return { lintel: "reloaded", id: 0, config: second, reloaded };
    });
    await rollout.reload(second);
    expect(held()).toEqual([second, second, first]);
    late.listens = true;
    for (const slot of [...slots, late]) await rollout.catchUp(slot);
    expect(held()).toEqual([second, second, second]);
    // Those that did not listen had nothing to answer the first time.
    expect(ask.mock.calls.map(([{ number }]) => number)).toEqual([1, 2, 3, 2, 3]);
    expect(waits).not.toHaveBeenCalled();
  });

  test("does not wait where the one that did not listen does by now", async () => {
    const { rollout, slots, ask, waits } = workers(reloaded);
    const [slot] = slots as [Slot];
    slot.listens = false;
    ask.mockImplementationOnce(async () => {
      slot.listens = true;
      return undefined;
    });
    expect(await rollout.reload(second)).toEqual(reloaded);
    expect(waits).not.toHaveBeenCalled();
  });

  test("that all refuse is refused, and the one before stays", async () => {
    const { rollout, held, refused } = workers("no such file", "no such file");
    await expect(rollout.reload(second)).rejects.toThrow("no such file");
    expect(rollout.config).toBe(first);
    expect(held()).toEqual([first, first]);
    expect(refused).not.toHaveBeenCalled();
  });

  test("that one can't take over as the others did has another started in its place", async () => {
    const { rollout, slots, refused } = workers("no memory", reloaded);
    expect(await rollout.reload(second)).toEqual(reloaded);
    expect(refused.mock.calls).toEqual([[slots[0], "no memory"]]);
  });

  test("says nothing of one that is about to end, whatever the others say", async () => {
    const some = workers(undefined, reloaded);
    expect(await some.rollout.reload(second)).toEqual(reloaded);
    expect(some.held()).toEqual([first, second]);
    expect(some.refused).not.toHaveBeenCalled();
    const none = workers(undefined, "no such file");
    await expect(none.rollout.reload(second)).rejects.toThrow("no such file");
  });

  test.each([
    ["it leaves", (slot: Slot) => Object.assign(slot, { leaves: true })],
    ["all end", (_: Slot, rollout: Rollout) => rollout.stop()],
  ])("that one can't take over has none started in its place where %s", async (_, meanwhile) => {
    const { rollout, ask, refused } = workers(reloaded, reloaded);
    ask.mockImplementationOnce(async (slot) => {
      meanwhile(slot, rollout);
      return { lintel: "reloaded", id: 0, config: first, refused: "no memory" };
    });
    expect(await rollout.reload(second)).toEqual(reloaded);
    expect(refused).not.toHaveBeenCalled();
  });

  test("is none for one that leaves", async () => {
    const { rollout, slots, ask, held } = workers("no memory", reloaded);
    Object.assign(slots[0] as Slot, { leaves: true });
    await rollout.reload(second);
    expect(ask).toHaveBeenCalledTimes(1);
    expect(held()).toEqual([first, second]);
  });

  test("waits where all that listen are about to leave", async () => {
    const { rollout, slots, waits } = workers(reloaded);
    const [slot] = slots as [Slot];
    slot.leaves = true;
    const waiting = rollout.reload(second);
    await vi.waitFor(() => expect(waits).toHaveBeenCalledTimes(1));
    rollout.stop();
    await expect(waiting).rejects.toMatchObject({ code: "shutting_down" });
  });

  test("is handed over behind the one before, whatever became of that", async () => {
    const { rollout, ask } = workers(reloaded);
    const answer = gate();
    ask.mockImplementationOnce(async () => {
      await answer.opened;
      return { lintel: "reloaded", id: 0, config: first, refused: "no such file" };
    });
    const [one, other] = [rollout.reload(second), rollout.reload(second)];
    await setImmediate();
    expect(ask).toHaveBeenCalledTimes(1);
    answer.open();
    await expect(one).rejects.toThrow("no such file");
    expect(await other).toEqual(reloaded);
  });

  test("waits for one that listens, and is given up when all end", async () => {
    const { rollout, slots, waits } = workers(reloaded);
    const [slot] = slots as [Slot];
    slot.listens = false;
    const waiting = rollout.reload(second);
    await vi.waitFor(() => expect(waits).toHaveBeenCalledTimes(1));
    slot.listens = true;
    await rollout.catchUp(slot);
    expect(await waiting).toEqual(reloaded);

    slot.listens = false;
    const late = rollout.reload(first);
    await vi.waitFor(() => expect(waits).toHaveBeenCalledTimes(2));
    rollout.stop();
    await expect(late).rejects.toMatchObject({ code: "shutting_down" });
    await expect(rollout.reload(first)).rejects.toMatchObject({ code: "shutting_down" });
  });
});

test("a configuration is given up where all end while it is handed to them", async () => {
  const { rollout, slots, ask, waits } = workers(reloaded);
  ask.mockImplementationOnce(async (slot) => {
    slot.listens = false;
    rollout.stop();
    return undefined;
  });
  await expect(rollout.reload(second)).rejects.toMatchObject({ code: "shutting_down" });
  expect(waits).not.toHaveBeenCalled();
  expect(slots[0]?.config).toBe(first);
});

describe("questions to workers", () => {
  test("are answered once, by their number", async () => {
    const questions = new Questions<string, string>();
    const ids: number[] = [];
    const send = (id: number) => void ids.push(id);
    const [a, b] = [questions.ask("x", send), questions.ask("x", send)];
    questions.answered(ids[1] as number, "second");
    questions.answered(ids[1] as number, "again");
    questions.answered(ids[0] as number, "first");
    expect(await Promise.all([a, b])).toEqual(["first", "second"]);
  });

  test("have no answer of one that ends; the others still answer", async () => {
    const questions = new Questions<string, string>();
    const ids: number[] = [];
    const ask = (whom: string) => questions.ask(whom, (id) => void ids.push(id));
    const [gone, there] = [ask("gone"), ask("there")];
    questions.ended("gone");
    questions.answered(ids[1] as number, "here");
    expect(await Promise.all([gone, there])).toEqual([undefined, "here"]);
  });
});

test("a question that has its time is no longer waited for after it, one that has none is", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const questions = new Questions<string, string>();
  const ids: number[] = [];
  const send = (id: number) => void ids.push(id);
  const [brief, patient] = [questions.ask("x", send, 1000), questions.ask("x", send)];
  vi.advanceTimersByTime(1000);
  for (const id of ids) questions.answered(id, "late");
  expect(await Promise.all([brief, patient])).toEqual([undefined, "late"]);
  const soon = questions.ask("x", (id) => questions.answered(id, "at once"), 1000);
  expect([await soon, vi.getTimerCount()]).toEqual(["at once", 0]);
});

test("of connections that a worker took the first process keeps none", () => {
  const worker = Object.assign(new EventEmitter(), { send: (..._words: object[]) => true });
  const handover = new Handover(worker as unknown as ChildProcess);
  const closed: number[] = [];
  for (const seq of [1, 2]) {
    const connection = { close: () => void closed.push(seq) };
    worker.send({ cmd: "NODE_CLUSTER", act: "newconn", seq }, connection);
  }
  worker.emit("internalMessage", { cmd: "NODE_CLUSTER", ack: 1, accepted: true });
  handover.end(false);
  expect(closed).toEqual([2]);
});

test("a process that misses so many questions in a row hangs; one that is looked after no more does not", async () => {
  const clock = new FakeClock();
  const [ask, hangs] = [vi.fn(), vi.fn()];
  const heartbeat = new Heartbeat(ask, hangs, { beatMs: 1000, missed: 3 }, clock);
  await clock.advance(3000);
  heartbeat.answered();
  await clock.advance(3000);
  expect(ask).toHaveBeenCalledTimes(6);
  expect(hangs).not.toHaveBeenCalled();
  await clock.advance(1000);
  expect(hangs).toHaveBeenCalledTimes(1);
  expect([ask.mock.calls.length, clock.timers]).toEqual([6, 0]);
  new Heartbeat(ask, hangs, { beatMs: 1000, missed: 3 }, clock).end();
  expect(clock.timers).toBe(0);
});

test("pauses between restarts double up to the longest; half of each is chance", () => {
  const times = { firstPause: 1000, longestPause: 60_000 };
  const longest = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000];
  for (const [ends, most] of longest.entries()) {
    const pauses = Array.from({ length: 100 }, () => restartPause(ends, times));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(most / 2);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(most);
    // As likely as not each lies in either half; all in one half never do.
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(most / 8);
  }
});

test("what a worker writes is handed on in whole lines, the last one though it has no end", async () => {
  const from = new PassThrough();
  const lines: string[] = [];
  relay(from, (text) => void lines.push(text));
  const [half, rest] = [Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1)];
  for (const text of ["a", half, rest, "c\nd", "\ne\nf"]) {
    from.write(text);
    await vi.waitFor(() => expect(from.readableLength).toBe(0));
  }
  // Nothing is kept back that is whole.
  expect(lines.join("")).toBe("aéc\nd\ne\n");
  from.end();
  await vi.waitFor(() => expect(lines.join("")).toBe("aéc\nd\ne\nf\n"));
  expect(lines.every((text) => text.endsWith("\n"))).toBe(true);
  const whole = new PassThrough();
  relay(whole, (text) => void lines.push(text));
  whole.end("g\n");
  await once(whole, "end");
  expect(lines.at(-1)).toBe("g\n");
});
