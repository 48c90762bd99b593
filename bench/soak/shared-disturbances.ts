/** What fails where several workers lean on stores: the stores, the bucket of images, a full disk, and the workers. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Mood } from "../../test/faults/bucket.js";
import { away, type Disturb, type Disturbance, dies } from "./disturbances.js";
import { workersOf } from "./gateway-log.js";
import type { Shared } from "./shared.js";

/** Where it takes place. */
export interface Scene {
  /** The gateway's, which tells its workers; the last of them fails, so that the others can be compared. */
  readonly log: string;
  /** Hands the gateway another configuration. */
  reload(): void;
}

/** Between two durations by chance, milliseconds. */
const between = (least: number, most: number) => () => least + Math.random() * (most - least);

const lastOf = (log: string) => workersOf(log).at(-1)?.pid;

/** A worker dies, and another one is in its place. */
async function replaced(log: string): Promise<void> {
  const pid = lastOf(log);
  if (pid) process.kill(pid, "SIGKILL");
  for (let i = 0; i < 100 && lastOf(log) === pid; i++) await pause(100);
}

/** A worker stands still: its connections stay, and what it was handed waits for it. */
function stoodStill(log: string): Disturb {
  let pid: number | undefined;
  const signal = (name: NodeJS.Signals) => {
    if (pid !== undefined) process.kill(pid, name);
  };
  return away(
    10_000,
    () => {
      pid = lastOf(log);
      signal("SIGSTOP");
    },
    () => signal("SIGCONT"),
  );
}

/** All that fails with several workers. */
export function sharedDisturbances(
  { redis, postgres, bucket, far, comfyui, sdapi }: Shared,
  { log, reload }: Scene,
): readonly Disturbance[] {
  const inMood = (mood: Mood, ms: number): Disturb =>
    away(
      ms,
      () => {
        bucket.mood = mood;
      },
      () => {
        bucket.mood = "well";
      },
    );
  return [
    ["Redis stands still", away(3000, redis.pause, redis.resume)],
    ["a worker", () => replaced(log)],
    ["PostgreSQL", away(3000, postgres.kill, postgres.start)],
    ["bucket is deaf", inMood("deaf", 8000)],
    ["far", dies(far)],
    ["Redis", away(2000, redis.kill, redis.start)],
    ["PostgreSQL stands still", away(between(5000, 20_000), postgres.pause, postgres.resume)],
    ["comfyui", dies(comfyui)],
    ["bucket is slow", inMood("slow", 8000)],
    ["a worker stands still", stoodStill(log)],
    ["PostgreSQL is stopped", away(2000, postgres.stop, postgres.start)],
    ["sdapi", dies(sdapi)],
    ["bucket is busy", inMood("busy", 5000)],
    [
      "a worker in a reload",
      async () => {
        reload();
        await pause(Math.random() * 300);
        await replaced(log);
      },
    ],
    [
      "PostgreSQL can only be read",
      away(
        5000,
        () => postgres.readOnly(true),
        () => postgres.readOnly(false),
      ),
    ],
    ["bucket breaks off", inMood("cut", 5000)],
    ["Redis stands still for long", away(10_000, redis.pause, redis.resume)],
  ];
}

/** A disk that is full. @param folder on a small file system of its own */
export function diskDisturbance(folder: string): Disturbance {
  const file = join(folder, "full");
  const fill = () => {
    for (const some of [Buffer.alloc(64 * 1024), Buffer.alloc(1)]) {
      try {
        for (;;) writeFileSync(file, some, { flag: "a" });
      } catch {}
    }
  };
  return ["disk is full", away(5000, fill, () => rmSync(file, { force: true }))];
}
