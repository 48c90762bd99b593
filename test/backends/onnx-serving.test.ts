/** Image models while they serve: who waits, who gives up, what is shown. */
import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { PNG } from "pngjs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import { Line } from "../../src/backends/onnx/line.js";
import type { ResidentBackend } from "../../src/backends/resident.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { gate } from "../support/calls.js";
import { type Changes, eventsOf, occupied, open, progressOf } from "./onnx/calls.js";
import { ParityModels } from "./onnx/parity.js";
import { endless, folderOf } from "./onnx/support.js";
import { opened } from "./serve.js";

describe("a line", () => {
  it("serves one after the other, and tells the others how many are in front of them", async () => {
    const line = new Line();
    const told: string[] = [];
    const places = ["a", "b", "c"].map((name) => {
      const place = line.join((position) => told.push(`${name}${position}`));
      place.turn.then(() => told.push(name));
      return place;
    });
    await places[0]?.turn;
    places[1]?.leave();
    places[1]?.leave();
    await places[1]?.turn;
    places[0]?.leave();
    await places[2]?.turn;
    expect(told).toEqual(["b1", "c2", "a", "c1", "b", "c"]);
    expect(line.length).toBe(1);
  });
});

describe("calls that wait", () => {
  it("are told their position in the queue", async () => {
    const backend = open(folderOf("tiny"));
    const free = await occupied(backend);
    const positions: (number | undefined)[][] = [[], []];
    const waiting = [0, 1].map(async (i) => {
      for await (const event of eventsOf(backend, { numInferenceSteps: 1 })) {
        if (event.case === "progress") positions[i]?.push(event.value.queuePosition);
        if (event.case === "progress" && i === 1) await free();
      }
    });
    await Promise.all(waiting);
    expect(positions).toEqual([
      [1, undefined],
      [2, 1, undefined],
    ]);
  });

  it("are refused when there are too many, and told when to come again", async () => {
    const backend = open(folderOf("tiny"), undefined, { queue: 1 });
    const free = await occupied(backend);
    const second = progressOf(backend, { numInferenceSteps: 1 });
    const refused = await progressOf(backend, {}).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "overloaded", http: 503 });
    expect((refused as LintelError).retryAfter).toBeGreaterThanOrEqual(1);
    // What is left of a request for several pictures.
    const rest = progressOf(backend, { numInferenceSteps: 1 }, true);
    await free();
    expect(await second).toHaveLength(2);
    expect(await rest).toHaveLength(3);
    expect(await progressOf(backend, { numInferenceSteps: 1 })).toHaveLength(1);
  });

  it("are told to come again after as long as calls take", async () => {
    const backend = open(folderOf("tiny"), undefined, { queue: 0 });
    const now = performance.now.bind(performance);
    let later = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + later);
    onTestFinished(() => clock.mockRestore());
    for await (const _ of eventsOf(backend, { numInferenceSteps: 2 })) later = 60_000;
    const free = await occupied(backend);
    const refused = await progressOf(backend, {}).catch((error: unknown) => error);
    const { retryAfter = 0 } = refused as LintelError;
    expect(retryAfter).toBeGreaterThanOrEqual(60);
    expect(retryAfter).toBeLessThan(120);
    await free();
  });

  it("do not count any more once they left", async () => {
    const backend = open(folderOf("tiny"), undefined, { queue: 1 });
    const free = await occupied(backend);
    const controller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const left = (async () => {
      for await (const _ of eventsOf(backend, {}, controller.signal)) controller.abort(reason);
    })();
    await expect(left).rejects.toBe(reason);
    const next = progressOf(backend, { numInferenceSteps: 1 });
    await free();
    expect(await next).toHaveLength(2);
  });
});

it("a call that is read late misses nothing", async () => {
  const backend = open(folderOf("tiny"));
  const seen: (string | undefined)[] = [];
  for await (const { case: what } of eventsOf(backend, { numInferenceSteps: 2 })) {
    // Another is served once this one is over.
    if (seen.length === 0) await progressOf(backend, { numInferenceSteps: 1 });
    seen.push(what);
  }
  expect(seen.slice(-2)).toEqual(["image", "done"]);
});

it("calls that are over leave nothing behind", async () => {
  const backend = open(folderOf("tiny"));
  const call = (prompt: string) => progressOf(backend, { numInferenceSteps: 1, prompt });
  await call("a");
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  const before = process.memoryUsage().heapUsed;
  // Longer texts of bytes are not on the heap.
  for (let i = 0; i < 16; i++) await call(randomBytes(400 * 1024).toString("hex"));
  await new Promise(setImmediate);
  collect();
  // All prompts together have more than 12 MiB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4 * 1024 * 1024);
});

describe("calls that are given up", () => {
  const reason = new LintelError("cancelled", "the caller left");
  const givenUp = (backend: ResidentBackend, request: Changes) => {
    const controller = new AbortController();
    const events = eventsOf(backend, request, controller.signal);
    const leave = () => controller.abort(reason);
    return { events, leave };
  };

  it("while the model loads leave it to those behind them at once", async () => {
    const config = { type: "onnx", name: "images", path: folderOf("tiny"), threads: 1 } as const;
    const loading = gate();
    const may = gate();
    const admit = () => {
      loading.open();
      return may.opened;
    };
    const backend = createOnnxBackend({ ...config, load: "lazy" }, { log: silent, admit });
    opened(backend);
    const { events, leave } = givenUp(backend, endless);
    const first = events.next();
    await loading.opened;
    const behind = progressOf(backend, { numInferenceSteps: 1 });
    leave();
    await expect(first).rejects.toBe(reason);
    may.open();
    expect((await behind).at(-1)).toMatchObject({ step: 1 });
  });

  it("behind a model that leaves do not load it again", async () => {
    const backend = open(folderOf("tiny"));
    const free = await occupied(backend);
    const [resident] = backend.residents;
    const unloading = resident?.unload();
    const { events, leave } = givenUp(backend, {});
    expect((await events.next()).value).toMatchObject({ value: { queuePosition: 2 } });
    leave();
    await expect(events.next()).rejects.toBe(reason);
    await free();
    await unloading;
    expect(resident?.state).toBe("idle");
  });

  it("whose reader leaves later stop none but themselves", async () => {
    const backend = open(folderOf("tiny"));
    const { events, leave } = givenUp(backend, endless);
    await events.next();
    leave();
    const seen: (string | undefined)[] = [];
    for await (const event of eventsOf(backend, { numInferenceSteps: 50 })) {
      if (event.case === "progress" && event.value.step === 1) await events.return(undefined);
      seen.push(event.case);
    }
    expect(seen.slice(-2)).toEqual(["image", "done"]);
  });

  it("without a word, by not being read any more, are stopped as well", async () => {
    const backend = open(folderOf("tiny"));
    for await (const event of eventsOf(backend, { ...endless, numImagesPerPrompt: 10_000 })) {
      if (event.case === "progress") break;
    }
    expect((await progressOf(backend, { numInferenceSteps: 1 })).at(-1)).toMatchObject({ step: 1 });
  });
});

describe("previews", () => {
  let models: ParityModels;
  beforeAll(async () => {
    models = await ParityModels.unpack("sd15");
  });
  afterAll(() => models.remove());

  it("come with each step, small, where they are asked for", async () => {
    const backend = open(models.folder("sd15"));
    expect(backend.models()[0]?.supports).toContain("include_previews");
    const steps = await progressOf(backend, { width: 72, numInferenceSteps: 4 });
    expect(steps.map(({ preview }) => preview.length)).toEqual([0, 0, 0, 0]);
    const shown = await progressOf(backend, {
      width: 72,
      numInferenceSteps: 4,
      includePreviews: true,
    });
    expect(shown.map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    const pictures = shown.map(({ preview }) => PNG.sync.read(Buffer.from(preview)));
    // The tiny model halves once.
    for (const { width, height } of pictures) expect([width, height]).toEqual([36, 32]);
    expect(new Set(pictures.map(({ data }) => data.toString("hex"))).size).toBe(4);
  });

  it("show the colours of the picture, where nothing is known of the decoder", async () => {
    // The decoder of this model is linear: a fit finds it exactly.
    const backend = open(folderOf("tiny"));
    let preview: PNG | undefined;
    let picture: PNG | undefined;
    const request = { width: 64, height: 64, numInferenceSteps: 1, includePreviews: true };
    for await (const event of eventsOf(backend, request)) {
      if (event.case === "progress") preview = PNG.sync.read(Buffer.from(event.value.preview));
      if (event.case === "image") {
        picture = PNG.sync.read(Buffer.from(event.value.media?.data ?? []));
      }
    }
    expect([preview?.width, preview?.height]).toEqual([8, 8]);
    let worst = 0;
    for (let i = 0; i < 64; i++) {
      const at = ((Math.floor(i / 8) * 8 + 4) * 64 + (i % 8) * 8 + 4) * 4;
      for (let c = 0; c < 3; c++) {
        const difference = (preview?.data[i * 4 + c] ?? 0) - (picture?.data[at + c] ?? 0);
        worst = Math.max(worst, Math.abs(difference));
      }
    }
    // What the last step leaves of the noise is not in the preview.
    expect(worst).toBeLessThan(16);
  });
});
