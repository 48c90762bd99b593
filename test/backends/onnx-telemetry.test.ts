import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

// It keeps an id of the machine and a queue of what it will report, and a log while it runs.
test.each([
  ["images", path("../../models/image/lintel-image")],
  ["checker", path("../safety/classifier")],
])("the engine leaves nothing that it could report: %s", (what, folder) => {
  const home = mkdtempSync(join(tmpdir(), "lintel-home-"));
  const loader = path("../../scripts/typescript-loader.js");
  const said = execFileSync(
    process.execPath,
    ["--import", loader, path("onnx/load.ts"), what, folder],
    // Only this: it reports nothing where it takes itself to be in CI, either.
    { env: { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: home }, encoding: "utf8" },
  );
  expect(said).toBe("loaded\n");
  expect(readdirSync(home)).toEqual([]);
});
