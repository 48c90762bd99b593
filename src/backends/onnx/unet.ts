/** The UNet with classifier-free guidance: both halves in one run. */
import { files } from "./folder.js";
import type { Graph } from "./graph.js";
import { ModelProblem } from "./problem.js";
import type { EncodedPrompt } from "./text.js";

/** Shape of the latents of one image. */
export interface LatentSize {
  readonly channels: number;
  readonly height: number;
  readonly width: number;
}

/** One image's way through the UNet. */
export interface Guided {
  /** Where the scheduler puts what the model is to see. */
  readonly input: Float32Array;
  /** What the model says to `input` at a timestep, after guidance. Valid until the next call. */
  predict(timestep: number): Promise<Float32Array>;
}

/** Numbers in the latents of one image. */
export const numbersIn = ({ channels, height, width }: LatentSize): number =>
  channels * height * width;

/**
 * Readies the UNet for latents of a size.
 * @param prompt what to show
 * @param negative what to leave out; absent: no guidance, one pass a step
 * @param scale guidance scale
 */
export function guided(
  unet: Pick<Graph, "run" | "input">,
  size: LatentSize,
  prompt: EncodedPrompt,
  negative: EncodedPrompt | undefined,
  scale: number,
): Guided {
  const count = numbersIn(size);
  const passes = negative ? 2 : 1;
  const sample = new Float32Array(passes * count);
  const states = new Float32Array(passes * prompt.states.length);
  if (negative) states.set(negative.states, 0);
  states.set(prompt.states, (passes - 1) * prompt.states.length);
  const sampleDims = [passes, size.channels, size.height, size.width];
  const timestepDims = dimsOfTimestep(unet, passes);
  const result = new Float32Array(count);

  return {
    input: sample.subarray(0, count),
    async predict(timestep) {
      if (negative) sample.copyWithin(count, 0, count);
      const { data } = await unet.run({
        sample: [sample, sampleDims],
        timestep: [timestepDims[0] === 2 ? [timestep, timestep] : [timestep], timestepDims],
        encoder_hidden_states: [states, [passes, prompt.tokens, prompt.width]],
      });
      if (data.length !== sample.length) {
        throw new ModelProblem(`${files.unet}: gives ${data.length} numbers for ${sample.length}`);
      }
      if (!negative) return data;
      for (let i = 0; i < count; i++) {
        const without = data[i] as number;
        result[i] = without + scale * ((data[count + i] as number) - without);
      }
      return result;
    },
  };
}

/** Exports have a scalar, one number, or one for each sample of the batch. */
function dimsOfTimestep(unet: Pick<Graph, "input">, passes: number): number[] {
  const [size, ...more] = unet.input("timestep").shape;
  if (size === undefined) return [];
  if (more.length > 0) throw new ModelProblem(`${files.unet}: timestep has too many dimensions`);
  return typeof size === "string" && size === unet.input("sample").shape[0] ? [passes] : [1];
}
