/** A child that hangs: it is noticed, killed, and what it did goes the way of a child that ended. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { EmbeddedBackend } from "../../src/backends/embedded/index.js";
import { ReportedLoads } from "../../src/backends/embedded/loads.js";
import { embeddedSchema } from "../../src/backends/embedded/schema.js";
import { Watchdog } from "../../src/backends/embedded/watchdog.js";
import { EngineProgress, type EngineReport } from "../../src/backends/engine-progress.js";
import { createLlamaBackend } from "../../src/backends/llama/index.js";
import { llamaSchema } from "../../src/backends/llama/schema.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import type { LoadWatch } from "../../src/backends/resident.js";
import { silent } from "../../src/core/log.js";
import { FakeClock, settled } from "../support/clock.js";
import { answer, chatRequest, file, start, tiny } from "./llama-subject.js";
import { progressOf } from "./onnx/calls.js";
import { ParityModels } from "./onnx/parity.js";
import { opened } from "./serve.js";

const entry = file("dist/src/main.js");

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [file("scripts/build.js"), "--if-stale"]);
});

const beat = 10_000;
const minute = 60_000;

/** A watchdog, and what it did. */
function watchdog(ms: number) {
  const clock = new FakeClock();
  const [ask, hangs] = [vi.fn(), vi.fn()];
  const dog = new Watchdog(ms, ask, hangs, clock);
  /** One question, and its answer. */
  const answered = async (...work: EngineReport[]) => {
    await clock.advance(beat);
    dog.answered(work);
  };
  return { clock, ask, hangs, dog, answered };
}

const computing = (moves: number) => ({ what: "running m", moves });

it("a child hangs that leaves all questions of five minutes unanswered, or of less where less is set", async () => {
  for (const [ms, silence, said] of [
    [30 * minute, 5 * minute, "it did not answer for 5m"],
    [minute, minute, "it did not answer for 1m"],
  ] as const) {
    const { clock, hangs, dog } = watchdog(ms);
    await clock.advance(silence);
    dog.answered([]);
    await clock.advance(silence);
    expect(hangs).not.toHaveBeenCalled();
    await clock.advance(beat);
    expect(hangs.mock.calls).toEqual([[said]]);
    expect(clock.timers).toBe(0);
  }
});

it("a child hangs whose engine is at the same place for as long as is set, though it answers", async () => {
  const { clock, ask, hangs, answered } = watchdog(minute);
  await answered(computing(1));
  for (let i = 0; i < 5; i++) await answered(computing(1), { what: "loading n", moves: i });
  expect(hangs).not.toHaveBeenCalled();
  await answered(computing(1), { what: "loading n", moves: 9 });
  expect(hangs.mock.calls).toEqual([["running m did not get on for 1m"]]);
  expect([ask.mock.calls.length, clock.timers]).toEqual([7, 0]);
});

it("a child does not hang whose engines get on, or do nothing, or that is asked nothing", async () => {
  const slow = watchdog(minute);
  for (let i = 0; i < 50; i++) await slow.answered(computing(Math.floor(i / 6)));
  for (let i = 0; i < 50; i++) await slow.answered();
  for (let i = 0; i < 6; i++) await slow.answered(computing(9));
  expect(slow.hangs).not.toHaveBeenCalled();
  const off = watchdog(0);
  await off.clock.advance(60 * minute);
  expect([off.ask.mock.calls.length, off.hangs.mock.calls.length, off.clock.timers]).toEqual([
    0, 0, 0,
  ]);
});

/** What a child knows of its engines. */
const watching = () => new ReportedLoads({ oneByOne: false, heldBack: [] }, async () => {});

it("a child tells what is loaded, and that it gets on", async () => {
  const watch = watching();
  const [before, after] = await watch.load("m", "/nowhere", async (moved) => {
    const first = watch.work();
    moved();
    return [first, watch.work()];
  });
  expect(before).toMatchObject([{ what: "loading m" }]);
  expect(after).toMatchObject([{ what: "loading m" }]);
  expect(after?.[0]?.moves).not.toBe(before?.[0]?.moves);
  expect(watch.work()).toEqual([]);
  await watch.load("m", "/nowhere", () => Promise.reject(new Error("no"))).catch(() => {});
  expect(watch.work()).toEqual([]);
});

/** What a model's backend tells: how far a load is, and what its engine is at. */
function watched() {
  const moved = vi.fn();
  const progress = new EngineProgress("running m");
  const [begin, end] = [vi.spyOn(progress, "begin"), vi.spyOn(progress, "end")];
  const watch: LoadWatch = {
    check() {},
    load: (_model, _path, load) => load(moved),
    progress: () => progress,
  };
  return { watch, moved, progress, begin, end };
}

it("a chat model tells of a load that gets on, of each token, and of nothing while nobody reads", async () => {
  const { watch, moved, progress, begin, end } = watched();
  const config = llamaSchema.parse({ type: "llama", name: "m", path: tiny });
  const backend = createLlamaBackend(config, { log: silent, watch });
  onTestFinished(() => backend.close());
  const stream = start(backend, chatRequest("hello"));
  await stream.next();
  expect(moved).toHaveBeenCalled();
  // The token behind the first is computed ahead of who reads, and no more.
  await vi.waitFor(() => expect(end).toHaveBeenCalledTimes(2));
  expect(begin).toHaveBeenCalledTimes(2);
  expect(progress.report()).toBeUndefined();
  while (!(await stream.next()).done);
  await vi.waitFor(() => expect(progress.report()).toBeUndefined());
  expect(begin).toHaveBeenCalledTimes(8);
  await backend.close();
  expect([begin.mock.calls.length, end.mock.calls.length]).toEqual([9, 9]);
});

it("an image model tells of each step, and of nothing between its jobs or while it waits for room", async () => {
  const models = await ParityModels.unpack("sd15");
  onTestFinished(() => models.remove());
  const { watch, progress, begin, end } = watched();
  const steps = vi.spyOn(progress, "moved");
  const atRoom: unknown[] = [];
  const admit = async () => void atRoom.push(progress.report());
  const config = { type: "onnx", name: "m", path: models.folder("sd15"), threads: 1 } as const;
  const backend = opened(createOnnxBackend(config, { log: silent, watch, admit }));
  await progressOf(backend, { numInferenceSteps: 3 });
  expect([begin.mock.calls.length, end.mock.calls.length]).toEqual([1, 1]);
  // Three steps and the picture.
  expect(steps).toHaveBeenCalledTimes(4);
  await progressOf(backend, { numInferenceSteps: 1, loras: '{"plain": 1}' });
  expect([begin.mock.calls.length, end.mock.calls.length]).toEqual([3, 3]);
  expect(atRoom).toEqual([undefined, undefined]);
  await backend.close();
  expect([begin.mock.calls.length, end.mock.calls.length]).toEqual([4, 4]);
});

/** The log's errors. */
function errorLog() {
  const said: object[] = [];
  return { said, log: { ...silent, error: (fields: object) => void said.push(fields) } };
}

it("a child that is stopped is killed, its calls are told, and the next child answers", async () => {
  const clock = new FakeClock();
  const { said, log } = errorLog();
  const config = embeddedSchema.parse({ type: "embedded", name: "embedded", models: [tiny] });
  const backend = new EmbeddedBackend(config, { log }, { entry, clock });
  onTestFinished(() => backend.close());
  expect((await answer(backend, chatRequest("hello"))).completion).toBe(8);
  const { pid = 0 } = backend;
  process.kill(pid, "SIGSTOP");
  const cut = answer(backend, chatRequest("hello")).catch((error) => error);
  // What it answered before it was stopped may still be on its way.
  await vi.waitFor(async () => {
    await clock.advance(beat);
    expect(said).toContainEqual({ node: "embedded", pid, how: "it did not answer for 5m" });
  }, 20_000);
  expect(await cut).toMatchObject({ code: "unavailable", retryAfter: expect.any(Number) });
  expect((await answer(backend, chatRequest("hello"))).completion).toBe(8);
  expect(backend.pid).not.toBe(pid);
  expect(said).toContainEqual(
    expect.objectContaining({ ending: "was killed: it did not answer for 5m", crashes: 1 }),
  );
  expect(backend.exits()).toEqual({ hung: 1, ended: 0 });
});

it("a child that is well answers each question, and lives on", async () => {
  const clock = new FakeClock();
  const { said, log } = errorLog();
  const answered = vi.spyOn(Watchdog.prototype, "answered");
  onTestFinished(() => answered.mockRestore());
  const config = embeddedSchema.parse({ type: "embedded", name: "embedded", models: [tiny] });
  const backend = new EmbeddedBackend(config, { log }, { entry, clock });
  onTestFinished(() => backend.close());
  await answer(backend, chatRequest("hello"));
  const { pid } = backend;
  for (let asked = 1; asked <= 40; asked++) {
    await clock.advance(beat);
    await vi.waitFor(() => expect(answered).toHaveBeenCalledTimes(asked), { interval: 1 });
  }
  // What it is at is told, and that is nothing now.
  expect(answered).toHaveBeenLastCalledWith([]);
  expect([backend.pid, said]).toEqual([pid, []]);
});

it("a child that answers, but whose engine is stuck, is killed, and that is how it ended", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const stuck = join(folder, "stuck.mjs");
  await writeFile(
    stuck,
    `process.on("message", () => {
       const work = [{ what: "running m", moves: 7 }];
       process.send({ lintel: "alive", work }, () => process.stderr.write("answered\\n"));
     });
     process.stderr.write("here\\n");`,
  );
  const clock = new FakeClock();
  const { said, log } = errorLog();
  let heard: (words: string) => void = () => {};
  const next = () => new Promise<string>((resolve) => (heard = resolve));
  const warn = (fields: { said?: string }) => heard(fields.said ?? "");
  const config = embeddedSchema.parse({
    ...{ type: "embedded", name: "embedded", models: [tiny] },
    watchdog: "1m",
  });
  const backend = new EmbeddedBackend(config, { log: { ...log, warn } }, { entry: stuck, clock });
  onTestFinished(() => backend.close());
  backend.start();
  expect(await next()).toBe("here");
  const { pid } = backend;
  for (let answers = 0; answers < 6; answers++) {
    expect(said).toEqual([]);
    const answered = next();
    await clock.advance(beat);
    expect(await answered).toBe("answered");
    await settled();
  }
  // By its last answer it is killed, maybe ahead of its saying so.
  expect(said).toEqual([]);
  await clock.advance(beat);
  const how = "running m did not get on for 1m";
  await vi.waitFor(() => expect(said).toHaveLength(2));
  expect(said).toMatchObject([{ pid, how }, { ending: `was killed: ${how}` }]);
});

it.each(["1s", "59s"])("a watchdog of %s is refused", (watchdog) => {
  const entry = { type: "embedded", name: "embedded", watchdog };
  const { error } = embeddedSchema.safeParse(entry);
  expect(error?.issues).toMatchObject([{ message: "must be 0, or at least 1m" }]);
});
