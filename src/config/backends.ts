/** Which backends there are when the configuration does not say. */
import type { BackendConfig, Config } from "./schema.js";

/** The models that Lintel brings. */
export const embeddedEntry = { type: "embedded", name: "embedded" } as const;

/** How long servers on this machine may take to be found, milliseconds. */
const discoveryMs = 300;

/**
 * The backends to start: those of the configuration, or else the embedded
 * models and the model servers that answer on this machine.
 * @param before those that were found the last time; they stay, since a server that is
 *   slow or restarts just now is no server that is gone
 * @param find looks for model servers
 */
export async function resolveBackends(
  config: Config,
  before: readonly BackendConfig[] = [embeddedEntry],
  find: () => Promise<readonly BackendConfig[]> = findServers,
): Promise<readonly BackendConfig[]> {
  if (config.backends) return config.backends;
  const known = new Set(before.map(({ name }) => name));
  return [...before, ...(await find()).filter(({ name }) => !known.has(name))];
}

async function findServers(): Promise<BackendConfig[]> {
  const { discover } = await import("../backends/discover.js");
  return discover(discoveryMs);
}
