/** The VAE decoder: latents to pixels. */
import { files, type ModelFolder } from "./folder.js";
import type { Runnable } from "./graph.js";
import { ModelProblem, NotFinite } from "./problem.js";
import type { LatentSize } from "./unet.js";

/** Width and height in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * The latents for a picture: its size divided by the decoder's factor, rounded
 * up, so that the picture can be cut out of what the decoder makes.
 */
export function latentSize(folder: ModelFolder, { width, height }: Size): LatentSize {
  const { unet } = folder;
  const { factor, multiple } = grid(folder);
  const up = (pixels: number) => Math.ceil(pixels / factor / multiple) * multiple;
  return { channels: unet.in_channels, width: up(width), height: up(height) };
}

/** The size of a picture of the fewest latents that a model can work on, so that it is quick. */
export function leastSize(folder: ModelFolder): Size {
  const { factor, multiple } = grid(folder);
  const side = factor * Math.max(multiple, 2);
  return { width: side, height: side };
}

function grid({ unet, vae }: ModelFolder) {
  return {
    factor: 2 ** (vae.block_out_channels.length - 1),
    // Exported UNets of diffusers can't take sizes that don't halve evenly at every level.
    multiple: 2 ** ((unet.down_block_types?.length ?? 1) - 1),
  };
}

/**
 * Decodes latents.
 * @returns 8-bit RGB of the asked size, cut from the middle of the decoded picture
 */
export async function decodeLatents(
  decoder: Runnable,
  folder: ModelFolder,
  latents: Float32Array,
  size: LatentSize,
  picture: Size,
): Promise<Uint8ClampedArray> {
  const { planes, columns, rows } = await decodePlanes(decoder, folder, latents, size);
  if (rows < picture.height || columns < picture.width) {
    throw new ModelProblem(
      `${files.vae}: gives a tensor of shape [1,3,${rows},${columns}] for ${picture.width}x${picture.height} pixels`,
    );
  }
  return toRgb(planes, columns, rows, picture);
}

/** Three planes of numbers from -1 to 1. */
export interface Planes {
  readonly planes: Float32Array;
  readonly columns: number;
  readonly rows: number;
}

/** Runs the decoder; its whole picture, as it gives it. */
export async function decodePlanes(
  decoder: Runnable,
  { vae }: ModelFolder,
  latents: Float32Array,
  { channels, width, height }: LatentSize,
): Promise<Planes> {
  const shift = vae.shift_factor ?? 0;
  const area = width * height;
  const scaled = latents.map((value, i) => {
    const channel = Math.floor(i / area);
    const deviation = vae.latents_std?.[channel] ?? 1;
    return (value * deviation) / vae.scaling_factor + (vae.latents_mean?.[channel] ?? shift);
  });
  const { data, dims } = await decoder.run(
    { latent_sample: [scaled, [1, channels, height, width]] },
    "sample",
  );
  const [, colours, rows = 0, columns = 0] = dims;
  // Some autoencoders leave the range of half precision.
  if (data.some((value) => !Number.isFinite(value))) {
    throw new NotFinite(files.vae);
  }
  if (dims.length !== 4 || colours !== 3) {
    throw new ModelProblem(`${files.vae}: gives a tensor of shape [${dims}], not [1, 3, h, w]`);
  }
  return { planes: data, columns, rows };
}

/** Three planes of -1 to 1 to bytes. Halves round to even and what is outside is clamped. */
function toRgb(planes: Float32Array, columns: number, rows: number, size: Size): Uint8ClampedArray {
  const rgb = new Uint8ClampedArray(size.width * size.height * 3);
  const plane = columns * rows;
  const top = Math.floor((rows - size.height) / 2);
  const left = Math.floor((columns - size.width) / 2);
  let to = 0;
  for (let y = 0; y < size.height; y++) {
    let from = (top + y) * columns + left;
    for (let x = 0; x < size.width; x++, from++) {
      rgb[to++] = ((planes[from] as number) / 2 + 0.5) * 255;
      rgb[to++] = ((planes[from + plane] as number) / 2 + 0.5) * 255;
      rgb[to++] = ((planes[from + 2 * plane] as number) / 2 + 0.5) * 255;
    }
  }
  return rgb;
}
