/** The kind `ai-sdk`: providers of the Vercel AI SDK, for what has no kind of its own. */

import { isDeepStrictEqual } from "node:util";
import type { Agent } from "undici";
import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { unlessAborted } from "../../core/abort.js";
import type { Backend } from "../../core/backend.js";
import type { Call, Handle } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError, toLintelError } from "../../core/errors.js";
import { modalitiesOf, modelOf } from "../../core/model.js";
import { modalities } from "../../core/parameters.js";
import { Guard } from "../http/guard.js";
import { agentTo } from "../http/pools.js";
import { Renewed } from "../http/renewed.js";
import type { BackendContext, CreateBackend } from "../kind.js";
import { Running } from "../running.js";
import { chat, complete } from "./chat.js";
import { chatPackage, fieldsOfChat } from "./chat-packages.js";
import { countingFetch, countTokens } from "./count.js";
import { saysEffort } from "./efforts.js";
import { guardedFetch } from "./fetch.js";
import { imageFields, imagePackage } from "./image-packages.js";
import { textToImage } from "./images.js";
import { isV4, type Loaded, loadModel, loadProvider } from "./load.js";
import type { AiSdkConfig, AiSdkModel } from "./schema.js";

/** A backend of the kind `ai-sdk`. */
export const createAiSdkBackend: CreateBackend<AiSdkConfig> = (config, context) =>
  new AiSdkBackend(config, context);

/** A model of the entry, and what became of it. */
interface Entry {
  readonly config: AiSdkModel;
  loaded?: Loaded;
  failure?: LintelError;
  /** Fields that the provider ignored, or its vendor refused. */
  readonly ignored: Set<string>;
}

/** A backend on one provider. Its package is loaded in the background. */
export class AiSdkBackend implements Backend {
  readonly name: string;
  readonly handlers: Backend["handlers"];
  readonly #config: AiSdkConfig;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #guard: Guard;
  readonly #agent: Renewed<Agent>;
  readonly #running = new Running();
  readonly #loading: Promise<void>;
  #models: readonly Model[] = [];

  constructor(config: AiSdkConfig, { log }: BackendContext) {
    this.name = config.name;
    this.#config = config;
    const { leaves } = chatPackage(config.package);
    this.#entries = new Map(
      config.models.map((m) => [m.id, { config: m, ignored: new Set(leaves) }]),
    );
    const { connect, first_token, idle } = config.timeouts;
    const { baseURL } = config.options;
    const timeouts = { headersTimeout: first_token, bodyTimeout: idle };
    this.#agent = new Renewed(() => agentTo({ connect: { timeout: connect }, ...timeouts }));
    this.#guard = new Guard({
      own: typeof baseURL === "string" && URL.canParse(baseURL) ? [baseURL] : [],
      allow: [...config.allow_hosts, ...(imagePackage(config.package).hosts ?? [])],
      connectTimeout: connect,
    });
    this.handlers = this.#handlers();
    this.#build();
    this.#loading = this.#load(log);
  }

  models(): readonly Model[] {
    return this.#models;
  }

  async ready(model: string, signal: CallSignal): Promise<void> {
    await unlessAborted(this.#loading, signal);
    const failure = this.#entries.get(model)?.failure;
    if (failure) throw failure;
  }

  /** Providers have nothing to ask: healthy is what could be loaded. */
  async health(signal: CallSignal): Promise<void> {
    await unlessAborted(this.#loading, signal);
    const entries = [...this.#entries.values()];
    const failure = entries.find((entry) => entry.failure)?.failure;
    if (failure && entries.every((entry) => entry.failure)) throw failure;
  }

  async close(): Promise<void> {
    this.#running.endAll(new LintelError("shutting_down", "the backend was closed"));
    await Promise.all([this.#guard.close(), this.#agent.destroy()]);
  }

  #handlers(): Backend["handlers"] {
    const has = (task: AiSdkModel["task"]) => this.#config.models.some((m) => m.task === task);
    const chats: Backend["handlers"] = {
      chat: (call) =>
        this.#run(call, (entry, signal) => chat(this.#chatModel(entry), call, signal)),
      complete: (call) =>
        this.#run(call, (entry, signal) => complete(this.#chatModel(entry), call, signal)),
    };
    const draws: Backend["handlers"] = {
      textToImage: (call) =>
        this.#run(call, (entry, signal) => textToImage(this.#imageModel(entry), call, signal)),
    };
    const { counts } = chatPackage(this.#config.package);
    const counting: Backend["handlers"] = counts
      ? {
          countTokens: (call) =>
            this.#run(call, (entry, signal) => countTokens(this.#chatModel(entry), call, signal)),
        }
      : {};
    return { ...(has("chat") && { ...chats, ...counting }), ...(has("image") && draws) };
  }

  async *#run<M extends "chat" | "complete" | "countTokens" | "textToImage">(
    call: Call<M>,
    run: (entry: Entry, signal: AbortSignal) => ReturnType<Handle<M>>,
  ): ReturnType<Handle<M>> & AsyncGenerator {
    const followed = this.#running.follow(call.signal);
    const { signal } = followed;
    try {
      await unlessAborted(this.#loading, signal);
      const { request } = call as Call;
      const id = "modelId" in request ? request.modelId : (request as { model: string }).model;
      const entry = this.#entries.get(id);
      if (!entry) throw new LintelError("model_not_found", "the provider has no such model");
      if (entry.failure) throw entry.failure;
      yield* run(entry, signal);
    } finally {
      followed.end();
    }
  }

  #chatModel(entry: Entry) {
    const { loaded, config, ignored } = entry;
    if (loaded?.task !== "chat") throw wrongTask();
    return {
      model: loaded.model,
      package: this.#config.package,
      providerOptions: this.#options(config),
      tags: this.#config.think_tags,
      passUser: this.#config.pass_user,
      refused: ignored,
      learn: (field: string) => this.#learn(entry, field),
    };
  }

  #imageModel(entry: Entry) {
    const { loaded, config, ignored } = entry;
    if (loaded?.task !== "image") throw wrongTask();
    return {
      model: loaded.model,
      package: this.#config.package,
      providerOptions: this.#options(config),
      supports: this.#supported(entry),
      refused: ignored,
      learn: (field: string) => this.#learn(entry, field),
    };
  }

  #learn({ ignored }: Entry, field: string): void {
    ignored.add(field);
    this.#build();
  }

  /** What is configured for all models, and above it for this one. */
  #options({ provider_options: own = {} }: AiSdkModel) {
    const { provider_options: all } = this.#config;
    const keys = new Set([...Object.keys(all), ...Object.keys(own)]);
    return Object.fromEntries([...keys].map((key) => [key, { ...all[key], ...own[key] }]));
  }

  #supported({ config, ignored, loaded }: Entry): string[] {
    const { package: name } = this.#config;
    const usual = () => {
      if (config.task === "image") return imageFields(name, config.id);
      const common = loaded?.task === "chat" && isV4(loaded.model);
      const thinks = common || chatPackage(name).thinking !== undefined;
      return fieldsOfChat(name, config.id, thinks && !saysEffort(this.#options(config)));
    };
    return (config.supports ?? usual()).filter((field) => !ignored.has(field));
  }

  async #load(log: BackendContext["log"]): Promise<void> {
    try {
      const images = this.#config.models.some(({ task }) => task === "image");
      const { counts, written } = chatPackage(this.#config.package);
      const fetch = guardedFetch({ guard: this.#guard, connections: this.#agent, images, written });
      const provider = await loadProvider(this.#config, countingFetch(fetch, counts));
      for (const entry of this.#entries.values()) {
        try {
          entry.loaded = loadModel(provider, entry.config);
        } catch (thrown) {
          entry.failure = toLintelError(thrown);
        }
      }
    } catch (thrown) {
      for (const entry of this.#entries.values()) entry.failure = toLintelError(thrown);
    }
    for (const failure of new Set([...this.#entries.values()].map((entry) => entry.failure))) {
      if (failure) log.error({ backend: this.name, err: failure }, "the provider can't be used");
    }
    this.#build();
  }

  #build(): void {
    const models = [...this.#entries.values()].map((entry) => {
      const { config, loaded, failure } = entry;
      const supports = this.#supported(entry);
      const { side } = imagePackage(this.#config.package);
      const sized = side !== undefined && supports.includes("width");
      const state = failure ? State.FAILED : loaded ? State.READY : State.LOADING;
      return modelOf(config.id, config.task === "chat" ? Task.CHAT : Task.TEXT_TO_IMAGE, {
        state,
        stateDetail: failure?.message ?? "",
        supports,
        defaults: sized ? { width: side, height: side } : {},
        maxTokens: config.max_tokens ?? 0,
        // Of others the packages don't say which of their models look at images.
        ...(supports.includes(modalities) && modalitiesOf(supports)),
      });
    });
    if (!isDeepStrictEqual(models, this.#models)) this.#models = models;
  }
}

const wrongTask = () => new LintelError("unimplemented", "the model can't do this operation");
