/** Until a process is warm: compilers work by what has run, not by what time has passed. */
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicros } from "../cores.js";

/** CPU time after which a process is taken for warm however little it has done, microseconds. */
const enough = 12_000_000;
/** Answers, whole or streamed, after which it is warm. */
const usual = 40_000;
/** Runs of the load: connections come and go with each, which takes ways of its own. */
const least = 8;
/** Longest that it is waited for, milliseconds. */
const patience = 60_000;

/**
 * Repeats a load until the process has answered enough.
 * @param load runs for so many seconds, and gives how much was answered
 */
export async function warm(pid: number, load: (seconds: number) => Promise<number>): Promise<void> {
  const until = performance.now() + patience;
  const end = cpuMicros(pid) + enough;
  let done = 0;
  let runs = 0;
  do {
    done += await load(1);
    runs++;
  } while ((done < usual || runs < least) && cpuMicros(pid) < end && performance.now() < until);
}

/** How long it is looked whether a process does anything, milliseconds, and how little is nothing. */
const looked = 200;
const little = 0.1;

/** Waits until a process has done what is left of a load: slow ones still have all that was asked at its end. */
export async function idle(pid: number): Promise<void> {
  const until = performance.now() + patience;
  let before: number;
  do {
    before = cpuMicros(pid);
    await sleep(looked);
  } while (cpuMicros(pid) - before > little * looked * 1000 && performance.now() < until);
}
