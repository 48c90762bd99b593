/**
 * The image pipeline against diffusers: tiny random models of each layout, every
 * scheduler, same noise. `test/backends/onnx/parity/make.py` wrote down what
 * diffusers itself makes of them.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadRuntime } from "../../src/backends/onnx/runtime.js";
import {
  apart,
  drawCase,
  keepingSessions,
  type Layout,
  ParityModels,
  parityCases,
} from "./onnx/parity.js";

const layouts: readonly Layout[] = ["sd15", "sdxl", "turbo", "lcm"];

describe.each(layouts)("the layout %s", (layout) => {
  let models: ParityModels;
  let runtime: ReturnType<typeof keepingSessions>;
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
    const drawn = await drawCase(wanted, models, runtime);
    expect(drawn.apart).toBeLessThan(1e-3);
    expect(drawn.farColours).toEqual([]);
    expect(drawn.unfused).toBeUndefined();
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
