/**
 * The tests of clients, and of the `ai-sdk` backend, once more with the newest of what they use. It wants
 * Node 22 by its word, where Lintel's floor is 20, and so is no development dependency: `npm install --prefix
 * FOLDER` has it from the package.json beside this, and `LINTEL_NEWEST` is that folder.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const folder = process.env.LINTEL_NEWEST;
if (!folder)
  throw new Error("LINTEL_NEWEST must be the folder where test/newest/package.json is installed");

const { dependencies } = JSON.parse(
  readFileSync(new URL("package.json", import.meta.url), "utf8"),
) as { dependencies: Record<string, string> };

/** Where CI wants a report in JSON. */
const report = process.env.LINTEL_TEST_REPORT;

export default defineConfig({
  resolve: {
    alias: Object.keys(dependencies).map((name) => ({
      find: new RegExp(`^${name}(?=/|$)`),
      replacement: join(folder, "node_modules", name),
    })),
  },
  test: {
    include: [
      "test/clients/*.test.ts",
      "test/backends/ai-sdk*.test.ts",
      "test/backends/{blank-messages,cache-key,call-ids,end-user,one-form,pass-headers}.test.ts",
      "test/backends/{seeds-of-chat,small-pieces}.test.ts",
    ],
    globalSetup: "test/support/temporary.ts",
    setupFiles: "test/support/waiting.ts",
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
  },
});
