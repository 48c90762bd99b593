/** A whole Lintel on a free port: the real core, doors and server around given backends. */
import type { Backend } from "../../src/core/backend.js";
import type { Core, CoreParts } from "../../src/core/core.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { type Door, type DoorSettings, doorDefaults } from "../../src/doors/door.js";
import { doors } from "../../src/doors/index.js";
import { sanitizePng } from "../../src/media/png.js";
import type { AppSettings, ListenOptions } from "../../src/server/settings.js";
import { type Serving, serve } from "../../src/serving.js";
import { coreOf } from "./core.js";
import { memoryStore } from "./media.js";

/** What differs from the contract's defaults. */
export interface LintelOptions {
  readonly settings?: Partial<CoreSettings>;
  readonly parts?: Partial<CoreParts>;
  readonly doorSettings?: Partial<DoorSettings>;
  /** Beside those that every gateway has. */
  readonly moreDoors?: readonly Door[];
  readonly appSettings?: Partial<AppSettings>;
  readonly listen?: Partial<ListenOptions>;
}

/** A Lintel that runs. */
export interface Lintel {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** `127.0.0.1:PORT` */
  readonly address: string;
  readonly core: Core;
  readonly serving: Serving;
  close(graceMs?: number): Promise<void>;
}

/** Starts one; `close` it when done. Backends are the test's own to close. */
export async function startLintel(
  backends: readonly Backend[],
  options: LintelOptions = {},
): Promise<Lintel> {
  let url = "";
  const core = coreOf(backends, options.settings, {
    media: memoryStore(() => url),
    sanitize: sanitizePng,
    ...options.parts,
  });
  const serving = await serve({
    core,
    doors: [...doors, ...(options.moreDoors ?? [])],
    doorSettings: { ...doorDefaults, ...options.doorSettings },
    appSettings: options.appSettings ?? {},
    listen: [{ host: "127.0.0.1", port: 0, ...options.listen } as ListenOptions],
  });
  url = serving.listeners[0]?.url ?? "";
  return {
    url,
    address: url.replace(/^\w+:\/\//, ""),
    core,
    serving,
    close: (graceMs = 0) => serving.close(graceMs),
  };
}
