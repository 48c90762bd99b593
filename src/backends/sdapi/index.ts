/** The kind `sdapi`: servers of the Stable Diffusion web API. */

import type { Backend } from "../../core/backend.js";
import type { BackendContext } from "../kind.js";
import { generate } from "./generate.js";
import type { SdapiConfig } from "./schema.js";
import { Server } from "./server.js";

/** A backend for one server. It begins to read what the server has at once. */
export function createSdapiBackend(config: SdapiConfig, { log }: BackendContext): Backend {
  const server = new Server(config, log);
  return server.backend((call, signal) => generate(server, call, signal));
}
