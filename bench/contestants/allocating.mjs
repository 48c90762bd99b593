// Loaded ahead of a contestant (`--import`): samples what its first thread allocates between two
// SIGUSR2, also what was collected since, and writes the profile to the file of BENCH_ALLOCATIONS.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector";
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
    session.post("HeapProfiler.startSampling", options, () => {});
    process.once("SIGUSR2", () => {
      session.post("HeapProfiler.stopSampling", (_, { profile }) =>
        writeFileSync(process.env.BENCH_ALLOCATIONS, JSON.stringify(profile)),
      );
    });
  });
}
