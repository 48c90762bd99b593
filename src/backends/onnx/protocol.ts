/** What the main thread and the pipeline's thread say to each other. Plain, clonable data only. */

import type { Gpu } from "../gpu.js";
import type { Device } from "./device.js";
import type { LoraUse } from "./lora/fuse.js";
import type { Pipeline } from "./pipeline.js";

/** What to load, and how. */
export interface PipelineSettings {
  /** The model's folder. */
  readonly folder: string;
  /** Threads that one run of a graph uses. */
  readonly threads: number;
  /** Where it runs; default: on the CPU. */
  readonly gpu?: Gpu | undefined;
  /** Whose turn it is on the GPU, in this process. */
  readonly turns?: SharedArrayBuffer | undefined;
  /** Combinations of LoRAs that are kept fused; default 1. */
  readonly loraVariants?: number | undefined;
  /** Bytes of memory that it may take; default: what is free. */
  readonly freeMemory?: number | undefined;
}

/** What a thread starts with, as `workerData`. */
export interface ThreadSettings extends PipelineSettings {
  /** Names of the engine's packages; others only in tests. */
  readonly packages: Packages;
}

/** The optional dependencies, by what they do. */
export interface Packages {
  readonly runtime: string;
  readonly tokenizers: string;
}

/** The packages as npm knows them. */
export const enginePackages: Packages = {
  runtime: "onnxruntime-node",
  tokenizers: "@huggingface/tokenizers",
};

/** Where a model runs, and why not better. */
export type Where = Pick<Device, "provider" | "refusal"> & Pick<Pipeline, "unfused">;

/** Images to make of one prompt, every default filled in. */
export interface ImageJob {
  readonly prompt: string;
  readonly negativePrompt: string;
  /** Whether a `|` in both separates the texts for several text encoders. */
  readonly bar: boolean;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** At 1 or less the model runs once a step, without the negative prompt. */
  readonly guidanceScale: number;
  readonly steps: number;
  readonly loras: readonly LoraUse[];
  /** Seed of the first image, 0 to 2^32-1; image i uses seed + i modulo 2^32. */
  readonly seed: number;
  readonly images: number;
  /** Whether the model's own safety checker looks at the images, if it has one. */
  readonly safetyCheck: boolean;
  /** Whether each step is shown in a small picture. */
  readonly previews: boolean;
}

/** What happens while a job runs. */
export type ImageEvent =
  | { readonly type: "warning"; readonly text: string }
  /** A step was done: `step` counts from 1. */
  | {
      readonly type: "progress";
      readonly index: number;
      readonly step: number;
      /** PNG. */
      readonly preview?: Uint8Array<ArrayBuffer> | undefined;
    }
  /** An image is ready, as PNG. */
  | {
      readonly type: "image";
      readonly index: number;
      readonly seed: number;
      readonly data: Uint8Array<ArrayBuffer>;
      /** Whether the safety checker found it harmful. */
      readonly nsfw: boolean;
    };

/** Why a model could not be loaded, or a job failed. */
export interface Failure {
  /** For callers: names files of the model's folder, never where the folder is. */
  readonly message: string;
  /** The request's field that is at fault; absent: the model is. */
  readonly param?: string | undefined;
  /** Nothing is at fault: it may work soon. */
  readonly passing?: boolean | undefined;
  /** For the log. */
  readonly cause?: string | undefined;
}

/** To the pipeline's thread. Jobs come one at a time. */
export type Order =
  /** `aborted` holds one 32-bit number: not 0 once the job is to stop at the next step. */
  | { readonly type: "run"; readonly job: ImageJob; readonly aborted: SharedArrayBuffer }
  /** The answer to `room`; `refusal` says why it may not. */
  | { readonly type: "room"; readonly refusal?: Failure | undefined }
  /** Leave, after the job that runs. */
  | { readonly type: "close" };

/** From the pipeline's thread. */
export type Report =
  /** `memory`: bytes that the model takes, about. `where` it runs. */
  | { readonly type: "loaded"; readonly memory: number; readonly where: Where }
  /** The model can't be loaded; the thread leaves. */
  | { readonly type: "unloadable"; readonly failure: Failure }
  | { readonly type: "event"; readonly event: ImageEvent }
  /** Whether it may take more for the job that runs: `memory` then. */
  | { readonly type: "room"; readonly memory: number }
  /** The job is over; without `failure` it was done or aborted. `memory` as above. */
  | { readonly type: "ended"; readonly memory: number; readonly failure?: Failure };
