import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/**
 * Files that run in a process each: they load engines, whose memory and log are a process's, or replace modules.
 * The others share a few processes: most of what a file costs is else to load the project anew.
 */
const apart = [
  "test/backends/{embedded,llama*,node*,onnx*,residents*,unloadable}.test.ts",
  "test/cli/{models,node}.test.ts",
  "test/models/*.test.ts",
  "test/reload/setup.test.ts",
  "test/safety/*.test.ts",
  "test/state/journal-disk.test.ts",
  "test/telemetry/node.test.ts",
];

/** Where CI wants a report in JSON. */
const report = process.env.LINTEL_TEST_REPORT;

export default defineConfig({
  test: {
    globalSetup: ["test/support/temporary.ts", "test/support/built.ts"],
    setupFiles: "test/support/waiting.ts",
    env: {
      // Some tests load the engine without the thread that sees to it.
      ORT_DISABLE_TELEMETRY: "1",
      // From Node 22.8 on it lies in the temporary folder, where tests look at what is left.
      NODE_DISABLE_COMPILE_CACHE: "1",
    },
    // Longer than anything takes: what is waited for comes, however busy the machine.
    testTimeout: 120_000,
    // Tests wait for other processes, and for answers that are late on purpose; vitest would leave a core out.
    maxWorkers: availableParallelism() + 1,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    projects: [
      {
        extends: true,
        test: { name: "shared", include: ["test/**/*.test.ts"], exclude: apart, isolate: false },
      },
      { extends: true, test: { name: "apart", include: apart } },
    ],
  },
});
