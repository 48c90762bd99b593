/** Contestants by their names. */
import { bare, bareFastify, barePipe, bareTogether } from "./bare.js";
import type { Contestant } from "./contestant.js";
import { lintelCache, lintelFull, lintelPlain } from "./lintel.js";
import { nginx } from "./nginx.js";
import { litellm, portkey } from "./peers.js";

const all: readonly Contestant[] = [
  lintelPlain,
  lintelFull,
  lintelCache,
  bare,
  bareTogether,
  bareFastify,
  barePipe,
  nginx,
  portkey,
  litellm,
];

/** @throws Error that names those there are, or says why one can't take part */
export function contestantNamed(name: string): Contestant {
  const found = all.find((one) => one.name === name);
  if (!found) throw new Error(`${name} is none of ${all.map(({ name }) => name).join(", ")}`);
  if (found.missing) throw new Error(`${name} does not take part: ${found.missing}`);
  return found;
}
