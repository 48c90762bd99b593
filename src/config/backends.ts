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
  const [{ discover }, { discoverImageServers }] = await Promise.all([
    import("../backends/openai/discover.js"),
    import("../backends/discover-images.js"),
  ]);
  const [found, images] = await Promise.all([
    discover(discoveryMs),
    discoverImageServers(discoveryMs),
  ]);
  return [
    { type: "embedded", name: "embedded" },
    ...found.map((server) => server.config),
    ...images,
  ];
}
