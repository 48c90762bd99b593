/** What outlives every reload: the stores, telemetry, and what all backends share. */
import { join } from "node:path";
import type { BackendContext } from "./backends/kind.js";
import { admitWithin } from "./backends/residents.js";
import type { Config } from "./config/schema.js";
import { stateSettings } from "./config/state.js";
import { telemetrySettings } from "./config/telemetry.js";
import type { Logger } from "./core/log.js";
import type { MediaStore } from "./core/media.js";
import { QuotaUses } from "./core/routing/quota.js";
import { Blurring } from "./media/blurring.js";
import { openMedia } from "./media/open.js";
import { type CacheStoreSettings, type OpenCache, openCache } from "./state/cache/open.js";
import { type Counting, type CountingSettings, openCounting } from "./state/counting.js";
import { modelsDirectory } from "./state/directory.js";
import { openState, type State } from "./state/open.js";
import { type OpenTelemetry, openTelemetry } from "./telemetry/open.js";
import { version } from "./version.js";

/** What needs closing, once. */
export interface Closable {
  close(): unknown;
}

/** What outlives every reload. */
export interface Stores {
  readonly log: Logger;
  readonly media: MediaStore;
  readonly blurring: Blurring;
  /** What was used of targets' quotas. */
  readonly quotaUses: QuotaUses;
  readonly state: State;
  readonly counting: Counting;
  readonly cache: OpenCache;
  readonly context: BackendContext;
  readonly telemetry: OpenTelemetry | undefined;
  /** What telemetry calls the providers of backends, by the backends' names. */
  readonly providers: Map<string, string>;
}

/**
 * Opens them.
 * @param at where counters and the cache are kept
 * @param baseUrl what the addresses of images begin with, known once the gateway listens
 * @throws whatever opening a store throws; those that are open are closed then
 */
export async function openStores(
  config: Config,
  at: { readonly counting: CountingSettings; readonly cache: CacheStoreSettings },
  baseUrl: () => string,
  log: Logger,
): Promise<Stores> {
  const open: Closable[] = [];
  const own = <T extends Closable>(store: T): T => {
    open.unshift(store);
    return store;
  };
  try {
    // Before images, which are kept below: an error names the folder that was asked for.
    const state = own(await openState(stateSettings(config), log));
    const media = own(await openMedia(mediaConfig(config), baseUrl, log));
    const counting = own(await openCounting(at.counting, log, state.usage));
    const cache = own(await openCache(at.cache, log));
    const providers = new Map<string, string>();
    const telemetry = await openTelemetry(telemetrySettings(config, providers, version()), log);
    const context = backendContext(config, log);
    const blurring = new Blurring();
    const stores = { log, media, blurring, state, counting, cache, context, telemetry, providers };
    return { ...stores, quotaUses: new QuotaUses() };
  } catch (error) {
    for (const store of open) await store.close();
    throw error;
  }
}

/** Closes all at once: none needs another to end, and those that hang don't add up. */
export async function closeStores(
  stores: Pick<Stores, "media" | "blurring" | "counting" | "cache" | "state" | "telemetry">,
): Promise<void> {
  const { media, blurring, counting, cache, state, telemetry } = stores;
  const all: readonly (Closable | undefined)[] = [
    telemetry,
    blurring,
    media,
    counting,
    cache,
    state,
  ];
  await Promise.all(all.map(async (store) => store?.close()));
}

/** What all backends share. */
const backendContext = ({ memory_budget, state }: Config, log: Logger): BackendContext => ({
  log,
  admit: admitWithin(memory_budget, log),
  downloads: modelsDirectory(state.directory),
});

/** Images are kept beside everything else, unless they have a folder of their own. */
function mediaConfig({ media, state }: Config): Config["media"] {
  const { directory = state.directory && join(state.directory, "media") } = media;
  return { ...media, directory };
}
