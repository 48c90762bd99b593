/**
 * The tests of the `ai-sdk` backend once more, behind providers of AI SDK 7. These want Node 22 by their word,
 * where Lintel's floor is 20, and so are no development dependencies: `npm install --prefix FOLDER` has them
 * from the package.json beside this, and `LINTEL_AI_SDK_7` is that folder.
 */
import { defineConfig } from "vitest/config";

const folder = process.env.LINTEL_AI_SDK_7;
if (!folder)
  throw new Error("LINTEL_AI_SDK_7 must be the folder where the providers are installed");

/** Where CI wants a report in JSON. */
const report = process.env.LINTEL_TEST_REPORT;

export default defineConfig({
  resolve: {
    alias: [{ find: /^(@ai-sdk\/(?!provider$).*)$/, replacement: `${folder}/node_modules/$1` }],
  },
  test: {
    include: [
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
