/** What a node is started with. */
import type { Gpu } from "./backends/gpu.js";
import type { ChatEngine, Lora } from "./backends/llama/schema.js";
import type { LoadWatch } from "./backends/resident.js";
import type { Logger } from "./core/log.js";
import type { AuthSettings } from "./core/settings.js";
import type { Address } from "./server/settings.js";

/** What a node is started with: its models, where they run, and where it listens. */
export interface NodeSettings {
  /** GGUF files, names on Hugging Face, folders in diffusers' layout, or folders of these. */
  readonly models: readonly string[];
  readonly listen: Address;
  /** Default: `none` on a Unix socket, which the file system guards; else `public`. */
  readonly auth?: AuthSettings | undefined;
  /** Where models run; default: on the CPU. */
  readonly gpu?: Gpu | undefined;
  /** Layers of chat models that the GPU holds; default: as many as fit. */
  readonly gpuLayers?: number | "auto" | "max" | undefined;
  /** Calls of one chat model that run at once. Default 4. */
  readonly sequences?: number | undefined;
  /** Tokens of one conversation. Default: the model's own, at most 4096. */
  readonly contextSize?: number | undefined;
  /** Threads of each engine. Default: each engine's own. */
  readonly threads?: number | undefined;
  /** How chat models are run besides, in the words of the configuration. Default: as it has them. */
  readonly chat?:
    | Omit<ChatEngine, "context_size" | "sequences" | "gpu_layers" | "threads">
    | undefined;
  /** Chat templates by names of models, instead of those in their files. Default: none. */
  readonly chatTemplates?: ReadonlyMap<string, string> | undefined;
  /** LoRAs of chat models by their names. Default: none. */
  readonly loras?: ReadonlyMap<string, Lora[]> | undefined;
  /** When models are loaded. Default: at start; with the first call where there is a budget. */
  readonly load?: "start" | "lazy" | undefined;
  /** How long a model stays in memory without calls, milliseconds. Default: for good. */
  readonly keepAlive?: number | undefined;
  /** Bytes that the models in memory may take together. Default: whatever they take. */
  readonly memoryBudget?: number | undefined;
  /** Folder for models that are fetched by name. Default: `models` in the user's state folder. */
  readonly downloads?: string | undefined;
  /** An image classifier that looks at every picture besides a model's own. Default: none. */
  readonly classifier?: Classifier | undefined;
  /** Whether the list of models names their files. Default: on a Unix socket only. */
  readonly exposeSources?: boolean | undefined;
  /**
   * Largest request of a gateway's caller, bytes. Default: on a Unix socket whatever the gateway
   * takes; else 1 MiB, as gateways do.
   */
  readonly bodyLimit?: number | undefined;
  /** Where Prometheus reads metrics, apart from calls. Default: nowhere. */
  readonly prometheus?: Address | undefined;
  /** Has an eye on loads; default: nobody has. */
  readonly watch?: LoadWatch | undefined;
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
