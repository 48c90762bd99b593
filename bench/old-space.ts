/** What collections of the new space leave in the old one. */
import type { GCProfiler } from "node:v8";

/** Collections, as Node's `GCProfiler` tells them. */
export type Collections = NonNullable<ReturnType<GCProfiler["stop"]>>["statistics"];

type Heap = Collections[number]["beforeGC"];

const bytesIn = ({ heapSpaceStatistics }: Heap): number =>
  heapSpaceStatistics.find((space) => space.spaceName === "old_space")?.spaceUsedSize ?? 0;

/** Scavenges: how many, what they took, and what they and all between two of them put into the old space. */
export function scavenges(collections: Collections): {
  readonly count: number;
  readonly micros: number;
  readonly bytes: number;
} {
  let count = 0;
  let micros = 0;
  let bytes = 0;
  let last: number | undefined;
  for (const { gcType, cost, beforeGC, afterGC } of collections) {
    const now = bytesIn(afterGC);
    // What full collections free does not count.
    if (gcType === "Scavenge") {
      count++;
      micros += cost;
      bytes += now - (last ?? bytesIn(beforeGC));
    }
    last = now;
  }
  return { count, micros, bytes };
}
