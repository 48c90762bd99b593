/**
 * The `ai-sdk` backend before all packages that it knows. They are too many for development dependencies: `npm
 * install --prefix FOLDER` has those of one major version from the package.json in `v6` or `v7`, and
 * `LINTEL_PROVIDERS` is that folder.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const folder = process.env.LINTEL_PROVIDERS;
if (!folder)
  throw new Error(
    "LINTEL_PROVIDERS must be the folder where a package.json of test/providers is installed",
  );

const { resolve } = createRequire(join(folder, "package.json"));

/** Where CI wants a report in JSON. */
const report = process.env.LINTEL_TEST_REPORT;

export default defineConfig({
  plugins: [
    {
      name: "providers of the folder",
      enforce: "pre",
      resolveId: (name) => (name.startsWith("@ai-sdk/") ? resolve(name) : undefined),
    },
  ],
  test: {
    include: ["test/providers/*.contract.ts"],
    globalSetup: "test/support/temporary.ts",
    setupFiles: "test/support/waiting.ts",
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
  },
});
