/** Streams with an event each 20 ms: what the gateway adds. */
import { answering, type Contestant } from "../contestants/contestant.js";
import { cpuMicros } from "../cores.js";
import { loadOf, warmingOf } from "../load/kinds.js";
import { type Load, memoryOf } from "../load/memory.js";
import { opening, streams } from "../load/streams.js";
import { warm } from "../load/warm.js";
import type { Scenario } from "./scenario.js";

/** Seconds after which next to nothing is compiled any more for slow streams. */
const warmingSeconds = 10;

/** Measures with so many streams open at once. */
export function paced(open: number, contestants: readonly Contestant[]): Scenario {
  return {
    name: `paced${open}`,
    about: `${open} streams open, an event each 20 ms`,
    contestants: [{ name: "direct" }, ...contestants],
    async measure(stage, name) {
      const contestant = contestants.find((one) => one.name === name);
      const port = contestant ? stage.port() : stage.upstream;
      const process = contestant?.start(port, stage.upstream, stage.folder);
      try {
        if (contestant) await answering(contestant, port);
        const streamsOf: Load = (open, seconds) =>
          streams(stage.streams, contestant, port, open, seconds);
        const load = (seconds: number) => streamsOf(open, seconds);
        const pid = process?.pid;
        // Before it is warm: a heap that has grown would hold streams without growing.
        const memory = pid ? await memoryOf(pid, open, stage.seconds, streamsOf) : {};
        if (contestant && pid) {
          const warming = loadOf(warmingOf("paced"), contestant, port, stage.folder, 64);
          await warm(pid, async (seconds) => (await warming(seconds)).answers);
          // What was compiled for streams at full speed is compiled anew for slow ones.
          await load(warmingSeconds);
        }
        const before = pid ? cpuMicros(pid) : 0;
        const result = await load(stage.seconds);
        const cpu = pid ? cpuMicros(pid) - before : 0;
        return {
          first50: result.first50 / 1000,
          first99: result.first99 / 1000,
          delay50: result.delay50 / 1000,
          delay99: result.delay99 / 1000,
          events: result.events / stage.seconds,
          merged: result.events / result.eventReads,
          cpuShare: cpu / 1e6 / (stage.seconds + opening),
          ...memory,
        };
      } finally {
        await process?.stop();
      }
    },
  };
}
