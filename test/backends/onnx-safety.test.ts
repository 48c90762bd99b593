/** The safety checker that a model brings, against diffusers' own; and what becomes of its verdict. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readOnnx } from "../../src/backends/onnx/file/onnx.js";
import { Graph } from "../../src/backends/onnx/graph.js";
import { Pipeline } from "../../src/backends/onnx/pipeline.js";
import { loadRuntime } from "../../src/backends/onnx/runtime.js";
import {
  Checker,
  checkerSignature,
  planesOf,
  readProcessor,
} from "../../src/backends/onnx/safety/checker.js";
import type { ResidentBackend } from "../../src/backends/resident.js";
import type { Picture } from "../../src/media/pictures.js";
import { coreOf, run } from "../support/core.js";
import { checkedPictures, ParityModels } from "./onnx/parity.js";
import { backendOf, jobOf, onCpu, requestOf } from "./onnx/support.js";

/** As `safety.py` draws picture i. */
function picture(i: number, width: number, height: number): Picture {
  const rgb = new Uint8ClampedArray(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const bands = [x * (3 + i) + y * 5, x * y + 40 * i, 255 - x * 2 + y * (i + 1)];
      for (const [band, value] of bands.entries()) {
        rgb[(y * width + x) * 3 + band] = ((value % 256) + 256) % 256;
      }
    }
  }
  return { rgb, width, height };
}

let models: ParityModels;
beforeAll(async () => {
  models = await ParityModels.unpack("sd15");
});
afterAll(() => models.remove());

describe("the checker of a model", () => {
  let checker: Checker;
  beforeAll(async () => {
    const folder = models.folder("sd15");
    const file = readOnnx(folder, "safety_checker/model.onnx");
    const runtime = await loadRuntime();
    const graph = await Graph.open(await onCpu(runtime), file, file.path, checkerSignature);
    checker = new Checker(graph, await readProcessor(folder));
  });
  afterAll(() => checker.release());

  it.each(checkedPictures.map((wanted, i) => ({ ...wanted, i })))(
    "sees picture $i of $width x $height as diffusers does",
    async ({ i, width, height, pixels, nsfw }) => {
      const seen = planesOf(picture(i, width, height), await readProcessor(models.folder("sd15")));
      const every97th = pixels.map((_, k) => seen[k * 97] ?? 0);
      expect(seen.length).toBe(3 * 28 * 28);
      every97th.forEach((value, k) => {
        expect(Math.abs(value - (pixels[k] ?? 0))).toBeLessThan(1e-4);
      });
      expect(await checker.isHarmful(picture(i, width, height))).toBe(nsfw);
    },
  );

  it("says yes to some and no to others", () => {
    expect(new Set(checkedPictures.map(({ nsfw }) => nsfw))).toEqual(new Set([true, false]));
  });
});

describe("the verdict", () => {
  /** Enough pictures that the random checker objects to some. */
  const many = { width: 64, height: 64, numInferenceSteps: 1, numImagesPerPrompt: 8, seed: 1n };
  let backend: ResidentBackend;
  let harmful: boolean[];
  beforeAll(async () => {
    backend = backendOf(models.folder("sd15"));
    const pipeline = await Pipeline.load(await loadRuntime(), {
      folder: models.folder("sd15"),
      threads: 1,
    });
    harmful = [];
    const job = jobOf({ width: 64, height: 64, steps: 1, images: 8, seed: 1, safetyCheck: true });
    await pipeline.run(
      job,
      (event) => {
        if (event.type === "image") harmful.push(event.nsfw);
      },
      () => {},
    );
    await pipeline.close();
  });
  afterAll(() => backend.close());

  const ask = async (safetyCheck: boolean | undefined, from = backend) => {
    const request = requestOf({ ...many, modelId: "", safetyCheck });
    const [response] = await run(coreOf([from]), "textToImage", request);
    return response ?? { images: [], warnings: [] };
  };

  it("flags some pictures and not others", () => {
    expect(new Set(harmful)).toEqual(new Set([true, false]));
  });

  it("stands in the model's pictures, and nobody says that there is no checker", async () => {
    expect(backend.models()[0]?.supports).toContain("safety_check");
    const { images, warnings } = await ask(true);
    expect(images.map(({ nsfw }) => nsfw)).toEqual(harmful);
    expect(warnings.filter((text) => text.includes("safety_check"))).toEqual([]);
    expect((await ask(undefined)).images.map(({ nsfw }) => nsfw)).toEqual(harmful);
  });

  it("is not asked for where the check is not wanted", async () => {
    const { images, warnings } = await ask(false);
    expect(images.map(({ nsfw }) => nsfw)).toEqual(harmful.map(() => false));
    expect(warnings.filter((text) => text.includes("safety_check"))).toEqual([]);
  });

  it("is said to be missing where the model brings no checker", async () => {
    const folder = await models.copy("sd15", "unchecked");
    await rm(join(folder, "safety_checker"), { recursive: true });
    const unchecked = backendOf(folder);
    try {
      expect(unchecked.models()[0]?.supports).not.toContain("safety_check");
      const { images, warnings } = await ask(true, unchecked);
      expect(images.map(({ nsfw }) => nsfw)).toEqual(harmful.map(() => false));
      expect(warnings).toContainEqual(expect.stringContaining("no checker is configured"));
    } finally {
      await unchecked.close();
    }
  });
});
