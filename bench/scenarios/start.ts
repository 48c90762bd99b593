/** From the command to the first answer, and what is held while nobody calls. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { lintelPlain } from "../contestants/lintel.js";
import { residentBytes } from "../cores.js";
import type { Scenario } from "./scenario.js";

export const start: Scenario = {
  name: "start",
  about: "cold start to /healthz, memory 3 s later, without local models",
  contestants: [{ name: "lintel" }],
  async measure(stage) {
    const port = stage.port();
    const folder = mkdtempSync(join(stage.folder, "start-"));
    const since = performance.now();
    const process = lintelPlain.start(port, stage.upstream, folder);
    try {
      for (;;) {
        try {
          const response = await fetch(`http://127.0.0.1:${port}/healthz`);
          await response.text();
          if (response.status === 200) break;
        } catch {
          // Nobody listens yet.
        }
        if (performance.now() - since > 60_000) throw new Error("the gateway does not start");
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
      const healthMs = performance.now() - since;
      await new Promise((resolve) => setTimeout(resolve, 3000));
      return { healthMs, idleMB: residentBytes(process.pid) / 1024 / 1024 };
    } finally {
      await process.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
