/** The kind `llama`: a GGUF file that runs in this process, by llama.cpp. */

import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { unlessAborted } from "../../core/abort.js";
import type { Backend } from "../../core/backend.js";
import type { Call } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import { tokenCount } from "../../core/chat-messages.js";
import { LintelError, toLintelError } from "../../core/errors.js";
import { once } from "../../core/iterate.js";
import type { Output } from "../../core/methods.js";
import { modelOf } from "../../core/model.js";
import type { EngineProgress } from "../engine-progress.js";
import { KeepAlive } from "../keep-alive.js";
import type { BackendContext, CreateBackend } from "../kind.js";
import { ggufName } from "../local.js";
import {
  type Resident,
  type ResidentBackend,
  type ResidentState,
  residentStates,
  retryMs,
} from "../resident.js";
import { Running } from "../running.js";
import { generate } from "./generate.js";
import { loadModel, smallBytes } from "./load.js";
import { bytesOf } from "./memory.js";
import type { LoadedModel } from "./model.js";
import { countTokens } from "./prompt.js";
import { Residency, unloading } from "./residency.js";
import type { LlamaConfig } from "./schema.js";
import { defaultsOf, modalities, supportsOf } from "./supports.js";

/** A backend of the kind `llama`. */
export const createLlamaBackend: CreateBackend<LlamaConfig> = (config, context) =>
  new LlamaBackend(config, context);

class LlamaBackend implements ResidentBackend {
  readonly name: string;
  readonly handlers: Backend["handlers"];
  readonly residents: readonly Resident[];
  readonly #context: BackendContext;
  readonly #running = new Running();
  readonly #residency: Residency<LoadedModel>;
  readonly #closing = new AbortController();
  readonly #progress: EngineProgress | undefined;
  readonly #lazy: boolean;
  /** Absent: the model stays. */
  readonly #keepAlive: KeepAlive | undefined;
  #models: readonly Model[];
  #bytes: number;
  #lastUsed = 0;
  #closed = false;

  constructor(config: LlamaConfig, context: BackendContext) {
    this.name = config.name;
    this.#context = context;
    this.#lazy = config.load === "lazy";
    this.#bytes = bytesOf(config.path);
    this.handlers = {
      chat: (call) =>
        this.#withModel(call, (loaded, signal) => generate(loaded, call.request, signal)),
      countTokens: (call) => this.#count(call),
    };
    const id = config.id ?? ggufName(config.path);
    this.#progress = context.watch?.progress(id);
    const model = modelOf(id, Task.CHAT, {
      state: this.#lazy ? State.IDLE : State.LOADING,
      // One that was not loaded yet may support all of it.
      supports: supportsOf({ tools: true, hasEffort: true }),
      defaults: defaultsOf(config),
      maxTokens: config.context_size ?? 0,
      contextLength: config.context_size ?? 0,
      ...modalities,
      created: Math.floor(Date.now() / 1000),
      source: config.path,
      sizeBytes: BigInt(this.#bytes),
    });
    this.#models = [model];
    const resident = this.#resident(id);
    this.residents = [resident];
    const { keep_alive: keepAlive } = config;
    this.#keepAlive = keepAlive ? new KeepAlive(keepAlive, resident, context.log) : undefined;
    this.#residency = new Residency({
      retryMs,
      load: () => this.#load(config, resident),
      free: (loaded) => loaded.close(),
      onState: (state, failure) => this.#become(state, failure),
    });
  }

  models(): readonly Model[] {
    return this.#models;
  }

  /** Begins to load the model, unless the first call is to do that. */
  start(): void {
    // What went wrong stands in the model's state, and every call gets it.
    if (!this.#lazy) this.#residency.load().catch(() => {});
  }

  async ready(_model: string, signal: CallSignal): Promise<void> {
    await unlessAborted(this.#residency.load(), signal);
  }

  /** A model that the next call loads can take a call. */
  async health(signal: CallSignal): Promise<void> {
    if (this.#closed) throw unloading();
    if (this.#residency.state === "idle" && (this.#lazy || this.#keepAlive)) return;
    await unlessAborted(this.#residency.load(), signal);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#closing.abort();
    this.#keepAlive?.close();
    this.#running.endAll(unloading());
    await this.#residency.close();
  }

  #resident(id: string): Resident {
    const backend = this;
    return {
      id,
      get state() {
        return backend.#residency.state;
      },
      get bytes() {
        return backend.#bytes;
      },
      get lastUsed() {
        return backend.#lastUsed;
      },
      get calls() {
        return backend.#residency.calls;
      },
      load: () => this.#residency.load(),
      unload: () => this.#residency.unload(),
    };
  }

  async #load(config: LlamaConfig, resident: Resident): Promise<LoadedModel> {
    const { log, admit, downloads, watch } = this.#context;
    const { id } = resident;
    const loaded = await loadModel(
      {
        path: config.path,
        contextSize: config.context_size,
        sequences: config.sequences ?? 4,
        gpu: config.gpu ?? false,
        gpuLayers: config.gpu_layers,
        threads: config.threads,
        chatTemplate: config.chat_template,
        loras: config.loras,
        kvCacheType: config.kv_cache_type,
        flashAttention: config.flash_attention,
      },
      {
        log,
        downloads,
        signal: this.#closing.signal,
        weigh: admit !== undefined,
        admit: async (bytes, path) => {
          this.#bytes = bytes;
          this.#update({ sizeBytes: BigInt(bytesOf(path)) });
          watch?.check(id, path);
          await admit?.(resident);
        },
        watch: watch && ((path, load) => watch.load(id, path, load)),
        progress: this.#progress,
      },
    );
    const { contextSize } = loaded;
    const supports = supportsOf(loaded);
    this.#update({ maxTokens: contextSize, contextLength: contextSize, supports });
    log.info({ model: id, maxTokens: contextSize, ...loaded.where }, "model loaded");
    return loaded;
  }

  #become(state: ResidentState, failure: unknown): void {
    const { id = "", source } = this.#models[0] ?? {};
    if (state === "ready") this.#keepAlive?.touch();
    if (state !== "failed") {
      this.#update({ state: residentStates[state], stateDetail: "" });
      return;
    }
    const error = toLintelError(failure);
    this.#update({ state: State.FAILED, stateDetail: error.message });
    if (this.#closed) return;
    this.#context.log.error({ model: id, path: source, err: error }, "model failed to load");
  }

  #update(changes: Partial<Model>): void {
    this.#models = this.#models.map((model) => ({ ...model, ...changes }));
  }

  #count(call: Call<"countTokens">): AsyncIterable<readonly Output<"countTokens">[]> {
    // To load one takes long, and others' memory: an estimate is better.
    if (this.#residency.state !== "ready" && this.#bytes >= smallBytes) {
      throw new LintelError(
        "unimplemented",
        "the model is not in memory: its tokens are not counted",
      );
    }
    return this.#withModel(call, (loaded, signal) => counted(call, loaded, signal));
  }

  async *#withModel<M extends "chat" | "countTokens">(
    call: Call<M>,
    run: (loaded: LoadedModel, signal: CallSignal) => AsyncIterable<readonly Output<M>[]>,
  ): AsyncGenerator<readonly Output<M>[]> {
    const followed = this.#running.follow(call.signal);
    const { signal } = followed;
    this.#lastUsed = performance.now();
    try {
      const loaded = await this.#residency.borrow(signal);
      try {
        yield* run(loaded, signal);
      } finally {
        this.#lastUsed = performance.now();
        this.#residency.giveBack();
        this.#keepAlive?.touch();
      }
    } finally {
      followed.end();
    }
  }
}

const counted = ({ request }: Call<"countTokens">, loaded: LoadedModel, signal: CallSignal) =>
  once(async () => [tokenCount(await countTokens(loaded, request, signal))]);
