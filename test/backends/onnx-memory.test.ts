/** When an image model is in memory, and who may take it. */
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import type { ResidentBackend } from "../../src/backends/resident.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { eventsOf, occupied, open, progressOf } from "./onnx/calls.js";
import { type Layout, ParityModels } from "./onnx/parity.js";
import { folderOf } from "./onnx/support.js";
import { opened } from "./serve.js";

/** How many threads of JavaScript there are besides this one: a model is in the memory of one. */
function threads(): number {
  const report = process.report?.getReport() as { workers: unknown[] } | undefined;
  return report?.workers.length ?? 0;
}

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
    opened(backend);
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
      opened(backend);
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

  it("is given back once no call wanted it for a while, and not while one runs", async () => {
    const backend = open(folderOf("tiny"), undefined, { keep_alive: 1 });
    const [resident] = backend.residents;
    for (let turn = 0; turn < 2; turn++) {
      for await (const event of eventsOf(backend, { numInferenceSteps: 3 })) {
        if (event.case === "progress") expect(resident?.state).toBe("ready");
      }
      await vi.waitFor(() => expect(backend.models()).toMatchObject([{ state: State.IDLE }]));
    }
  });

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
    opened(backend);
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
