/** What the log hears of servers whose list of models can't be read. */
import { expect, it, onTestFinished, vi } from "vitest";
import { Listing } from "../../src/backends/http/listing.js";
import { createBackend } from "../../src/backends/index.js";
import { configSchema } from "../../src/config/schema.js";
import { LintelError } from "../../src/core/errors.js";
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

it("the log says anew why a list can't be read where the reason is another", async () => {
  const reasons: unknown[] = [];
  const failures = ["upstream_unreachable", "upstream_unreachable", "upstream_failed"] as const;
  let asked = 0;
  const listing = new Listing<void>({
    read: async () => {
      throw new LintelError(failures[asked++] ?? "upstream_failed", `request ${asked}`);
    },
    changed: () => {},
    refresh: 1,
    backend: "gpu-1",
    log: { ...silent, warn: ({ err }: { err?: LintelError }) => void reasons.push(err?.code) },
  });
  onTestFinished(() => listing.close());
  void listing.refresh();
  await expect.poll(() => asked).toBeGreaterThan(4);
  expect(reasons).toEqual(["upstream_unreachable", "upstream_failed"]);
});
