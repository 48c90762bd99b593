/** Seeds of images. */
import { randomInt } from "node:crypto";

/** How many seeds there are; they count modulo this. */
export const seeds = 2 ** 32;

/** The seed of the first image of a request: as asked, or a random one for none or a negative one. */
export const firstSeed = (asked: bigint | undefined): number =>
  asked !== undefined && asked >= 0n ? Number(asked) : randomInt(seeds);

/** The seed of image `i` of a request. */
export const nthSeed = (first: number, i: number): number => (first + i) % seeds;

/** Whether a number is a seed: an integer from 0 on, below `seeds`. */
export const isSeed = (value: number): boolean =>
  Number.isInteger(value) && value >= 0 && value < seeds;
