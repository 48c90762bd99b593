/** What the tests of the image engine share. */
import { fileURLToPath } from "node:url";
import type { TextToImageRequest } from "../../../gen/lintel/v1/image_pb.js";
import { Device } from "../../../src/backends/onnx/device.js";
import type { Execution } from "../../../src/backends/onnx/graph.js";
import { createOnnxBackend } from "../../../src/backends/onnx/index.js";
import {
  enginePackages,
  type ImageJob,
  type Packages,
} from "../../../src/backends/onnx/protocol.js";
import type { Runtime } from "../../../src/backends/onnx/runtime.js";
import type { OnnxConfig } from "../../../src/backends/onnx/schema.js";
import { processTurns } from "../../../src/backends/onnx/turns.js";
import type { ResidentBackend } from "../../../src/backends/resident.js";
import { silent } from "../../../src/core/log.js";
import { imageRequest } from "../picture.js";

/** A model folder of this directory: `tiny` or `half`. */
export const folderOf = (name: "tiny" | "half"): string =>
  fileURLToPath(new URL(name, import.meta.url));

/** A backend over a folder, with one thread a run, that is loading already. */
export function backendOf(
  path: string,
  packages?: Packages,
  more: Partial<OnnxConfig> = {},
): ResidentBackend {
  const config = { type: "onnx", name: "images", path, threads: 1 } as const;
  const backend = createOnnxBackend({ ...config, ...more }, { log: silent }, packages);
  backend.start?.();
  return backend;
}

/** The engine's packages with a runtime that fails to order; see there. */
export const faulty: Packages = {
  ...enginePackages,
  runtime: new URL("faulty-runtime.js", import.meta.url).href,
};

/** Changes of a request that have the faulty runtime fail, or its thread end. */
export const fail = { width: 88 } as const;
export const failOnGpu = { width: 104 } as const;
export const failOnCuda = { width: 112 } as const;
export const die = { width: 96 } as const;

/** Graphs run on one thread of the CPU. */
export const onCpu = async (runtime: Runtime): Promise<Execution> => ({
  runtime,
  device: await Device.open(runtime, false, processTurns),
  threads: 1,
});

/** A small request with every default filled in. */
export const requestOf = (changes: Partial<TextToImageRequest> = {}): TextToImageRequest =>
  imageRequest({
    modelId: "tiny",
    height: 64,
    width: 72,
    safetyCheck: false,
    seed: 1n,
    numInferenceSteps: 3,
    ...changes,
  });

/** A job as the pipeline gets it. */
export function jobOf(changes: Partial<ImageJob> = {}): ImageJob {
  return {
    prompt: "a red circle",
    negativePrompt: "",
    bar: false,
    loras: [],
    width: 72,
    height: 64,
    guidanceScale: 7.5,
    steps: 3,
    seed: 1,
    images: 1,
    safetyCheck: false,
    previews: false,
    ...changes,
  };
}

/**
 * Changes that make a request run for many seconds: a thousand steps at the
 * largest size. Whoever sees such a call end soon has seen it stop.
 */
export const endless = {
  width: 2048,
  height: 2048,
  numInferenceSteps: 150,
  numImagesPerPrompt: 8,
} as const;
