import { defineConfig } from "vitest/config";

/** Where CI wants a report in JSON. */
const report = process.env.LINTEL_TEST_REPORT;

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/temporary.ts",
    setupFiles: "test/support/waiting.ts",
    env: {
      // Some tests load the engine without the thread that sees to it.
      ORT_DISABLE_TELEMETRY: "1",
      // From Node 22.8 on it lies in the temporary folder, where tests look at what is left.
      NODE_DISABLE_COMPILE_CACHE: "1",
    },
    // Longer than anything takes: what is waited for comes, however busy the machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
  },
});
