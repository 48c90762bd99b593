/** A local model that can't be loaded, on a Lintel behind a Lintel: every caller is told why. */
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { createNodeBackend } from "../../src/backends/node/index.js";
import { nodeSchema } from "../../src/backends/node/schema.js";
import { retryMs } from "../../src/backends/resident.js";
import { silent } from "../../src/core/log.js";
import { never, outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { startLintel } from "../support/lintel.js";
import { backendFor, tiny } from "./llama-subject.js";
import { restAt } from "./rest-subject.js";

const fronts = {
  node: (address: string) => {
    const entry = nodeSchema.parse({ type: "node", name: "test", address, token: "a" });
    return createNodeBackend(entry, { log: silent });
  },
  rest: (url: string) => restAt(url),
};

it.each(Object.entries(fronts))(
  "behind %s: always with the reason, until it is put right",
  async (_, front) => {
    const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
    const path = join(folder, "late.gguf");
    const model = backendFor(path, { id: "m" });
    const behind = await startLintel([model]);
    const backend = front(behind.url);
    // Whole milliseconds: sums of fractions would miss the bound by a hair, now and then.
    const now = vi.spyOn(performance, "now").mockReturnValue(Math.ceil(performance.now()));
    onTestFinished(async () => {
      now.mockRestore();
      await backend.close();
      await behind.close();
      await model.close();
      await rm(folder, { recursive: true });
    });
    await backend.ready?.("m", never);
    const core = coreOf([backend]);
    const hello = { model: "m", messages: [{ role: "user", content: "hello" }], maxTokens: 4 };
    for (let i = 0; i < 8; i++) {
      const { error } = await outcome(core, "chat", hello);
      expect(error).toMatchObject({
        code: "model_not_loaded",
        message: "late.gguf: no such file",
        http: 503,
        retryAfter: retryMs / 1000,
      });
    }
    await copyFile(tiny, path);
    now.mockReturnValue(performance.now() + retryMs);
    expect((await outcome(core, "chat", hello)).code).toBe("ok");
  },
);
