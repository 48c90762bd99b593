// Loaded ahead of a contestant (`--import`): samples what its first thread allocates between two
// SIGUSR2, also what was collected since, and what each collection did; writes the profile and
// those to the file of BENCH_ALLOCATIONS.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { GCProfiler } from "node:v8";
import { isMainThread } from "node:worker_threads";

/** Bytes between two samples, on average. */
const samplingInterval = 16_384;

if (isMainThread) {
  const session = new Session();
  session.connect();
  const options = {
    samplingInterval,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  };
  process.once("SIGUSR2", () => {
    const collector = new GCProfiler();
    collector.start();
    session.post("HeapProfiler.startSampling", options, () => {});
    process.once("SIGUSR2", () => {
      const { statistics } = collector.stop();
      session.post("HeapProfiler.stopSampling", (_, { profile }) =>
        writeFileSync(process.env.BENCH_ALLOCATIONS, JSON.stringify({ profile, statistics })),
      );
    });
  });
}
