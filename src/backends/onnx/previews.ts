/**
 * Small pictures of the state: a linear projection of the latents, one pixel
 * for each place. Cheap, and good enough to see where it goes.
 */
import type { ModelFolder } from "./folder.js";
import type { Runnable } from "./graph.js";
import { noiseOf } from "./noise.js";
import { encodePng } from "./png.js";
import type { Reading } from "./schedulers/prediction.js";
import { type LatentSize, numbersIn } from "./unet.js";
import { decodePlanes, latentSize, leastSize } from "./vae.js";

/** How a place's latents become its colour, from 0 to 1. */
export interface Projection {
  /** For each channel of the latents its share in red, green and blue. */
  readonly factors: readonly (readonly number[])[];
  readonly bias: readonly number[];
}

/**
 * Fitted by others to the autoencoders that Stable Diffusion models share, for
 * colours from -1 to 1; the scaling factor tells which one a model has.
 */
const known: readonly { readonly scale: number; readonly projection: Projection }[] = [
  {
    scale: 0.18215,
    projection: {
      factors: [
        [0.3512, 0.2297, 0.3227],
        [0.325, 0.4974, 0.235],
        [-0.2829, 0.1762, 0.2721],
        [-0.212, -0.2616, -0.7177],
      ],
      bias: [0, 0, 0],
    },
  },
  {
    scale: 0.13025,
    projection: {
      factors: [
        [0.3651, 0.4232, 0.4341],
        [-0.2533, -0.0042, 0.1068],
        [0.1076, 0.1111, -0.0362],
        [-0.3165, -0.2492, -0.2188],
      ],
      bias: [0.1084, -0.0175, -0.0011],
    },
  },
];

/**
 * The projection of a model: what its `vae_decoder/config.json` says
 * (`latent_rgb_factors`), or what is known of its autoencoder, or a fit.
 */
export async function projectionOf(folder: ModelFolder, decoder: Runnable): Promise<Projection> {
  const { vae } = folder;
  if (vae.latent_rgb_factors) {
    return { factors: vae.latent_rgb_factors, bias: vae.latent_rgb_factors_bias ?? [0, 0, 0] };
  }
  const found = known.find(({ scale }) => Math.abs(scale - vae.scaling_factor) < 1e-6);
  if (found && vae.latent_channels === 4) return halved(found.projection);
  return halved(await fitted(folder, decoder));
}

/** The same for colours from 0 to 1. */
const halved = ({ factors, bias }: Projection): Projection => ({
  factors: factors.map((row) => row.map((x) => x / 2)),
  bias: bias.map((x) => x / 2 + 0.5),
});

/** By least squares: what the decoder makes of noise, as far as it is linear. */
async function fitted(folder: ModelFolder, decoder: Runnable): Promise<Projection> {
  const least = leastSize(folder);
  const picture = { width: least.width * 8, height: least.height * 8 };
  const size = latentSize(folder, picture);
  const latents = new Float32Array(numbersIn(size));
  noiseOf(0)(latents);
  const { planes, columns, rows } = await decodePlanes(decoder, folder, latents, size);
  const area = size.width * size.height;
  const [across, down] = [columns / size.width, rows / size.height];
  const count = size.channels + 1;
  // Normal equations; the last unknown is the bias.
  const left = Array.from({ length: count }, () => new Float64Array(count));
  const right = Array.from({ length: count }, () => new Float64Array(3));
  for (let place = 0; place < area; place++) {
    const z = Array.from({ length: count }, (_, c) =>
      c < size.channels ? (latents[c * area + place] as number) : 1,
    );
    const colour = [0, 1, 2].map((plane) => {
      const x0 = (place % size.width) * across;
      const y0 = Math.floor(place / size.width) * down;
      let sum = 0;
      for (let y = y0; y < y0 + down; y++) {
        for (let x = x0; x < x0 + across; x++) sum += planes[(plane * rows + y) * columns + x] ?? 0;
      }
      return sum / (across * down);
    });
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < count; j++) add(left, i, j, (z[i] as number) * (z[j] as number));
      for (let j = 0; j < 3; j++) add(right, i, j, (z[i] as number) * (colour[j] as number));
    }
  }
  const solved = solve(left, right);
  return { factors: solved.slice(0, -1), bias: solved.at(-1) ?? [0, 0, 0] };
}

function add(matrix: readonly Float64Array[], i: number, j: number, value: number): void {
  const row = matrix[i] as Float64Array;
  row[j] = (row[j] as number) + value;
}

/** Gauss and Jordan; the matrix is symmetric and positive, so that no rows need to be exchanged. */
function solve(left: readonly Float64Array[], right: readonly Float64Array[]): number[][] {
  for (const [i, row] of left.entries()) {
    const pivot = row[i] || 1;
    for (const [k, other] of left.entries()) {
      if (k === i) continue;
      const factor = (other[i] as number) / pivot;
      for (let j = 0; j < row.length; j++) add(left, k, j, -factor * (row[j] as number));
      for (let j = 0; j < 3; j++) add(right, k, j, -factor * (right[i]?.[j] as number));
    }
  }
  return right.map((row, i) => Array.from(row, (value) => value / (left[i]?.[i] || 1)));
}

/**
 * The picture as the model imagines it at a step.
 * @param input what the model was shown
 * @param output what it said
 */
export function preview(
  { factors, bias }: Projection,
  { channels, width, height }: LatentSize,
  input: Float32Array,
  output: Float32Array,
  { cleanOfSample, cleanOfOutput }: Reading,
): Promise<Uint8Array<ArrayBuffer>> {
  const area = width * height;
  const rgb = new Uint8ClampedArray(area * 3);
  for (let place = 0; place < area; place++) {
    for (let colour = 0; colour < 3; colour++) {
      let value = bias[colour] ?? 0;
      for (let channel = 0; channel < channels; channel++) {
        const i = channel * area + place;
        const clean = cleanOfSample * (input[i] as number) + cleanOfOutput * (output[i] as number);
        value += clean * (factors[channel]?.[colour] ?? 0);
      }
      rgb[place * 3 + colour] = value * 255;
    }
  }
  return encodePng(rgb, width, height);
}
