/** What `npm ci --omit=optional` puts on disk. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scenario } from "./scenario.js";

export const install: Scenario = {
  name: "install",
  about: "npm ci --omit=optional --omit=dev",
  contestants: [{ name: "lintel" }],
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), "lintel-install-"));
    try {
      for (const file of ["package.json", "package-lock.json"]) cpSync(file, join(folder, file));
      const args = ["ci", "--omit=optional", "--omit=dev", "--ignore-scripts", "--no-audit"];
      const installed = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
      if (installed.status !== 0) throw new Error(installed.stderr);
      const size = spawnSync("du", ["-sm", "--apparent-size", "node_modules"], {
        cwd: folder,
        encoding: "utf8",
      });
      return { installMB: Number.parseInt(size.stdout, 10) };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
