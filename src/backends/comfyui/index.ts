/** The kind `comfyui`: workflows on a ComfyUI server. */

import { unlessAborted } from "../../core/abort.js";
import type { Backend } from "../../core/backend.js";
import { askJson } from "../http/ask.js";
import type { BackendContext } from "../kind.js";
import { generate } from "./generate.js";
import type { ComfyuiConfig } from "./schema.js";
import { Server } from "./server.js";

/** Longest time for the answer about health, milliseconds. */
const healthTimeout = 10_000;

/**
 * A backend for one server. It begins to read what the server has at once.
 * @throws Error if a workflow's file can't be read, or does not fit its map
 */
export function createComfyuiBackend(config: ComfyuiConfig, { log }: BackendContext): Backend {
  const server = new Server(config, log);
  return {
    name: config.name,
    models: () => server.models(),
    ready: (_model, signal) => unlessAborted(server.ready(), signal),
    handlers: { streamTextToImage: (call) => generate(server, call) },
    async health(signal) {
      const path = server.at("/system_stats");
      await askJson(server.transport, { method: "GET", path, signal, timeout: healthTimeout });
    },
    close: () => server.close(),
  };
}
