/** Image models while they serve: who waits, what is shown, what is in memory. */
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { PNG } from "pngjs";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Progress } from "../../gen/lintel/v1/image_pb.js";
import { PromptBar, State } from "../../gen/lintel/v1/models_pb.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import { Line } from "../../src/backends/onnx/line.js";
import type { ResidentBackend } from "../../src/backends/resident.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { gate, never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { type Layout, ParityModels } from "./onnx/parity.js";
import { backendOf, endless, folderOf, requestOf } from "./onnx/support.js";
import { callOf } from "./subject.js";

type Request = Parameters<typeof requestOf>[0];

/** Every event of a call. */
async function* eventsOf(backend: ResidentBackend, request: Request, signal?: AbortSignal) {
  const handle = backend.handlers.streamTextToImage;
  if (!handle) throw new Error("no handler");
  for await (const batch of handle(callOf("streamTextToImage", requestOf(request), signal))) {
    for (const { event } of batch) yield event;
  }
}

async function progressOf(backend: ResidentBackend, request: Request): Promise<Progress[]> {
  const all: Progress[] = [];
  for await (const event of eventsOf(backend, request)) {
    if (event.case === "progress") all.push(event.value);
  }
  return all;
}

/** How many threads of JavaScript there are besides this one: a model is in the memory of one. */
function threads(): number {
  const report = process.report?.getReport() as { workers: unknown[] } | undefined;
  return report?.workers.length ?? 0;
}

const opened: ResidentBackend[] = [];
const open = (...from: Parameters<typeof backendOf>): ResidentBackend => {
  const backend = backendOf(...from);
  opened.push(backend);
  return backend;
};
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

/** A call that runs until it is stopped. Resolves once it runs. */
async function occupied(backend: ResidentBackend) {
  const controller = new AbortController();
  let ended: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve) => {
    ended = (async () => {
      for await (const _ of eventsOf(backend, endless, controller.signal)) resolve();
    })().catch((reason: unknown) => reason);
  });
  return async () => {
    controller.abort(new LintelError("cancelled", "the test is done with it"));
    await ended;
  };
}

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
    await free();
    expect(await second).toHaveLength(2);
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

describe("calls that are given up", () => {
  const reason = new LintelError("cancelled", "the caller left");
  const givenUp = (backend: ResidentBackend, request: Request) => {
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
    opened.push(backend);
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

describe("a model's memory", () => {
  it("is taken with the first call and given back on demand", async () => {
    const backend = open(folderOf("tiny"), undefined, { load: "lazy" });
    const [resident] = backend.residents;
    expect(resident).toMatchObject({ id: "tiny", state: "idle", lastUsed: 0, calls: 0 });
    const before = performance.now();
    await progressOf(backend, { numInferenceSteps: 1 });
    expect(resident).toMatchObject({ state: "ready", calls: 0 });
    expect(resident?.lastUsed).toBeGreaterThanOrEqual(before);
    expect(resident?.bytes).toBeGreaterThan(0);
    expect(threads()).toBe(1);
    await resident?.unload();
    expect(resident?.state).toBe("idle");
    expect(threads()).toBe(0);
    expect(backend.models()).toMatchObject([{ state: State.IDLE }]);
    await backend.health(never);
    await resident?.unload();
    await resident?.load();
    expect(backend.models()).toMatchObject([{ state: State.READY }]);
    expect(await progressOf(backend, { numInferenceSteps: 1 })).toHaveLength(1);
  });

  it("stays taken while a call runs; one that waits behind loads the model again", async () => {
    const backend = open(folderOf("tiny"));
    const free = await occupied(backend);
    const [resident] = backend.residents;
    expect(resident?.calls).toBe(1);
    let unloaded = false;
    const unloading = resident?.unload().then(() => {
      unloaded = true;
    });
    const behind = progressOf(backend, { numInferenceSteps: 1 });
    expect(resident?.state).toBe("ready");
    expect(unloaded).toBe(false);
    await free();
    await unloading;
    expect((await behind).at(-1)).toMatchObject({ step: 1 });
    expect(resident?.state).toBe("ready");
  });

  it("is given back only once the call that runs has all its images", async () => {
    const backend = open(folderOf("tiny"));
    const [resident] = backend.residents;
    let unloading: Promise<void> | undefined;
    const images: number[] = [];
    const request = { numInferenceSteps: 20, numImagesPerPrompt: 2 };
    for await (const event of eventsOf(backend, request)) {
      unloading ??= resident?.unload();
      if (event.case === "image") images.push(event.value.index);
    }
    expect(images).toEqual([0, 1]);
    await unloading;
    expect(resident?.state).toBe("idle");
  });

  it.each(["tiny", "half"] as const)("is asked for before it is taken: %s", async (name) => {
    const asked: [string, string, number][] = [];
    const config = { type: "onnx", name: "images", path: folderOf(name), threads: 1 } as const;
    const backend = createOnnxBackend(config, {
      log: silent,
      admit: async ({ id, state, bytes }) => {
        asked.push([id, state, bytes]);
      },
    });
    opened.push(backend);
    expect(asked).toEqual([]);
    await progressOf(backend, { numInferenceSteps: 1 });
    expect(asked).toEqual([[name, "loading", backend.residents[0]?.bytes]]);
  });

  it("grows by the LoRAs that are fused", async () => {
    const models = await ParityModels.unpack("sd15");
    const backend = open(models.folder("sd15"));
    await progressOf(backend, { numInferenceSteps: 1 });
    const [resident] = backend.residents;
    const before = resident?.bytes ?? 0;
    await progressOf(backend, { numInferenceSteps: 1, loras: '{"plain": 1}' });
    expect(resident?.bytes).toBeGreaterThan(before);
    await models.remove();
  });

  it.each([
    ["now", "overloaded", 503, "no room now"],
    ["ever", "model_not_loaded", 400, "with them fused: no room ever"],
  ] as const)(
    "has no room for a call's LoRAs %s, and the next call goes on",
    async (when, code, http, words) => {
      const models = await ParityModels.unpack("sd15");
      onTestFinished(() => models.remove());
      let full = false;
      const config = { type: "onnx", name: "images", path: models.folder("sd15") } as const;
      const backend = createOnnxBackend(config, {
        log: silent,
        admit: async () => {
          if (full) throw new LintelError(code, `no room ${when}`);
        },
      });
      opened.push(backend);
      await progressOf(backend, { numInferenceSteps: 1 });
      full = true;
      const refused = progressOf(backend, { numInferenceSteps: 1, loras: '{"plain": 1}' });
      await expect(refused).rejects.toMatchObject({
        http,
        message: expect.stringContaining(words),
      });
      expect(await progressOf(backend, { numInferenceSteps: 1 })).toHaveLength(1);
    },
  );

  it("may be tried for again after what was wrong is mended", async () => {
    const models = await ParityModels.unpack("turbo");
    const file = join(models.folder("turbo"), "unet/model.onnx");
    await rename(file, `${file}.away`);
    const backend = open(models.folder("turbo"));
    await expect(progressOf(backend, {})).rejects.toMatchObject({
      code: "model_not_loaded",
      message: "unet/model.onnx: is missing",
    });
    await rename(`${file}.away`, file);
    await expect(progressOf(backend, {})).rejects.toMatchObject({ code: "model_not_loaded" });
    await backend.residents[0]?.unload();
    expect(backend.models()).toMatchObject([{ state: State.IDLE, stateDetail: "" }]);
    expect(await progressOf(backend, { numInferenceSteps: 1 })).toHaveLength(1);
    await models.remove();
  });

  it("is not asked for by a look at the health, where others would have to leave for it", async () => {
    const folder = join(tmpdir(), "no-such-model");
    let asked = 0;
    const backend = createOnnxBackend(
      { type: "onnx", name: "it", path: folder, load: "lazy" },
      { log: silent, admit: async () => void asked++ },
    );
    opened.push(backend);
    await expect(progressOf(backend, {})).rejects.toMatchObject({ code: "model_not_loaded" });
    const now = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
    onTestFinished(() => now.mockRestore());
    // The next call loads it: so it can take one.
    await backend.health(never);
    expect(asked).toBe(1);
  });

  it("is tried for again ten seconds after it could not be had, by calls and by health", async () => {
    const models = await ParityModels.unpack("turbo", "sd15");
    // Whole milliseconds: sums of fractions would miss the bound by a hair, now and then.
    const now = vi.spyOn(performance, "now").mockReturnValue(Math.ceil(performance.now()));
    onTestFinished(async () => {
      vi.restoreAllMocks();
      await models.remove();
    });
    const { signal } = new AbortController();
    const tries = [
      ["turbo", async (backend) => void (await progressOf(backend, { numInferenceSteps: 1 }))],
      ["sd15", (backend) => backend.health(signal)],
    ] as const satisfies [Layout, (backend: ResidentBackend) => Promise<void>][];
    for (const [layout, wanted] of tries) {
      const folder = models.folder(layout);
      await rename(folder, `${folder}.away`);
      const backend = open(folder);
      await expect(backend.residents[0]?.load()).rejects.toMatchObject({
        code: "model_not_loaded",
      });
      await rename(`${folder}.away`, folder);
      // The time of day counts for nothing: it may be set back.
      vi.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
      now.mockReturnValue(performance.now() + 9999);
      await expect(wanted(backend)).rejects.toMatchObject({ code: "model_not_loaded" });
      now.mockReturnValue(performance.now() + 1);
      await wanted(backend);
      expect(backend.models()).toMatchObject([{ state: State.READY, stateDetail: "" }]);
      // What is known of a folder without loading it was not known before.
      expect(backend.models()[0]?.sizeBytes).toBeGreaterThan(100_000n);
      expect(backend.models()[0]?.supports.includes("safety_check")).toBe(layout === "sd15");
    }
  });
});

describe("what the list says of a model", () => {
  let models: ParityModels;
  beforeAll(async () => {
    models = await ParityModels.unpack("sdxl", "turbo", "lcm");
  });
  afterAll(() => models.remove());

  const modelOf = (...from: Parameters<typeof backendOf>) => {
    const [model] = open(from[0], from[1], { load: "lazy", ...from[2] }).models();
    if (!model) throw new Error("no model");
    return model;
  };

  it("is its folder and the size of its files", async () => {
    const model = modelOf(models.folder("sdxl"));
    expect(model).toMatchObject({ source: models.folder("sdxl"), promptBar: PromptBar.BATCH });
    expect(Number(model.sizeBytes)).toBeGreaterThan(700_000);
    const without = await models.copy("sdxl", "no-loras");
    await rm(join(without, "loras"), { recursive: true });
    expect(modelOf(without).sizeBytes).toBe(model.sizeBytes);
    expect(modelOf(without).loras).toEqual([]);
  });

  it("is the size of what its files lead to, as they lie in Hugging Face's cache", async () => {
    const folder = models.folder("lcm");
    const snapshot = await mkdtemp(join(tmpdir(), "lintel-snapshot-"));
    onTestFinished(() => rm(snapshot, { recursive: true }));
    for (const name of await readdir(folder, { recursive: true })) {
      if ((await stat(join(folder, name))).isDirectory()) await mkdir(join(snapshot, name));
      else await symlink(join(folder, name), join(snapshot, name));
    }
    await symlink(join(folder, "gone"), join(snapshot, "gone"));
    expect(modelOf(snapshot).sizeBytes).toBe(modelOf(folder).sizeBytes);
  });

  it("is how many steps and how much guidance a model for few steps takes", async () => {
    expect(modelOf(models.folder("turbo")).defaults).toEqual({
      guidance_scale: 0,
      num_inference_steps: 4,
    });
    expect(modelOf(models.folder("lcm")).defaults).toEqual({ num_inference_steps: 4 });
    const prefixed = await models.copy("lcm", "prefixed");
    const file = join(prefixed, "model_index.json");
    const index = JSON.parse(await readFile(file, "utf8"));
    for (const prefix of ["ORT", "Onnx"]) {
      const _class_name = `${prefix}LatentConsistencyModelPipeline`;
      await writeFile(file, JSON.stringify({ ...index, _class_name }));
      expect(modelOf(prefixed).defaults).toEqual({ num_inference_steps: 4 });
    }
    expect(modelOf(models.folder("sdxl")).defaults).toEqual({});
    expect(basename(models.folder("turbo"))).toBe("turbo");
  });

  it("is that a bar separates texts for its encoders, where it is set so", async () => {
    const backend = open(models.folder("sdxl"), undefined, { prompt: "encoders" });
    expect(backend.models()[0]?.promptBar).toBe(PromptBar.ENCODERS);
    const ask = async (prompt: string, negativePrompt = "") => {
      const changes = { modelId: "", width: 64, height: 64, numInferenceSteps: 1 };
      const request = requestOf({ ...changes, prompt, negativePrompt });
      const [response] = await run(coreOf([backend]), "textToImage", request);
      return response?.images.map(({ data }) => Buffer.from(data).toString("hex"));
    };
    const both = await ask("a red circle | the blue square");
    expect(both).toHaveLength(1);
    expect(both).not.toEqual(await ask("a red circle"));
    // The first stands in for the second where that is empty.
    expect(await ask("a red circle |")).toEqual(await ask("a red circle"));
    await expect(ask("a | b | c")).rejects.toMatchObject({
      code: "invalid_value",
      param: "prompt",
      message: "prompt: has 3 parts, but this model has text encoders for 2",
    });
    await expect(ask("a", "x | y | z")).rejects.toMatchObject({
      code: "invalid_value",
      param: "negative_prompt",
      message: "negative_prompt: has 3 parts, but this model has text encoders for 2",
    });
  });

  it("refuses steps that a scheduler can't take, by name", async () => {
    const backend = open(models.folder("lcm"));
    await expect(progressOf(backend, { numInferenceSteps: 51 })).rejects.toMatchObject({
      code: "invalid_value",
      param: "num_inference_steps",
      message: "num_inference_steps: must be at most 50 for this model",
    });
  });
});
