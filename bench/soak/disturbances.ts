/** What fails and comes back while calls go on, one after the other, and when it did. */
import { setTimeout as pause } from "node:timers/promises";
import type { Running } from "../../test/faults/processes.js";

/** When something was away, and what; times of `Date.now()`. */
export interface Outage {
  readonly what: string;
  readonly from: number;
  until: number;
}

/**
 * One thing that fails: resolves once it is back.
 * @param looks what is looked at while it is away; it is waited for, and may be over once that is back
 */
export type Disturb = (looks: () => Promise<unknown>) => Promise<void>;

/** What fails, by its name. */
export type Disturbance = readonly [what: string, disturb: Disturb];

/** Something is away for so long, milliseconds, and comes back then, whatever happens. */
export const away =
  (ms: number | (() => number), goes: () => unknown, comes: () => unknown): Disturb =>
  async (looks) => {
    let looking: Promise<unknown> | undefined;
    try {
      await goes();
      looking = looks();
      await pause(typeof ms === "number" ? ms : ms());
    } finally {
      await comes();
    }
    await looking;
  };

export const dies = ({ kill, restart }: Running): Disturb => away(2000, kill, restart);

/** Model servers that fail. */
export const serverDisturbances = (
  servers: Readonly<Record<string, Running>>,
): readonly Disturbance[] => Object.entries(servers).map(([name, one]) => [name, dies(one)]);

/** How disturbances follow each other. */
export interface Turns {
  /** The pause between two, milliseconds. */
  readonly everyMs: number;
  /** Waits so long; answers whether it goes on. */
  wait(ms: number): Promise<boolean>;
  /** Looks at what has to hold while something is away. */
  looks(what: string): Promise<unknown>;
}

/** Disturbs in turns, with pauses, as long as `wait` is not over; notes what was away when. */
export async function disturb(
  all: readonly Disturbance[],
  outages: Outage[],
  { everyMs, wait, looks }: Turns,
): Promise<void> {
  for (let i = 0; await wait(everyMs); i++) {
    const [what, run] = all[i % all.length] as Disturbance;
    const outage = { what, from: Date.now(), until: Number.POSITIVE_INFINITY };
    outages.push(outage);
    try {
      await run(() => looks(what));
    } finally {
      outage.until = Date.now();
    }
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
