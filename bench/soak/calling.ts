/** Callers who call at a rate, whatever becomes of their calls. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Ask } from "./asking.js";
import type { Call } from "./audit.js";

/** What they go by. */
export interface Calling {
  /** Kinds of calls, which are made in turn. */
  readonly kinds: readonly (readonly [string, Ask])[];
  /** Calls a second. */
  readonly rate: number;
  isRunning(): boolean;
}

async function make(kind: string, ask: Ask, calls: Call[]): Promise<void> {
  const from = Date.now();
  const call: Call = { id: randomUUID(), kind, seen: "unheard", error: undefined, from, until: 0 };
  calls.push(call);
  try {
    call.seen = await ask(call.id);
  } catch (error) {
    call.error = String((error as Error).message).slice(0, 120);
  }
  call.until = Date.now();
}

/** Calls as long as it runs, and then waits for what was begun; notes each in `calls`. */
export async function call(calls: Call[], { kinds, rate, isRunning }: Calling): Promise<void> {
  const going = new Set<Promise<void>>();
  const from = performance.now();
  for (let i = 0; isRunning(); i++) {
    const [kind, ask] = kinds[i % kinds.length] as (typeof kinds)[number];
    const one: Promise<void> = make(kind, ask, calls).finally(() => going.delete(one));
    going.add(one);
    await pause(Math.max(0, from + ((i + 1) * 1000) / rate - performance.now()));
  }
  await Promise.all(going);
}
