/** `lintel node`: runs local models and serves them over gRPC. */
import { resolve } from "node:path";
import { isEmbedded, ordersOf } from "../backends/embedded/mark.js";
import { keepAliveField } from "../backends/fields.js";
import { gpuKinds } from "../backends/gpu.js";
import { chatEngineFields } from "../backends/llama/schema.js";
import { isRemote } from "../backends/local.js";
import { missing } from "../config/missing-files.js";
import { otlpProblems, otlpWarnings } from "../config/otlp-environment.js";
import { ConfigError } from "../config/problems.js";
import {
  conflict,
  type ListenAddress,
  listenMessage,
  parseListen,
  size,
} from "../config/quantities.js";
import { otlpSettings } from "../config/telemetry.js";
import { type Logger, logLevels } from "../core/log.js";
import { largestBody } from "../doors/door.js";
import type { Classifier, NodeSettings } from "../node-settings.js";
import { isSocketPath, socketMessage } from "../socket-path.js";
import { chatEngineOf, lorasOf, templatesOf } from "./chat-options.js";
import { type Command, type Given, UsageError } from "./command.js";
import { listenError } from "./listen-error.js";
import { createLogger, logWarnings } from "./logger.js";
import { fieldOf, oneOf } from "./option-fields.js";
import { say, show } from "./output.js";
import { ignoreSignals, leaveAtOnce, untilSignal } from "./signals.js";

export const node: Command = {
  summary: "runs local models for gateways, over gRPC",
  details: `Serves the contract over gRPC, gRPC-Web and Connect. A gateway reaches it through a
backend of type node. On a Unix socket everybody who may open it may call; on a
port callers need a bearer token, and any will do. A model that can't be loaded is
listed as failed, and tried again with later calls. On SIGTERM and SIGINT running
calls may end, for 30 seconds; a second signal ends the process at once, with 143 or 130.`,
  options: {
    model: {
      value: "PATH",
      short: "m",
      multiple: true,
      help: "GGUF file, name on Hugging Face (hf:user/repository:Q4_K_M), folder in diffusers' layout as ONNX files, or a folder of these; may be repeated",
    },
    listen: {
      value: "ADDRESS",
      short: "l",
      help: "host:port, :port, or unix:/path (default: 127.0.0.1:8081)",
    },
    gpu: {
      value: "KIND",
      help: `where models run: ${gpuKinds.join(", ")} (default: the CPU)`,
    },
    "gpu-layers": {
      value: "N",
      help: "layers of chat models that the GPU holds, or max (default: as many as fit)",
    },
    sequences: { value: "N", help: "calls of one chat model that run at once (default: 4)" },
    "context-size": {
      value: "N",
      help: "tokens of one conversation (default: the model's, at most 4096)",
    },
    "chat-template": {
      value: "MODEL=FILE",
      multiple: true,
      help: "Jinja template for a chat model, by its name, instead of its file's own; may be repeated",
    },
    lora: {
      value: "MODEL=FILE[:SCALE]",
      multiple: true,
      help: "LoRA, a GGUF file, that changes a chat model in all calls; may be repeated",
    },
    threads: { value: "N", help: "threads of each engine (default: each engine's own)" },
    "kv-cache-type": {
      value: "TYPE",
      help: "how chat models keep what they have read: f16, q8_0, q4_0, … (default: f16)",
    },
    "flash-attention": { value: "WHEN", help: "true, false or auto (default: auto)" },
    "min-p": {
      value: "SHARE",
      help: "of the likeliest token's probability, below which none is taken (default: 0)",
    },
    "repeat-penalty": {
      value: "N",
      help: "for tokens among an answer's last 64 (default: 1, none)",
    },
    "presence-penalty": { value: "N", help: "the same, off the logit, once (default: 0)" },
    "frequency-penalty": { value: "N", help: "the same, for each time (default: 0)" },
    load: {
      value: "WHEN",
      help: "start or lazy: with the first call (default: start; lazy with a memory budget)",
    },
    "keep-alive": {
      value: "TIME",
      help: "how long a model stays in memory that no call wants, 30m (default: for good)",
    },
    "memory-budget": {
      value: "SIZE",
      help: "what models may take together, 8GiB; who was not wanted longest leaves (default: all may stay)",
    },
    downloads: {
      value: "FOLDER",
      help: "where models go that are fetched by name (default: models in the user's state folder)",
    },
    classifier: {
      value: "FOLDER",
      help: "image classifier in Hugging Face's ONNX layout that looks at every picture (default: none)",
    },
    "classifier-label": {
      value: "LABEL",
      multiple: true,
      help: "a label of it that means harm; may be repeated (default: nsfw)",
    },
    "classifier-threshold": {
      value: "SHARE",
      help: "certainty from which a picture is harmful, above 0 to 1 (default: 0.5)",
    },
    "body-limit": {
      value: "SIZE",
      help: "largest request, as body_limit of the gateway (default: 1MiB; on a Unix socket the gateway's is enough)",
    },
    prometheus: {
      value: "ADDRESS",
      help: "where Prometheus reads metrics at /metrics, such as :9464 (default: nowhere)",
    },
    "expose-sources": { help: "name the models' files in the list of models, also on a port" },
    "log-level": { value: "LEVEL", help: `${logLevels.join(", ")} (default: info)` },
  },
  async run(given) {
    const models = given.texts("model");
    if (models.length === 0) throw new UsageError("node needs at least one --model PATH");
    const settings = {
      models,
      listen: addressOf(given, "listen") ?? { host: "127.0.0.1", port: 8081 },
      prometheus: addressOf(given, "prometheus"),
      gpu: oneOf(given, "gpu", gpuKinds),
      sequences: fieldOf(given, "sequences", chatEngineFields.sequences),
      contextSize: fieldOf(given, "context-size", chatEngineFields.context_size),
      threads: fieldOf(given, "threads", chatEngineFields.threads),
      gpuLayers: fieldOf(given, "gpu-layers", chatEngineFields.gpu_layers),
      chatTemplates: templatesOf(given),
      loras: lorasOf(given),
      chat: chatEngineOf(given),
      keepAlive: fieldOf(given, "keep-alive", keepAliveField),
      load: oneOf(given, "load", ["start", "lazy"] as const),
      memoryBudget: fieldOf(given, "memory-budget", size),
      downloads: given.text("downloads"),
      classifier: classifierOf(given),
      exposeSources: given.has("expose-sources") || undefined,
      bodyLimit: bodyLimitOf(given),
    };
    const log = createLogger(oneOf(given, "log-level", logLevels) ?? "info");
    const { listen, prometheus } = settings;
    const clash = prometheus && conflict(prometheus, listen, "--listen");
    if (clash) throw new UsageError(`--prometheus ${clash}`);
    // A gateway has looked at its own settings before.
    if (!isEmbedded()) {
      checkTelemetry(log);
      logWarnings(log, missingFiles(settings));
    }
    // What a gateway has admitted it still sends: the gateway says when to leave.
    let calls = () => 0;
    const signalled = isEmbedded()
      ? ignoreSignals()
      : untilSignal((signal, status) => leaveAtOnce(log, signal, status, calls()));
    const { attachToParent, startNode } = await import("../node.js");
    const watch = isEmbedded() ? await reportedLoads() : undefined;
    const running = await startNode({ ...settings, watch, log }).catch((error: unknown) => {
      const line = listenError(error);
      if (line === undefined) throw error;
      say(`lintel: ${line}`);
      return undefined;
    });
    if (!running) return 1;
    calls = running.calls;
    const alone = attachToParent();
    show(`Lintel node on ${running.url}: ${running.models.join(", ")}`);
    const signal = await Promise.race([signalled, alone]);
    if (signal) log.info({ signal }, "shutting down");
    await running.close();
    process.exit(0);
  },
};

/** @throws ConfigError if OpenTelemetry's variables, which stand for a configuration here, are wrong */
function checkTelemetry(log: Logger): void {
  const problems = otlpProblems(process.env);
  if (problems.length > 0) throw new ConfigError(problems);
  logWarnings(log, otlpWarnings(otlpSettings(), process.env));
}

/** A line for each path that leads nowhere now; what is there later is found by the calls that ask for it. */
function missingFiles({
  models,
  classifier,
  loras,
}: Pick<NodeSettings, "models" | "classifier" | "loras">) {
  return missing([
    ...models.map((path) => ["--model", isRemote(path) ? path : resolve(path)] as const),
    ...(classifier ? [["--classifier", classifier.path] as const] : []),
    ...[...(loras?.values() ?? [])].flat().map(({ path }) => ["--lora", path] as const),
  ]);
}

/** Tells the gateway which models are being loaded and that all is well, and heeds which ones it holds back. */
async function reportedLoads() {
  const { ReportedLoads } = await import("../backends/embedded/loads.js");
  const { answerBeats, sendToParent } = await import("../backends/embedded/beats.js");
  const loads = new ReportedLoads(ordersOf(process.env), sendToParent);
  answerBeats(() => loads.work());
  return loads;
}

function addressOf(given: Given, name: string): ListenAddress | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const address = parseListen(text);
  if (!address) throw new UsageError(`--${name} ${listenMessage}`);
  if ("path" in address && !isSocketPath(address.path)) {
    throw new UsageError(`--${name} ${socketMessage}`);
  }
  return address;
}

function classifierOf(given: Given): Classifier | undefined {
  const path = given.text("classifier");
  const labels = given.texts("classifier-label");
  const threshold = Number(given.text("classifier-threshold") ?? 0.5);
  if (!(threshold > 0 && threshold <= 1)) {
    throw new UsageError("--classifier-threshold must be a number above 0, to 1");
  }
  if (path !== undefined) {
    return { path: resolve(path), labels: labels.length > 0 ? labels : ["nsfw"], threshold };
  }
  // Who says how pictures are looked at takes them for looked at.
  const idle = ["classifier-label", "classifier-threshold"].find((name) => given.has(name));
  if (idle !== undefined) throw new UsageError(`--${idle} needs --classifier FOLDER`);
  return undefined;
}

function bodyLimitOf(given: Given): number | undefined {
  const bytes = fieldOf(given, "body-limit", size);
  if (bytes === undefined || (bytes >= 1 && bytes <= largestBody)) return bytes;
  throw new UsageError("--body-limit must be from 1 byte to 512MB");
}
