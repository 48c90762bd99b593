/** The kind `llama`: a GGUF file that runs in this process, by llama.cpp. */
import { basename } from "node:path";
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../core/backend.js";
import type { Call } from "../../core/call.js";
import { LintelError, toLintelError } from "../../core/errors.js";
import type { Output } from "../../core/methods.js";
import { modelOf } from "../../core/model.js";
import { unlessAborted } from "../abort.js";
import type { BackendContext, BackendKind } from "../kind.js";
import { generate } from "./generate.js";
import { type LoadedModel, loadModel } from "./model.js";
import { type LlamaConfig, llamaSchema } from "./schema.js";

/** What a GGUF model honours of a request. */
export const llamaSupports = ["temperature", "max_tokens", "top_p", "top_k", "seed", "stop"];

/** Name of the model in a file. */
export const modelIdOf = (path: string) => basename(path).replace(/\.gguf$/i, "");

export const llama: BackendKind<typeof llamaSchema> = {
  schema: llamaSchema,
  create: (config, context) => new LlamaBackend(config, context),
};

class LlamaBackend implements Backend {
  readonly name: string;
  readonly handlers: Backend["handlers"];
  readonly #running = new Set<AbortController>();
  readonly #loading: Promise<LoadedModel>;
  #models: readonly Model[];
  #closed = false;

  constructor(config: LlamaConfig, { log }: BackendContext) {
    this.name = config.name;
    this.handlers = { chat: (call) => this.#chat(call) };
    const model = modelOf(config.id ?? modelIdOf(config.path), Task.CHAT, {
      state: State.LOADING,
      supports: llamaSupports,
      maxTokens: config.context_size ?? 0,
      created: Math.floor(Date.now() / 1000),
      source: config.path,
    });
    this.#models = [model];
    const settings = { ...config, contextSize: config.context_size };
    this.#loading = loadModel(settings, log).then(
      (loaded) => {
        this.#models = [{ ...model, state: State.READY, maxTokens: loaded.contextSize }];
        log.info({ model: model.id, context: loaded.contextSize }, "model loaded");
        return loaded;
      },
      (thrown) => {
        const error = toLintelError(thrown);
        this.#models = [{ ...model, state: State.FAILED, stateDetail: error.message }];
        log.error({ model: model.id, path: config.path, err: error }, "model failed to load");
        throw error;
      },
    );
    // Who waits for it hears of the failure; nobody may.
    this.#loading.catch(() => {});
  }

  models(): readonly Model[] {
    return this.#models;
  }

  async ready(_model: string, signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#loading, signal);
  }

  async health(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw closing();
    await unlessAborted(this.#loading, signal);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const controller of this.#running) controller.abort(closing());
    const loaded = await this.#loading.catch(() => undefined);
    await loaded?.close();
  }

  async *#chat(call: Call<"chat">): AsyncGenerator<readonly Output<"chat">[]> {
    if (this.#closed) throw closing();
    const controller = new AbortController();
    const abort = () => controller.abort(call.signal.reason);
    if (call.signal.aborted) abort();
    else call.signal.addEventListener("abort", abort, { once: true });
    this.#running.add(controller);
    try {
      const loaded = await unlessAborted(this.#loading, controller.signal);
      yield* generate(loaded, call.request as LLMRequest, controller.signal);
    } finally {
      this.#running.delete(controller);
      call.signal.removeEventListener("abort", abort);
    }
  }
}

const closing = () => new LintelError("shutting_down", "the model is being unloaded");
