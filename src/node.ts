/**
 * A Lintel node: local models, served over gRPC. Traces and metrics go where
 * OpenTelemetry's environment variables say, and metrics are read where they are asked for.
 */
import { createBackend } from "./backends/index.js";
import { findModels, type LocalModel } from "./backends/local.js";
import { admitWithin } from "./backends/residents.js";
import { otlpSettings } from "./config/telemetry.js";
import type { Backend } from "./core/backend.js";
import { type Core, createCore } from "./core/core.js";
import type { DocumentReader } from "./core/documents.js";
import { LintelError } from "./core/errors.js";
import { coreDefaults } from "./core/settings.js";
import { longestTimerMs } from "./core/timers.js";
import { KeptTexts } from "./documents/kept.js";
import { PdfReader } from "./documents/reader.js";
import { doorDefaults, largestBody } from "./doors/door.js";
import { operations } from "./doors/operations.js";
import { rpc } from "./doors/rpc/rpc.js";
import { nodeBounds } from "./node-bounds.js";
import type { NodeSettings } from "./node-settings.js";
import { type Operator, openOperator } from "./operator.js";
import type { OwnedChecker } from "./safety/open.js";
import { ThreadChecker } from "./safety/thread.js";
import { type Serving, serve } from "./serving.js";
import { modelsDirectory } from "./state/directory.js";
import { type OpenTelemetry, openTelemetry } from "./telemetry/open.js";
import type { TelemetrySettings } from "./telemetry/settings.js";
import { version } from "./version.js";

/** A node that runs. */
export interface RunningNode {
  /** Where it listens: `http://127.0.0.1:8081` or `unix:/path`. */
  readonly url: string;
  /** Names of its models. */
  readonly models: readonly string[];
  /** How many calls run. */
  calls(): number;
  /**
   * Refuses new calls, lets the running ones end, and frees everything.
   * @param graceMs after which running calls are aborted; default 30000
   */
  close(graceMs?: number): Promise<void>;
}

/**
 * Starts a node. It listens at once; the models load in the background, and
 * calls wait for theirs.
 * @throws as `listen` does if an address can't be used
 */
export async function startNode(settings: NodeSettings): Promise<RunningNode> {
  const { log, listen } = settings;
  const found = findModels(settings.models);
  const chats = new Set(found.filter(({ type }) => type === "llama").map(({ id }) => id));
  for (const model of settings.chatTemplates?.keys() ?? []) {
    if (!chats.has(model)) {
      log.warn({ model }, "a chat template is for a chat model that is not here");
    }
  }
  for (const model of settings.loras?.keys() ?? []) {
    if (!chats.has(model)) log.warn({ model }, "a LoRA is for a chat model that is not here");
  }
  const backends = await backendsOf(settings, found);
  let checker: OwnedChecker | undefined;
  let telemetry: OpenTelemetry | undefined;
  let operator: Operator | undefined;
  let core: Core;
  let serving: Serving;
  const documents = new KeptTexts(new PdfReader());
  const free = async () => {
    await documents.close();
    await operator?.close();
    await Promise.all(backends.map((backend) => backend.close()));
    await checker?.close();
    await telemetry?.close();
  };
  try {
    checker = checkerOf(settings);
    telemetry = await openTelemetry(telemetrySettings(settings), log);
    core = coreOf(settings, { backends, checker, documents, telemetry });
    telemetry?.observe({
      running: () => core.readiness.running,
      routing: () => core.routing.snapshot(),
    });
    operator = await openOperator(settings, { all: telemetry?.prometheus }, log);
    serving = await serve({
      core,
      doors: [operations, rpc],
      doorSettings: { ...doorDefaults, bodyLimit: bodyLimitOf(settings) },
      appSettings: { corsOrigins: false },
      listen: [listen],
    });
  } catch (error) {
    await free();
    throw error;
  }
  for (const backend of backends) backend.start?.();
  const url = serving.listeners[0]?.url ?? "";
  const models = found.map(({ id }) => id);
  log.info({ url, models }, "node listens");
  return {
    url,
    models,
    calls: () => core.readiness.running,
    async close(graceMs = 30_000) {
      await serving.close(graceMs);
      await free();
    },
  };
}

/** The backends of the models, in their order. */
function backendsOf(settings: NodeSettings, found: readonly LocalModel[]): Promise<Backend[]> {
  const { log, threads, gpu, watch, keepAlive } = settings;
  const admit = admitWithin(settings.memoryBudget, log);
  const load = settings.load ?? (admit ? "lazy" : "start");
  const context = { log, admit, watch, downloads: settings.downloads ?? modelsDirectory() };
  return Promise.all(
    found.map(({ type, id, path }) => {
      const entry = { name: `${type}:${id}`, id, path, threads, load, gpu, keep_alive: keepAlive };
      if (type === "onnx") return createBackend({ type, ...entry }, context);
      const { contextSize, sequences, gpuLayers } = settings;
      const chat = {
        context_size: contextSize,
        sequences,
        gpu_layers: gpuLayers,
        chat_template: settings.chatTemplates?.get(id),
        loras: settings.loras?.get(id),
        ...settings.chat,
      };
      return createBackend({ type, ...entry, ...chat }, context);
    }),
  );
}

/** Room for the defaults and the name of the model, which a gateway adds to a request, bytes. */
const addedByGateways = 4096;

function bodyLimitOf({ bodyLimit, listen }: NodeSettings): number {
  const ownLimit = listen.path === undefined ? doorDefaults.bodyLimit : largestBody;
  return (bodyLimit ?? ownLimit) + addedByGateways;
}

function checkerOf({ classifier, log }: NodeSettings): OwnedChecker | undefined {
  if (!classifier) return undefined;
  const { path: folder, labels, threshold } = classifier;
  return new ThreadChecker({ kind: "classifier", folder, labels, threshold }, log);
}

const telemetrySettings = ({ prometheus }: NodeSettings): TelemetrySettings => ({
  prometheus: prometheus !== undefined,
  otlp: otlpSettings(),
  status: false,
  providers: new Map(),
  service: "lintel-node",
  version: version(),
});

/** What a core of a node stands on. */
interface Parts {
  readonly backends: readonly Backend[];
  readonly checker: OwnedChecker | undefined;
  readonly documents: DocumentReader;
  readonly telemetry: OpenTelemetry | undefined;
}

function coreOf(settings: NodeSettings, parts: Parts): Core {
  const { backends, checker, documents, telemetry } = parts;
  const onSocket = settings.listen.path !== undefined;
  const auth = settings.auth ?? { mode: onSocket ? "none" : "public" };
  const exposeSources = settings.exposeSources ?? onSocket;
  return createCore({
    telemetry: telemetry?.telemetry,
    settings: {
      ...coreDefaults,
      auth,
      exposeSources,
      servesGateways: true,
      bounds: nodeBounds(onSocket),
      // The gateway in front ends its calls when its operator says so.
      totalTimeoutMs: longestTimerMs,
    },
    backends,
    checker,
    documents,
    log: settings.log,
    // Pictures come from our own engine, which writes nothing but pixels.
    sanitize: (png) => png,
    blur: async () => {
      throw new LintelError("internal", "a node blurs nothing");
    },
  });
}

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
