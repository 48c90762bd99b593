/** Reloads that are asked for while another one is under way. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Reloadable, reload } from "../../src/cli/reload.js";
import type { Config } from "../../src/config/schema.js";
import { silent } from "../../src/core/log.js";
import { valid } from "../config/text.js";

test("come after it, so that what is said of the last one is of what holds", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lintel-turns-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const told: unknown[] = [];
  const running: Reloadable = {
    config: valid("{}"),
    async reload({ timeouts }: Config) {
      // Another one, if it did not wait, has read its file by the end of this.
      for (let i = 0; i < 50; i++) await readFile(join(folder, "0.yaml"));
      told.push(timeouts.shutdown);
      return { changed: [], restart: [], added: [], removed: [] };
    },
    reloaded: ({ successful }) => void told.push(successful),
  };
  const ask = (text: string, i: number) => {
    const file = join(folder, `${i}.yaml`);
    writeFileSync(file, text);
    const log = { ...silent, level: "info" };
    return reload({ sources: { file, env: {} }, running, log }, "test");
  };
  const texts = ["shutdown: 1s", "shutdwn: 2s", "shutdown: 3s"];
  await Promise.all(texts.map((text, i) => ask(`timeouts: { ${text} }`, i)));
  expect(told).toEqual([1000, true, false, 3000, true]);
});
