/** The image engine as a backend. */
import { randomInt } from "node:crypto";
import { availableParallelism } from "node:os";
import { basename, resolve } from "node:path";
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../../gen/lintel/v1/image_pb.js";
import { type Model, PromptBar, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../core/backend.js";
import type { Call } from "../../core/call.js";
import { imageDefaults } from "../../core/defaults.js";
import { LintelError } from "../../core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../core/image-events.js";
import { modelOf } from "../../core/model.js";
import type { BackendContext } from "../kind.js";
import { ImageEngine } from "./engine.js";
import { enginePackages, type ImageEvent, type ImageJob, type Packages } from "./protocol.js";
import type { OnnxConfig } from "./schema.js";

const states = { loading: State.LOADING, ready: State.READY, failed: State.FAILED } as const;

/** Request fields that the pipeline honours. */
const supports = [
  "height",
  "width",
  "guidance_scale",
  "negative_prompt",
  "seed",
  "num_inference_steps",
  "num_images_per_prompt",
];

/**
 * A backend that serves one folder.
 * @param packages the engine's packages; others only in tests
 */
export function createOnnxBackend(
  config: OnnxConfig,
  { log }: BackendContext,
  packages: Packages = enginePackages,
): Backend {
  const folder = resolve(config.path);
  const id = config.id ?? basename(folder);
  const created = Math.floor(Date.now() / 1000);
  const describe = (state: keyof typeof states, stateDetail = ""): Model =>
    modelOf(id, Task.TEXT_TO_IMAGE, {
      state: states[state],
      stateDetail,
      supports,
      promptBar: PromptBar.BATCH,
      created,
      source: folder,
    });
  let models = [describe("loading")];
  let closed = false;

  const settings = { folder, threads: config.threads ?? availableParallelism(), packages };
  const engine = new ImageEngine(settings, (state) => {
    const detail = state.name === "failed" ? state.detail : "";
    models = [describe(state.name, detail)];
    const fields = { backend: config.name, model: id };
    if (state.name === "ready") log.info(fields, "image model is ready");
    if (state.name === "failed") {
      log.error({ ...fields, err: state.error }, "image model can't be loaded");
    }
  });
  /** What went wrong stands in the model's state, and every call gets it. */
  if (config.preload) engine.load().catch(() => {});

  return {
    name: config.name,
    models: () => models,
    ready: (_model, signal) => orAborted(engine.load(), signal),
    handlers: {
      async *streamTextToImage(call: Call<"streamTextToImage">) {
        const job = jobOf(call.request);
        const warnings: string[] = [];
        for await (const events of engine.run(job, call.signal)) {
          const messages = events.flatMap((event) => messagesOf(event, job, warnings));
          if (messages.length > 0) yield messages;
        }
        yield [doneEvent(warnings)];
      },
    },
    /** A model that is being loaded can take a call: it waits. */
    async health() {
      if (closed) throw new LintelError("shutting_down", "the image engine is shutting down");
      const [model] = models;
      if (model?.state === states.failed) throw new LintelError("unavailable", model.stateDetail);
    },
    close() {
      closed = true;
      return engine.close();
    },
  };
}

function jobOf(request: TextToImageRequest): ImageJob {
  const { seed } = request;
  return {
    prompt: request.prompt ?? "",
    negativePrompt: request.negativePrompt,
    bar: false,
    loras: [],
    width: request.width ?? imageDefaults.width,
    height: request.height ?? imageDefaults.height,
    guidanceScale: request.guidanceScale ?? imageDefaults.guidanceScale,
    steps: request.numInferenceSteps ?? imageDefaults.numInferenceSteps,
    seed: seed === undefined || seed < 0n ? randomInt(2 ** 32) : Number(seed),
    images: request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt,
  };
}

function messagesOf(
  event: ImageEvent,
  { images, steps }: ImageJob,
  warnings: string[],
): StreamTextToImageResponse[] {
  switch (event.type) {
    case "warning":
      warnings.push(event.text);
      return [];
    case "progress":
      return [progressEvent({ index: event.index, images, step: event.step, steps })];
    case "image":
      return [imageEvent(event.index, inlineImage(event.data, event.seed))];
  }
}

/** Waits for the promise, or throws the signal's reason. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
