/** The kind `comfyui`: workflows on a ComfyUI server. */

import type { Backend } from "../../core/backend.js";
import type { BackendContext } from "../kind.js";
import { generate } from "./generate.js";
import type { ComfyuiConfig } from "./schema.js";
import { Server } from "./server.js";

/**
 * A backend for one server. It begins to read what the server has at once.
 * @throws Error if a workflow's file can't be read, or does not fit its map
 */
export function createComfyuiBackend(config: ComfyuiConfig, { log }: BackendContext): Backend {
  const server = new Server(config, log);
  return server.backend((call, signal) => generate(server, call, signal));
}
