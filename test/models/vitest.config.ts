/** What takes too long for `npm test`: the evaluations of the embedded models. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/models/*.eval.ts"],
    globalSetup: "test/support/temporary.ts",
    hookTimeout: 60_000,
  },
});
