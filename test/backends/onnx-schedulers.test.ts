/** Schedulers of the image pipeline, against what diffusers computes. */
import { describe, expect, it } from "vitest";
import { schedulerOf } from "../../src/backends/onnx/schedulers/index.js";
import expected from "./onnx/ddim.json" with { type: "json" };

describe("DDIM", () => {
  it.each(Object.entries(expected.cases))("agrees with the reference: %s", (_, wanted) => {
    const run = schedulerOf(wanted.config, "scheduler_config.json")(wanted.steps);
    expect(run.timesteps).toEqual(wanted.timesteps);
    expect(run.initialSigma).toBe(1);
    const latents = Float32Array.from(expected.sample);
    const input = new Float32Array(latents.length);
    const unused = () => {
      throw new Error("DDIM adds no noise");
    };
    for (let step = 0; step < wanted.steps; step++) {
      run.scale(latents, step, input);
      run.advance(
        input.map((x) => 0.9 * Math.cos(x + step)),
        step,
        latents,
        unused,
      );
    }
    latents.forEach((x, i) => {
      expect(Math.abs(x - (wanted.result[i] ?? 0))).toBeLessThan(2e-4);
    });
  });

  it.each([
    [{ _class_name: "HeunDiscreteScheduler" }, /scheduler HeunDiscreteScheduler is not supported/],
    [
      { _class_name: "UniPCMultistepScheduler", solver_type: "bh2" },
      /scheduler UniPCMultistepScheduler is not supported/,
    ],
    [{ _class_name: "toString" }, /scheduler toString is not supported/],
    [{}, /_class_name/],
    [{ _class_name: "DDIMScheduler", prediction_type: "flow" }, /prediction_type.*epsilon/],
    [{ _class_name: "DDIMScheduler", beta_start: "low", beta_schedule: 3 }, /beta_start.*beta_sch/],
    [{ _class_name: "DDIMScheduler", thresholding: true }, /thresholding is not supported/],
    ["DDIM", /scheduler_config.json/],
  ])("refuses %j, and says why", (config, message) => {
    expect(() => schedulerOf(config, "scheduler_config.json")).toThrow(message);
  });

  it("refuses more steps than the model was trained with", () => {
    const start = schedulerOf({ _class_name: "DDIMScheduler", num_train_timesteps: 10 }, "f");
    expect(() => start(11)).toThrow(/at most 10/);
  });
});

describe("DPM-Solver++ that ends at the least sigma", () => {
  it.each([
    [{ use_karras_sigmas: true, algorithm_type: "sde-dpmsolver++" }, 4],
    [{ use_karras_sigmas: true, solver_type: "heun" }, 20],
    [{ use_exponential_sigmas: true, solver_order: 3 }, 20],
    [{ use_lu_lambdas: true, solver_order: 3, algorithm_type: "sde-dpmsolver++" }, 20],
  ])("has a last step that changes nothing: %j in %i steps", (settings, steps) => {
    const common = { _class_name: "DPMSolverMultistepScheduler", final_sigmas_type: "sigma_min" };
    const run = schedulerOf({ ...common, ...settings }, "f")(steps);
    const latents = Float32Array.of(1, -0.5, 2);
    let before = latents.slice();
    for (let step = 0; step < steps; step++) {
      before = latents.slice();
      const output = latents.map((x) => 0.3 * x + 0.5 * Math.sin(2 * x));
      run.advance(output, step, latents, (out) => out.fill(0.5));
    }
    expect(latents.every(Number.isFinite)).toBe(true);
    expect([...latents]).toEqual([...before]);
  });
});

describe("a scheduler that clips", () => {
  it.each([
    ["LCMScheduler", 0.5],
    ["DDIMScheduler", 0.25],
  ])("keeps what it takes for the picture within the range: %s", (_class_name, range) => {
    const settings = { _class_name, clip_sample_range: range };
    const step = (clip_sample: boolean) => {
      const latents = Float32Array.of(3, -3, 0.0001);
      const output = Float32Array.of(-2, 2, 0);
      schedulerOf({ ...settings, clip_sample }, "f")(1).advance(output, 0, latents, () => {});
      return [...latents].map(Math.abs);
    };
    expect(Math.max(...step(false))).toBeGreaterThan(1);
    const [first = 0, second = 0] = step(true);
    expect(first).toBeCloseTo(range, 1);
    expect(second).toBeCloseTo(range, 1);
  });
});
