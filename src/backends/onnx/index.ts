/** The kind `onnx`: image models in diffusers' layout, as ONNX files, run in this process, in a thread. */

import { availableParallelism } from "node:os";
import { basename, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { StreamTextToImageResponse } from "../../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../../gen/lintel/v1/models_pb.js";
import { unlessAborted } from "../../core/abort.js";
import type { Backend } from "../../core/backend.js";
import type { Call } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../core/image-events.js";
import type { Gpu } from "../gpu.js";
import { KeepAlive } from "../keep-alive.js";
import type { BackendContext } from "../kind.js";
import {
  type Resident,
  type ResidentBackend,
  type ResidentState,
  residentStates,
} from "../resident.js";
import { closing, type EngineState, ImageEngine } from "./engine.js";
import { jobOf } from "./job.js";
import { findLoras } from "./lora/list.js";
import { describeModel, memoryIn } from "./model.js";
import { enginePackages, type ImageJob, type Packages } from "./protocol.js";
import type { EngineEvent } from "./running-job.js";
import type { OnnxConfig } from "./schema.js";

const queueDefault = 16;

/**
 * A backend that serves one folder.
 * @param packages the engine's packages; others only in tests
 */
export const createOnnxBackend = (
  config: OnnxConfig,
  context: BackendContext,
  packages: Packages = enginePackages,
): ResidentBackend => new OnnxBackend(config, context, packages);

class OnnxBackend implements ResidentBackend {
  readonly name: string;
  readonly handlers: Backend["handlers"];
  readonly residents: readonly Resident[];
  readonly #context: BackendContext;
  readonly #folder: string;
  /** Where LoRAs are besides the folder. */
  readonly #more: readonly string[] | undefined;
  readonly #bar: "batch" | "encoders";
  readonly #gpu: Gpu;
  readonly #lazy: boolean;
  readonly #engine: ImageEngine;
  /** Absent: the model stays. */
  readonly #keepAlive: KeepAlive | undefined;
  #loras: ReadonlyMap<string, string>;
  #state: ResidentState;
  #models: readonly [Model];
  #lastUsed = 0;
  #closed = false;

  constructor(config: OnnxConfig, context: BackendContext, packages: Packages) {
    this.name = config.name;
    this.#context = context;
    this.#folder = resolve(config.path);
    this.#more = config.loras?.map((path) => resolve(path));
    this.#bar = config.prompt ?? "batch";
    this.#gpu = config.gpu ?? false;
    this.#lazy = config.load === "lazy";
    this.#state = this.#lazy ? "idle" : "loading";
    this.#loras = findLoras(this.#folder, this.#more);
    const id = config.id ?? basename(this.#folder);
    this.#models = [this.#describe(id)];
    this.handlers = { streamTextToImage: (call) => this.#generate(call) };
    const resident = this.#resident(id);
    this.residents = [resident];
    const { keep_alive: keepAlive } = config;
    this.#keepAlive = keepAlive ? new KeepAlive(keepAlive, resident, context.log) : undefined;
    const settings = {
      folder: this.#folder,
      threads: config.threads ?? availableParallelism(),
      gpu: this.#gpu,
      loraVariants: config.lora_cache,
      packages,
    };
    this.#engine = new ImageEngine(settings, {
      queue: config.queue ?? queueDefault,
      admit: async () => context.admit?.(resident),
      check: () => context.watch?.check(id, this.#folder),
      watch: (load) => context.watch?.load(id, this.#folder, load) ?? load(),
      progress: context.watch?.progress(id),
      onState: (state) => this.#become(state),
    });
  }

  models(): readonly Model[] {
    return this.#models;
  }

  /** Begins to load the model, unless the first call is to do that. */
  start(): void {
    // What went wrong stands in the model's state, and every call gets it.
    if (!this.#lazy) this.#engine.load().catch(() => {});
  }

  async ready(_model: string, signal: CallSignal): Promise<void> {
    await unlessAborted(this.#engine.load(), signal);
  }

  /**
   * A model that is being loaded, or that the next call loads, can take a call: it waits.
   * One that could not be loaded is tried again when that is due; under a budget it can
   * take the call that does so, since others may have to leave for it.
   */
  async health(signal: CallSignal): Promise<void> {
    if (this.#closed) throw closing();
    if (this.#state === "failed" && !this.#context.admit) {
      await unlessAborted(this.#engine.load(), signal);
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#keepAlive?.close();
    return this.#engine.close();
  }

  #resident(id: string): Resident {
    const backend = this;
    return {
      id,
      get state() {
        return backend.#state;
      },
      get bytes() {
        return backend.#engine.memory || memoryIn(backend.#folder, backend.#gpu !== false);
      },
      get lastUsed() {
        return backend.#lastUsed;
      },
      get calls() {
        return backend.#engine.calls;
      },
      load: () => this.#engine.load(),
      unload: () => this.#engine.unload(),
    };
  }

  async *#generate(
    call: Call<"streamTextToImage">,
  ): AsyncGenerator<readonly StreamTextToImageResponse[]> {
    this.#lastUsed = performance.now();
    const job = jobOf(call, this.#bar, this.#loras, () => this.#lookForLoras());
    const warnings: string[] = [];
    try {
      for await (const events of this.#engine.run(job, call.signal, call.begun)) {
        const messages = events.flatMap((event) => messagesOf(event, job, warnings));
        if (messages.length > 0) yield messages;
      }
    } finally {
      this.#lastUsed = performance.now();
      this.#keepAlive?.touch();
    }
    yield [doneEvent(warnings)];
  }

  #become(next: EngineState): void {
    this.#state = next.name;
    const detail = next.name === "failed" ? next.detail : "";
    this.#update({ state: residentStates[next.name], stateDetail: detail });
    if (next.name === "loading") this.#lookAnew();
    const { log } = this.#context;
    const fields = { backend: this.name, model: this.#models[0].id };
    if (next.name === "ready") {
      this.#keepAlive?.touch();
      const { provider, refusal, unfused } = next.where;
      log.info({ ...fields, runs: provider }, "image model is ready");
      if (refusal) log.warn({ ...fields, why: refusal }, "no GPU can be used: it runs on the CPU");
      if (unfused) log.warn({ ...fields, why: unfused }, "attention runs as the files have it");
    }
    if (next.name === "failed") {
      log.error({ ...fields, err: next.error }, "image model can't be loaded");
    }
  }

  /** The folder may have been mended, or filled, since it was looked at. */
  #lookAnew(): void {
    this.#lookForLoras();
    const [{ id, created }] = this.#models;
    this.#update({ ...this.#describe(id), created });
  }

  /** Files come and go while the process runs. */
  #lookForLoras(): ReadonlyMap<string, string> {
    this.#loras = findLoras(this.#folder, this.#more);
    this.#update({ loras: [...this.#loras.keys()] });
    return this.#loras;
  }

  #describe(id: string): Model {
    const loras = [...this.#loras.keys()];
    return describeModel(id, this.#folder, loras, this.#bar, residentStates[this.#state]);
  }

  #update(changes: Partial<Model>): void {
    const [model] = this.#models;
    const changed = { ...model, ...changes };
    if (!isDeepStrictEqual(changed, model)) this.#models = [changed];
  }
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
