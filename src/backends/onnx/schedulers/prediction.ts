/** How picture and noise follow from what a model was shown and what it said. */
import type { NoiseSchedule } from "./schedule.js";

/**
 * All kinds of prediction are linear in both. The sample is scaled to a
 * variance of 1, as models see it.
 */
export interface Reading {
  readonly cleanOfSample: number;
  readonly cleanOfOutput: number;
  readonly noiseOfSample: number;
  readonly noiseOfOutput: number;
}

/**
 * How to read a model's output.
 * @param alpha share of the signal's variance in the sample
 */
export function readings(kind: NoiseSchedule["prediction_type"], alpha: number): Reading {
  const a = Math.sqrt(alpha);
  const b = Math.sqrt(1 - alpha);
  switch (kind) {
    case "epsilon":
      return { cleanOfSample: 1 / a, cleanOfOutput: -b / a, noiseOfSample: 0, noiseOfOutput: 1 };
    case "sample":
      return { cleanOfSample: 0, cleanOfOutput: 1, noiseOfSample: 1 / b, noiseOfOutput: -a / b };
    case "v_prediction":
      return { cleanOfSample: a, cleanOfOutput: -b, noiseOfSample: b, noiseOfOutput: a };
  }
}
