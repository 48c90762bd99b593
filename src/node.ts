/**
 * A Lintel node: local models, served over gRPC. Traces and metrics go where
 * OpenTelemetry's environment variables say; without them there are none.
 */
import { join } from "node:path";
import { createBackend } from "./backends/index.js";
import { findModels } from "./backends/local.js";
import { Residents } from "./backends/residents.js";
import { otlpSettings } from "./config/telemetry.js";
import type { Backend } from "./core/backend.js";
import { createCore } from "./core/core.js";
import { LintelError } from "./core/errors.js";
import type { Logger } from "./core/log.js";
import { type AuthSettings, coreDefaults } from "./core/settings.js";
import { doorDefaults } from "./doors/door.js";
import { operations } from "./doors/operations.js";
import { rpc } from "./doors/rpc/rpc.js";
import { ThreadChecker } from "./safety/thread.js";
import type { Address } from "./server/settings.js";
import { serve } from "./serving.js";
import { defaultStateDirectory } from "./state/directory.js";
import { openTelemetry } from "./telemetry/open.js";
import { version } from "./version.js";

/** What a node is started with. */
export interface NodeSettings {
  /** GGUF files, names on Hugging Face, folders in diffusers' layout, or folders of these. */
  readonly models: readonly string[];
  readonly listen: Address;
  /** Default: `none` on a Unix socket, which the file system guards; else `public`. */
  readonly auth?: AuthSettings | undefined;
  /** Where chat models run; default: on the CPU. */
  readonly gpu?: false | "auto" | "cuda" | "vulkan" | "metal" | undefined;
  /** Layers of chat models that the GPU holds; default: as many as fit. */
  readonly gpuLayers?: number | "auto" | "max" | undefined;
  /** Calls of one chat model that run at once. Default 4. */
  readonly sequences?: number | undefined;
  /** Tokens of one conversation. Default: the model's own, at most 4096. */
  readonly contextSize?: number | undefined;
  /** Threads of each engine. Default: each engine's own. */
  readonly threads?: number | undefined;
  /** When models are loaded. Default: at start; with the first call where there is a budget. */
  readonly load?: "start" | "lazy" | undefined;
  /** Bytes that the models in memory may take together. Default: whatever they take. */
  readonly memoryBudget?: number | undefined;
  /** Folder for models that are fetched by name. Default: `models` in the user's state folder. */
  readonly downloads?: string | undefined;
  /** An image classifier that looks at every picture besides a model's own. Default: none. */
  readonly classifier?: Classifier | undefined;
  /** Whether the list of models names their files. Default: on a Unix socket only. */
  readonly exposeSources?: boolean | undefined;
  readonly log: Logger;
}

/** An image classifier in Hugging Face's ONNX layout. */
export interface Classifier {
  /** Its folder. */
  readonly path: string;
  /** The labels that mean harm. */
  readonly labels: readonly string[];
  /** Sum of their certainties from which a picture is harmful, above 0 to 1. */
  readonly threshold: number;
}

/** A node that runs. */
export interface RunningNode {
  /** Where it listens: `http://127.0.0.1:8081` or `unix:/path`. */
  readonly url: string;
  /** Names of its models. */
  readonly models: readonly string[];
  /**
   * Refuses new calls, lets the running ones end, and frees everything.
   * @param graceMs after which running calls are aborted; default 30000
   */
  close(graceMs?: number): Promise<void>;
}

/**
 * Starts a node. It listens at once; the models load in the background, and
 * calls wait for theirs.
 * @throws as `listen` does if the address can't be used
 */
export async function startNode(settings: NodeSettings): Promise<RunningNode> {
  const { log, memoryBudget, classifier } = settings;
  const admit = memoryBudget === undefined ? undefined : new Residents(memoryBudget, log).admit;
  const load = settings.load ?? (admit ? "lazy" : "start");
  const downloads = settings.downloads ?? join(defaultStateDirectory(), "models");
  const found = findModels(settings.models);
  const backends = await Promise.all(
    found.map(({ type, id, path }) => {
      const name = `${type}:${id}`;
      const { threads } = settings;
      return createBackend(
        type === "onnx"
          ? { type, name, id, path, threads, load }
          : {
              type,
              name,
              id,
              path,
              threads,
              load,
              context_size: settings.contextSize,
              sequences: settings.sequences,
              gpu: settings.gpu,
              gpu_layers: settings.gpuLayers,
            },
        { log, admit, downloads },
      );
    }),
  );
  const checker =
    classifier &&
    new ThreadChecker({ kind: "classifier", folder: classifier.path, ...classifier }, log);
  const onSocket = settings.listen.path !== undefined;
  const auth = settings.auth ?? { mode: onSocket ? "none" : "public" };
  const exposeSources = settings.exposeSources ?? onSocket;
  const telemetry = await openTelemetry(
    {
      prometheus: false,
      otlp: otlpSettings(),
      status: false,
      providers: new Map(),
      service: "lintel-node",
      version: version(),
    },
    log,
  );
  const core = createCore({
    telemetry: telemetry?.telemetry,
    settings: { ...coreDefaults, auth, exposeSources, servesGateways: true },
    backends: backends.map((backend, i) =>
      checker && found[i]?.type === "onnx" ? checked(backend) : backend,
    ),
    checker,
    log,
    // Pictures come from our own engine, which writes nothing but pixels.
    sanitize: (png) => png,
    blur: async () => {
      throw new LintelError("internal", "a node blurs nothing");
    },
  });
  const serving = await serve({
    core,
    doors: [operations, rpc],
    doorSettings: doorDefaults,
    appSettings: { corsOrigins: false },
    listen: [settings.listen],
  }).catch(async (error) => {
    await closeAll(backends);
    await checker?.close();
    await telemetry?.close();
    throw error;
  });
  for (const backend of backends) backend.start?.();
  const url = serving.listeners[0]?.url ?? "";
  const models = found.map(({ id }) => id);
  log.info({ url, models }, "node listens");
  return {
    url,
    models,
    async close(graceMs = 30_000) {
      await serving.close(graceMs);
      await closeAll(backends);
      await checker?.close();
      await telemetry?.close();
    },
  };
}

/** A backend all of whose pictures are checked: its models say so, and gateways ask for it and believe it. */
const checked = (backend: Backend): Backend => ({
  ...backend,
  models: () =>
    backend.models().map((model) => ({
      ...model,
      supports: [...new Set([...model.supports, "safety_check"])],
    })),
});

const closeAll = (backends: readonly Backend[]) =>
  Promise.all(backends.map((backend) => backend.close()));

/**
 * Ties this process to the one that started it with a channel (`ipc` in
 * `spawn`), if one did: says that the node listens.
 * @returns a promise that resolves when the other process is gone, and never without a channel
 */
export function attachToParent(): Promise<void> {
  return new Promise((resolve) => {
    if (!process.send) return;
    process.once("disconnect", resolve);
    if (!process.connected) return resolve();
    process.send({ lintel: "listening" }, () => {});
  });
}
