/** Which backends there are when the configuration does not say. */
import type { BackendConfig, Config } from "./schema.js";

/** How long servers on this machine may take to be found, milliseconds. */
const discoveryMs = 300;

/**
 * The backends to start: those of the configuration, or else the embedded
 * models and the model servers that answer on this machine.
 */
export async function resolveBackends(config: Config): Promise<readonly BackendConfig[]> {
  if (config.backends) return config.backends;
  const { discover } = await import("../backends/openai/discover.js");
  const found = await discover(discoveryMs);
  return [{ type: "embedded", name: "embedded" }, ...found.map((server) => server.config)];
}
