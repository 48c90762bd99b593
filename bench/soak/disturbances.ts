/** What fails and comes back while calls go on, one after the other, and when it did. */
import { setTimeout as pause } from "node:timers/promises";
import type { Running } from "../../test/faults/processes.js";
import { workersOf } from "./gateway-log.js";
import type { Shared } from "./shared.js";

/** When something was away, and what; times of `Date.now()`. */
export interface Outage {
  readonly what: string;
  readonly from: number;
  until: number;
}

/** One thing that fails: resolves once it is back. */
type Disturb = () => Promise<void>;

/** Something is away for so long. */
const away =
  (ms: number, goes: () => unknown, comes: () => unknown): Disturb =>
  async () => {
    await goes();
    await pause(ms);
    await comes();
  };

const dies = ({ kill, restart }: Running): Disturb => away(2000, kill, restart);

/**
 * All that fails with several workers.
 * @param log the gateway's, which tells its workers; the last of them is killed, so that the others can be compared
 */
export function sharedDisturbances(
  { redis, postgres, far, comfyui, sdapi }: Shared,
  log: string,
): readonly (readonly [string, Disturb])[] {
  return [
    ["Redis stands still", away(3000, redis.pause, redis.resume)],
    [
      "a worker",
      async () => {
        const last = workersOf(log).at(-1);
        if (last) process.kill(last.pid, "SIGKILL");
        // Until another one is in its place.
        for (let i = 0; i < 100 && workersOf(log).at(-1)?.pid === last?.pid; i++) await pause(100);
      },
    ],
    ["PostgreSQL", away(3000, postgres.kill, postgres.start)],
    ["far", dies(far)],
    ["Redis", away(2000, redis.kill, redis.start)],
    ["comfyui", dies(comfyui)],
    ["sdapi", dies(sdapi)],
  ];
}

/** Model servers that fail. */
export const serverDisturbances = (
  servers: Readonly<Record<string, Running>>,
): readonly (readonly [string, Disturb])[] =>
  Object.entries(servers).map(([name, one]) => [name, dies(one)]);

/** Disturbs in turns, with pauses, as long as `wait` is not over; notes what was away when. */
export async function disturb(
  all: readonly (readonly [string, Disturb])[],
  outages: Outage[],
  everyMs: number,
  wait: (ms: number) => Promise<boolean>,
): Promise<void> {
  for (let i = 0; await wait(everyMs); i++) {
    const [what, run] = all[i % all.length] as (typeof all)[number];
    const outage = { what, from: Date.now(), until: Number.POSITIVE_INFINITY };
    outages.push(outage);
    await run();
    outage.until = Date.now();
  }
}

/** How long something is felt after it is back, milliseconds. */
const aftermathMs = 3000;

/** Whether something was away in this time. */
export const wasAway = (
  outages: readonly Outage[],
  what: RegExp,
  from: number,
  until: number,
): boolean =>
  outages.some(
    (one) => what.test(one.what) && one.from <= until && from <= one.until + aftermathMs,
  );
