/**
 * What each of 1,000 paced streams takes of the memory of a process that is new, and nothing else. Run by
 *   npx tsx bench/memory.ts CONTESTANT[,main=FILE][,node=OPTION]… [--rounds 5] [--seconds 2]
 * as in `memory.ts undici lintel,main=../before/dist/src/main.js lintel`. Prints KB of a stream, all rounds in order.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compile } from "./compile.js";
import { answering } from "./contestants/contestant.js";
import { startVariant } from "./contestants/variant.js";
import { memoryOf } from "./load/memory.js";
import { streams } from "./load/streams.js";
import { startUpstream } from "./upstream/upstream.js";

const { values, positionals: variants } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "lintel-memory-"));
const at = 27_000 + Math.floor(Math.random() * 3000);
const upstream = await startUpstream(folder, at);
const program = compile("bench/load/streams.c", folder);
const measured = variants.map(() => [] as number[]);
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [i, variant] of variants.entries()) {
      const port = at + 1 + round * variants.length + i;
      const own = join(folder, String(port));
      const { contestant, gateway } = startVariant(variant, port, at, own);
      try {
        await answering(contestant, port);
        const { streamKB } = await memoryOf(
          gateway.pid,
          1000,
          Number(values.seconds),
          (open, time) => streams(program, contestant, port, open, time),
        );
        measured[i]?.push(streamKB ?? Number.NaN);
      } finally {
        await gateway.stop();
      }
    }
  }
  for (const [i, variant] of variants.entries()) {
    const sorted = measured[i]?.toSorted((a, b) => a - b) ?? [];
    console.log(`${variant}: ${sorted.map((kb) => kb.toFixed(1)).join(" ")} KB`);
  }
} finally {
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
}
