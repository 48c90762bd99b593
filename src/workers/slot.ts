/** The place of one worker among several. */
import type { Config } from "../config/schema.js";
import type { WorkerProcess } from "./process.js";

/** A worker, and who is started in its place. */
export interface Slot {
  readonly number: number;
  process: WorkerProcess | undefined;
  listens: boolean;
  /** A signal told it to leave: it does once another one serves. */
  terminated: boolean;
  /** It takes nothing new, and ends once its calls have. */
  leaves: boolean;
  /** What it was started with, or took over since. */
  config: Config | undefined;
  /** Ends in a row, none of which lived long enough. */
  ends: number;
  timer: NodeJS.Timeout | undefined;
}

/** One where nobody is yet. */
export const newSlot = (number: number): Slot => ({
  number,
  process: undefined,
  listens: false,
  terminated: false,
  leaves: false,
  config: undefined,
  ends: 0,
  timer: undefined,
});
