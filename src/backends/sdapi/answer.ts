/** Reads the answer to `txt2img`. */

import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { nonsense } from "../http/failure.js";
import { imageOfBase64 } from "../http/image.js";
import type { Checkpoint } from "./inventory.js";

/** An image as it came. */
export interface Made {
  readonly png: Uint8Array;
  /** The seed as the server reports it; absent if it does not. */
  readonly seed: number | undefined;
}

/**
 * The images of an answer, without the grid that some settings put first and
 * without what extensions put behind.
 * @param count how many were asked for
 * @param checkpoints all that the server has
 * @throws LintelError `upstream_failed` if there are fewer, one is no image, or
 *   they were made with another checkpoint
 */
export async function readTxt2img(
  answer: unknown,
  count: number,
  checkpoint: Checkpoint,
  checkpoints: readonly Checkpoint[],
): Promise<Made[]> {
  if (!isObject(answer) || !Array.isArray(answer.images)) {
    throw nonsense("answered without images");
  }
  const info = readInfo(answer.info);
  checkCheckpoint(info.sd_model_name, checkpoint, checkpoints);
  const first = index(info.index_of_first_image);
  const seeds = Array.isArray(info.all_seeds) ? info.all_seeds : [];
  const images = answer.images.slice(first, first + count);
  if (images.length < count) throw nonsense(`answered with ${images.length} of ${count} images`);
  return Promise.all(
    images.map(async (image: unknown, i) => {
      if (typeof image !== "string") throw nonsense("answered with something that is not an image");
      // The grid has no seed of its own: seeds begin with the first image.
      const seed: unknown = seeds[i];
      return {
        png: await imageOfBase64(image),
        seed: typeof seed === "number" && seed >= 0 ? seed : undefined,
      };
    }),
  );
}

/** What the server tells about its images: JSON in a string. Older stable-diffusion.cpp has an empty one. */
function readInfo(info: unknown): JsonObject {
  const value = typeof info === "string" ? parseJson(info) : info;
  return isObject(value) ? value : {};
}

const index = (value: unknown): number =>
  typeof value === "number" && Number.isInteger(value) && value > 0 ? value : 0;

/** Servers that don't find a checkpoint any more go on with the one that is loaded. */
function checkCheckpoint(
  used: unknown,
  { aliases }: Checkpoint,
  checkpoints: readonly Checkpoint[],
): void {
  if (typeof used !== "string" || aliases.includes(used)) return;
  if (checkpoints.some((other) => other.aliases.includes(used))) {
    throw nonsense("answered with another model than the one asked for");
  }
}
