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
  /** How many there are. */
  readonly workers: number;
  /** Hands the gateway another configuration. */
  reload(): void;
  /** When a worker was killed, by `Date.now()`: noted here. */
  readonly kills: number[];
}

/** Between two durations by chance, milliseconds. */
const between = (least: number, most: number) => () => least + Math.random() * (most - least);

/** How long a worker may take until it listens, milliseconds: the machine may be busy. */
const startMs = 60_000;

/** The last of the workers. @throws Error if they do not all listen in time */
async function lastOf({ log, workers }: Scene, but?: number): Promise<number> {
  for (const until = Date.now() + startMs; Date.now() < until; await pause(100)) {
    const all = workersOf(log);
    const last = all.at(-1)?.pid;
    if (all.length === workers && last && last !== but) return last;
  }
  throw new Error(`of ${workers} workers not all listen after ${startMs} ms`);
}

/** A worker dies, and another one is in its place. */
async function replaced(scene: Scene): Promise<void> {
  const pid = await lastOf(scene);
  scene.kills.push(Date.now());
  process.kill(pid, "SIGKILL");
  await lastOf(scene, pid);
}

/** A worker stands still: its connections stay, and what it was handed waits for it. */
function stoodStill(scene: Scene): Disturb {
  let pid: number | undefined;
  const signal = (name: NodeJS.Signals) => {
    if (pid !== undefined) process.kill(pid, name);
  };
  return away(
    10_000,
    async () => {
      pid = await lastOf(scene);
      signal("SIGSTOP");
    },
    () => signal("SIGCONT"),
  );
}

/** All that fails with several workers. */
export function sharedDisturbances(
  { redis, postgres, bucket, far, comfyui, sdapi }: Shared,
  scene: Scene,
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
    ["a worker", () => replaced(scene)],
    ["PostgreSQL", away(3000, postgres.kill, postgres.start)],
    ["bucket is deaf", inMood("deaf", 8000)],
    ["far", dies(far)],
    ["Redis", away(2000, redis.kill, redis.start)],
    ["PostgreSQL stands still", away(between(5000, 20_000), postgres.pause, postgres.resume)],
    ["comfyui", dies(comfyui)],
    ["bucket is slow", inMood("slow", 8000)],
    ["a worker stands still", stoodStill(scene)],
    ["PostgreSQL is stopped", away(2000, postgres.stop, postgres.start)],
    ["sdapi", dies(sdapi)],
    ["bucket is busy", inMood("busy", 5000)],
    [
      "a worker in a reload",
      async () => {
        await lastOf(scene);
        scene.reload();
        await pause(Math.random() * 300);
        await replaced(scene);
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
