/** What the log hears of servers whose list of models can't be read. */
import { expect, it, vi } from "vitest";
import { createBackend } from "../../src/backends/index.js";
import { configSchema } from "../../src/config/schema.js";
import { silent } from "../../src/core/log.js";
import { opened, serve } from "./serve.js";

it.each(["openai", "sdapi", "comfyui"])("the log says which backend it is: %s", async (type) => {
  const { url } = await serve((exchange) =>
    exchange.send(401, { "content-type": "application/json" }, '{"detail":"who?"}'),
  );
  const config = configSchema.parse({ backends: [{ type, name: "gpu-1", url }] });
  const warn = vi.fn();
  for (const entry of config.backends ?? []) {
    opened(await createBackend(entry, { log: { ...silent, warn } }));
  }
  await expect.poll(() => warn.mock.calls).toHaveLength(1);
  expect(warn).toHaveBeenCalledWith(
    { backend: "gpu-1", err: expect.objectContaining({ code: "upstream_failed" }) },
    "the list of models can't be read",
  );
});
