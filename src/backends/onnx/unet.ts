/** The UNet with classifier-free guidance: both halves in one run. */
import { files } from "./folder.js";
import type { Feeds, Runnable } from "./graph.js";
import { ModelProblem } from "./problem.js";
import type { EncodedPrompt } from "./text.js";

/** Shape of the latents of one image. */
export interface LatentSize {
  readonly channels: number;
  readonly height: number;
  readonly width: number;
}

/** What a picture is to be like. */
export interface Wanted {
  readonly prompt: EncodedPrompt;
  /** What to leave out; absent: no guidance, one pass a step. */
  readonly negative?: EncodedPrompt | undefined;
  readonly guidanceScale: number;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

/** One image's way through the UNet. */
export interface Guided {
  /** Where the scheduler puts what the model is to see. */
  readonly input: Float32Array;
  /** What the model says to `input` at a timestep, after guidance. Valid until the next call. */
  predict(timestep: number): Promise<Float32Array>;
}

/** Inputs that every UNet has. */
export const unetInputs = ["sample", "timestep", "encoder_hidden_states"];

/** Inputs that only some have. */
export const unetExtras = ["text_embeds", "time_ids", "timestep_cond"];

/** Numbers in the latents of one image. */
export const numbersIn = ({ channels, height, width }: LatentSize): number =>
  channels * height * width;

/** Whether a model takes the guidance scale as an input, rather than a second pass. */
export const takesGuidance = (unet: Runnable): boolean => unet.has("timestep_cond");

/** Readies the UNet for latents of a size. */
export function guided(unet: Runnable, size: LatentSize, wanted: Wanted): Guided {
  const { prompt, negative, guidanceScale } = wanted;
  const count = numbersIn(size);
  const both = negative ? [negative, prompt] : [prompt];
  const passes = both.length;
  const sample = new Float32Array(passes * count);
  const sampleDims = [passes, size.channels, size.height, size.width];
  const timestepDims = dimsOfTimestep(unet, passes);
  const result = new Float32Array(count);
  const constant: Feeds = {
    encoder_hidden_states: [
      joined(both.map(({ states }) => states)),
      [passes, prompt.tokens, prompt.width],
    ],
    ...extrasOf(unet, both, wanted),
  };

  return {
    input: sample.subarray(0, count),
    async predict(timestep) {
      if (negative) sample.copyWithin(count, 0, count);
      const { data } = await unet.run(
        {
          sample: [sample, sampleDims],
          timestep: [timestepDims[0] === 2 ? [timestep, timestep] : [timestep], timestepDims],
          ...constant,
        },
        "out_sample",
      );
      if (data.length !== sample.length) {
        throw new ModelProblem(`${files.unet}: gives ${data.length} numbers for ${sample.length}`);
      }
      if (!negative) return data;
      for (let i = 0; i < count; i++) {
        const without = data[i] as number;
        result[i] = without + guidanceScale * ((data[count + i] as number) - without);
      }
      return result;
    },
  };
}

/** What only some models want to know. */
function extrasOf(unet: Runnable, both: readonly EncodedPrompt[], wanted: Wanted): Feeds {
  const passes = both.length;
  const extras: Record<string, Feeds[string]> = {};
  if (unet.has("text_embeds")) {
    const pooled = both.map((prompt) => prompt.pooled ?? new Float32Array());
    extras.text_embeds = [joined(pooled), [passes, pooled[0]?.length ?? 0]];
  }
  if (unet.has("time_ids")) {
    // Original size, where it was cropped, size to make: as of a picture that was not cropped.
    const { width, height } = wanted;
    const ids = [height, width, 0, 0, height, width];
    extras.time_ids = [both.flatMap(() => ids), [passes, ids.length]];
  }
  if (unet.has("timestep_cond")) {
    const width = Number(unet.input("timestep_cond").shape[1]);
    extras.timestep_cond = [guidanceEmbedding(wanted.guidanceScale, width), [passes, width]];
  }
  return extras;
}

/** The guidance scale as distilled models take it: sines and cosines of falling frequencies. */
function guidanceEmbedding(scale: number, width: number): Float32Array {
  const half = Math.floor(width / 2);
  const out = new Float32Array(width);
  for (let i = 0; i < half; i++) {
    const angle = (scale - 1) * 1000 * Math.exp((-Math.log(10_000) * i) / (half - 1));
    out[i] = Math.sin(angle);
    out[half + i] = Math.cos(angle);
  }
  return out;
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Exports have a scalar, one number, or one for each sample of the batch. */
function dimsOfTimestep(unet: Runnable, passes: number): number[] {
  const [size, ...more] = unet.input("timestep").shape;
  if (size === undefined) return [];
  if (more.length > 0) throw new ModelProblem(`${files.unet}: timestep has too many dimensions`);
  return typeof size === "string" && size === unet.input("sample").shape[0] ? [passes] : [1];
}
