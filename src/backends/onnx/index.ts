/** The kind `onnx`: image models in diffusers' layout, as ONNX files, run in this process, in a thread. */

import { availableParallelism } from "node:os";
import { basename, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { StreamTextToImageResponse } from "../../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../../gen/lintel/v1/models_pb.js";
import { unlessAborted } from "../../core/abort.js";
import type { Call } from "../../core/call.js";
import { LintelError } from "../../core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../core/image-events.js";
import type { BackendContext } from "../kind.js";
import {
  type Resident,
  type ResidentBackend,
  type ResidentState,
  residentStates,
} from "../resident.js";
import { type EngineEvent, type EngineState, ImageEngine } from "./engine.js";
import { jobOf } from "./job.js";
import { findLoras } from "./lora/list.js";
import { describeModel, memoryIn } from "./model.js";
import { enginePackages, type ImageJob, type Packages } from "./protocol.js";
import type { OnnxConfig } from "./schema.js";

const queueDefault = 16;

/**
 * A backend that serves one folder.
 * @param packages the engine's packages; others only in tests
 */
export function createOnnxBackend(
  config: OnnxConfig,
  { log, admit }: BackendContext,
  packages: Packages = enginePackages,
): ResidentBackend {
  const folder = resolve(config.path);
  const id = config.id ?? basename(folder);
  const bar = config.prompt ?? "batch";
  const more = config.loras?.map((path) => resolve(path));
  let loras = findLoras(folder, more);
  const lazy = config.load === "lazy";
  let state: ResidentState = lazy ? "idle" : "loading";
  let models: readonly Model[] = [
    describeModel(id, folder, [...loras.keys()], bar, residentStates[state]),
  ];
  let lastUsed = 0;
  let closed = false;

  const update = (changes: Partial<Model>) => {
    const [model] = models as [Model];
    const changed = { ...model, ...changes };
    if (!isDeepStrictEqual(changed, model)) models = [changed];
  };
  /** Files come and go while the process runs. */
  const lookForLoras = () => {
    loras = findLoras(folder, more);
    update({ loras: [...loras.keys()] });
  };
  /** The folder may have been mended, or filled, since it was looked at. */
  const lookAnew = () => {
    lookForLoras();
    const now = describeModel(id, folder, [...loras.keys()], bar, residentStates[state]);
    update({ ...now, created: models[0]?.created ?? now.created });
  };

  const onState = (next: EngineState) => {
    state = next.name;
    const detail = next.name === "failed" ? next.detail : "";
    update({ state: residentStates[next.name], stateDetail: detail });
    if (next.name === "loading") lookAnew();
    const fields = { backend: config.name, model: id };
    if (next.name === "ready") log.info(fields, "image model is ready");
    if (next.name === "failed") {
      log.error({ ...fields, err: next.error }, "image model can't be loaded");
    }
  };
  const settings = {
    folder,
    threads: config.threads ?? availableParallelism(),
    loraVariants: config.lora_cache,
    packages,
  };
  const engine = new ImageEngine(settings, {
    queue: config.queue ?? queueDefault,
    admit: async () => admit?.(resident),
    onState,
  });
  const resident: Resident = {
    id,
    get state() {
      return state;
    },
    get bytes() {
      return engine.memory || memoryIn(folder);
    },
    get lastUsed() {
      return lastUsed;
    },
    get calls() {
      return engine.calls;
    },
    load: () => engine.load(),
    unload: () => engine.unload(),
  };

  return {
    name: config.name,
    models: () => models,
    residents: [resident],
    start() {
      /** What went wrong stands in the model's state, and every call gets it. */
      if (!lazy) engine.load().catch(() => {});
    },
    ready: (_model, signal) => unlessAborted(engine.load(), signal),
    handlers: {
      async *streamTextToImage(call: Call<"streamTextToImage">) {
        lastUsed = Date.now();
        const job = jobOf(call, bar, loras, () => {
          lookForLoras();
          return loras;
        });
        const warnings: string[] = [];
        for await (const events of engine.run(job, call.signal)) {
          const messages = events.flatMap((event) => messagesOf(event, job, warnings));
          if (messages.length > 0) yield messages;
        }
        lastUsed = Date.now();
        yield [doneEvent(warnings)];
      },
    },
    /**
     * A model that is being loaded, or that the next call loads, can take a call: it waits.
     * One that could not be loaded is tried again when that is due; under a budget it can
     * take the call that does so, since others may have to leave for it.
     */
    async health(signal) {
      if (closed) throw new LintelError("shutting_down", "the image engine is shutting down");
      if (state === "failed" && !admit) await unlessAborted(engine.load(), signal);
    },
    close() {
      closed = true;
      return engine.close();
    },
  };
}

function messagesOf(
  event: EngineEvent,
  { images, steps }: ImageJob,
  warnings: string[],
): StreamTextToImageResponse[] {
  switch (event.type) {
    case "queued":
      return [progressEvent({ index: 0, images, step: 0, steps, queuePosition: event.position })];
    case "warning":
      warnings.push(event.text);
      return [];
    case "progress": {
      const { index, step, preview } = event;
      return [progressEvent({ index, images, step, steps, ...(preview && { preview }) })];
    }
    case "image":
      return [imageEvent(event.index, inlineImage(event.data, event.seed, { nsfw: event.nsfw }))];
  }
}
