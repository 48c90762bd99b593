/**
 * The image pipeline against diffusers: tiny random models of each layout, every
 * scheduler, same noise. `test/backends/onnx/parity/make.py` wrote down what
 * diffusers itself makes of them.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noiseOf } from "../../src/backends/onnx/noise.js";
import { Pipeline } from "../../src/backends/onnx/pipeline.js";
import { loadRuntime } from "../../src/backends/onnx/runtime.js";
import { keepingSessions, type Layout, ParityModels, parityCases } from "./onnx/parity.js";

const layouts: readonly Layout[] = ["sd15", "sdxl", "turbo", "lcm"];

/** How far apart two pictures' latents are, relative to their length. */
function apart(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let difference = 0;
  let length = 0;
  for (let i = 0; i < b.length; i++) {
    difference += ((a[i] ?? 0) - (b[i] ?? 0)) ** 2;
    length += (b[i] ?? 0) ** 2;
  }
  return Math.sqrt(difference / length);
}

describe.each(layouts)("the layout %s", (layout) => {
  let models: ParityModels;
  let runtime: ReturnType<typeof keepingSessions>;
  /** The scheduler that the model came with. */
  let own: string | undefined;
  beforeAll(async () => {
    models = await ParityModels.unpack(layout);
    runtime = keepingSessions(await loadRuntime());
  });
  afterAll(async () => {
    await runtime.release();
    await models.remove();
  });

  const cases = parityCases.filter((wanted) => wanted.layout === layout);

  it.each(cases)("gives what diffusers gives: $name", async (wanted) => {
    const folder = models.folder(layout);
    const scheduler = join(folder, "scheduler/scheduler_config.json");
    own ??= await readFile(scheduler, "utf8");
    await writeFile(scheduler, wanted.config ? JSON.stringify(wanted.config) : own);
    const pipeline = await Pipeline.load(runtime, { folder, threads: 1 });
    try {
      const { width, height, steps, prompt, negative } = wanted;
      const job = {
        ...{ width, height, steps, prompt },
        negativePrompt: negative,
        loras: Object.entries(wanted.loras).map(([id, weight]) => ({
          id,
          path: join(folder, "loras", `${id}.safetensors`),
          weight,
        })),
        bar: prompt.includes("|"),
        guidanceScale: wanted.guidance,
      };
      const latents = await pipeline.denoise(job, noiseOf(wanted.seed));
      expect(latents).toHaveLength(wanted.latents.length);
      expect(apart(latents, wanted.latents)).toBeLessThan(1e-3);
      const rgb = await pipeline.decode(latents, { width, height });
      const far = rgb.filter((value, i) => Math.abs(value - (wanted.rgb[i] ?? 0)) > 2);
      expect(rgb).toHaveLength(wanted.rgb.length);
      expect([...far]).toEqual([]);
    } finally {
      await pipeline.close();
    }
  });
});

it("compares cases that differ from each other by more than the tolerance", () => {
  const alike: string[] = [];
  for (const [i, a] of parityCases.entries()) {
    for (const b of parityCases.slice(0, i)) {
      if (a.numbers !== b.numbers || apart(a.latents, b.latents) > 5e-3) continue;
      alike.push(`${a.name} = ${b.name}`);
    }
  }
  expect(alike).toEqual([]);
});
