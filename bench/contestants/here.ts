/** Contestants that need nothing but this checkout and nginx. */
import { bare, bareFastify, barePipe, bareTogether } from "./bare.js";
import type { Contestant } from "./contestant.js";
import { lintelFull, lintelPlain } from "./lintel.js";
import { nginx } from "./nginx.js";

const here: readonly Contestant[] = [
  lintelPlain,
  lintelFull,
  bare,
  bareTogether,
  bareFastify,
  barePipe,
  nginx,
];

/** @throws Error that names those there are */
export function contestantNamed(name: string): Contestant {
  const found = here.find((one) => one.name === name);
  if (!found) throw new Error(`${name} is none of ${here.map(({ name }) => name).join(", ")}`);
  return found;
}
