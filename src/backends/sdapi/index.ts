/** The kind `sdapi`: servers of the Stable Diffusion web API. */

import { unlessAborted } from "../../core/abort.js";
import type { Backend } from "../../core/backend.js";
import type { BackendContext } from "../kind.js";
import { generate } from "./generate.js";
import { listModels } from "./inventory.js";
import type { SdapiConfig } from "./schema.js";
import { Server } from "./server.js";

/** A backend for one server. It begins to read what the server has at once. */
export function createSdapiBackend(config: SdapiConfig, { log }: BackendContext): Backend {
  const server = new Server(config, log);
  return {
    name: config.name,
    models: () => server.models(),
    ready: (_model, signal) => unlessAborted(server.ready(), signal),
    handlers: { streamTextToImage: (call) => generate(server, call) },
    async health(signal) {
      await listModels(server, signal);
    },
    close: () => server.close(),
  };
}
