/** The kind `embedded`: models on this machine, in a process of their own. */

import { fileURLToPath } from "node:url";
import { type Model, State } from "../../../gen/lintel/v1/models_pb.js";
import { unlessAborted } from "../../core/abort.js";
import type { Backend, EngineExits, Handlers } from "../../core/backend.js";
import type { Call, Handle } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import type { ErrorCode } from "../../core/error-table.js";
import { toLintelError } from "../../core/errors.js";
import { type BackendMethod, backendServices, type Output } from "../../core/methods.js";
import type { Clock } from "../../core/routing/clock.js";
import { fromConfiguration } from "../configured-model.js";
import type { BackendContext, CreateBackend } from "../kind.js";
import { findModels } from "../local.js";
import { NodeBackend } from "../node/index.js";
import { nodeSchema } from "../node/schema.js";
import type { EmbeddedConfig } from "./schema.js";
import { Supervisor, type Times, timeDefaults } from "./supervisor.js";
import { watchdogDefault } from "./watchdog.js";

/** A backend of the kind `embedded`. */
export const createEmbeddedBackend: CreateBackend<EmbeddedConfig> = (config, context) =>
  new EmbeddedBackend(config, context);

/** What only tests change. */
export interface EmbeddedOptions {
  /** Entry file of the command line. */
  readonly entry?: string;
  /** Arguments of Node itself, in front of the entry. */
  readonly execArgv?: readonly string[];
  readonly times?: Partial<Times>;
  /** Time of the watchdog. */
  readonly clock?: Clock;
}

/** Lintel's root, seen from `dist/src/backends/embedded` as well as from `src/backends/embedded`. */
const packageRoot = (() => {
  const up = import.meta.url.includes("/dist/src/") ? "../../../../" : "../../../";
  return new URL(up, import.meta.url);
})();

/** What stands in the package. */
const ownModels = () => [
  fileURLToPath(new URL("models/chat/lintel-chat.gguf", packageRoot)),
  fileURLToPath(new URL("models/image/lintel-image", packageRoot)),
];

/** A backend over a child process. */
export class EmbeddedBackend implements Backend {
  readonly name: string;
  readonly handlers: Backend["handlers"];
  readonly #supervisor: Supervisor<NodeBackend>;
  readonly #loading: readonly Model[];
  #models: readonly Model[];
  /** What the node said last. */
  #said: readonly Model[] = [];
  #node: NodeBackend | undefined;

  constructor(config: EmbeddedConfig, context: BackendContext, options: EmbeddedOptions = {}) {
    const { log, downloads } = context;
    this.name = config.name;
    const paths = config.models ?? ownModels();
    const created = Math.floor(Date.now() / 1000);
    this.#loading = findModels(paths).map(({ id, type }) => ({
      ...fromConfiguration({ id, task: type === "llama" ? "chat" : "image" }, State.LOADING),
      created,
    }));
    this.#models = this.#loading;
    this.handlers = Object.fromEntries(
      backendServices
        .flatMap((service) => Object.keys(service.method) as BackendMethod[])
        .map((method) => [method, (call: Call<BackendMethod>) => this.#handle(method, call)]),
    ) as Handlers;
    this.#supervisor = new Supervisor<NodeBackend>(
      {
        entry: options.entry ?? fileURLToPath(new URL("../../main.js", import.meta.url)),
        execArgv: options.execArgv ?? [],
        models: paths,
        options: nodeOptions(config, downloads),
        templates: config.chat_templates,
        watchdog: config.watchdog ?? watchdogDefault,
        clock: options.clock,
      },
      {
        started: (address) => this.#started(address, { log }),
        ended: (node) => this.#ended(node),
        failed: (detail) => {
          this.#models = this.#loading.map((model) => ({
            ...model,
            state: State.FAILED,
            stateDetail: detail,
          }));
        },
      },
      log,
      { ...timeDefaults, ...options.times },
    );
  }

  /** Starts the child; a call that comes earlier does so too. */
  start(): void {
    this.#supervisor.start();
  }

  /** The child's process id, while there is one. */
  get pid(): number | undefined {
    return this.#supervisor.pid;
  }

  exits(): EngineExits {
    return this.#supervisor.exits;
  }

  models(): readonly Model[] {
    const said = this.#node?.models() ?? [];
    if (said.length > 0 && said !== this.#said) {
      this.#said = said;
      this.#models = this.#inOrder(said);
    }
    return this.#models;
  }

  /** Waits for the process; there the call waits for its model. */
  async ready(_model: string, signal: CallSignal): Promise<void> {
    await unlessAborted(this.#supervisor.up(), signal);
  }

  async health(signal: CallSignal): Promise<void> {
    const node = await unlessAborted(this.#supervisor.up(), signal);
    await node.health(signal);
  }

  async close(): Promise<void> {
    // The supervisor knows first: calls that the node's end cuts off are told why.
    const closed = this.#supervisor.close();
    await this.#node?.close();
    await closed;
  }

  /**
   * Nodes list by name, but the first one that is configured is the default. Those that came
   * into a folder since stand behind.
   */
  #inOrder(said: readonly Model[]): readonly Model[] {
    const ids = this.#loading.map(({ id }) => id);
    const place = ({ id }: Model) => (ids.includes(id) ? ids.indexOf(id) : ids.length);
    return said.toSorted((a, b) => place(a) - place(b));
  }

  async #started(address: string, context: BackendContext): Promise<NodeBackend> {
    const config = nodeSchema.parse({ type: "node", name: this.name, address });
    const node = new NodeBackend(config, context);
    // Before it answers: who closes meanwhile closes it, and it does not complain of the end.
    this.#node = node;
    await node.refresh();
    return node;
  }

  async #ended(node: NodeBackend | undefined): Promise<void> {
    this.#node = undefined;
    this.#models = this.#loading;
    await node?.close();
  }

  async *#handle<M extends BackendMethod>(
    method: M,
    call: Call<M>,
  ): AsyncGenerator<readonly Output<M>[]> {
    for (;;) {
      const node = await unlessAborted(this.#supervisor.up(), call.signal);
      const handle = node.handlers[method] as unknown as Handle<M>;
      try {
        yield* handle(call);
        return;
      } catch (thrown) {
        const error = toLintelError(thrown);
        if (call.signal.aborted || !lost.has(error.code)) throw error;
        // The connection breaks before the process is known to have ended. Who is told of that
        // and asks again is not to meet the same one.
        const gone = await this.#supervisor.gone(node);
        // Nobody took the call: the process has just died. The next one gets it.
        if (!gone || !wasRefused(error)) throw this.#supervisor.unavailable(error);
      }
    }
  }
}

/** What the process is started with. */
function nodeOptions(config: EmbeddedConfig, downloads: string | undefined): string[] {
  const given = {
    gpu: config.gpu || undefined,
    "gpu-layers": config.gpu_layers,
    sequences: config.sequences,
    "context-size": config.context_size,
    threads: config.threads,
    "kv-cache-type": config.kv_cache_type,
    "flash-attention": config.flash_attention,
    "min-p": config.min_p,
    "repeat-penalty": config.repeat_penalty,
    "presence-penalty": config.presence_penalty,
    "frequency-penalty": config.frequency_penalty,
    load: config.load,
    "keep-alive": config.keep_alive,
    "memory-budget": config.memory_budget,
    downloads,
  };
  // Numbers may have a minus in front.
  const options = Object.entries(given).map(([name, value]) =>
    value === undefined ? "" : `--${name}=${value}`,
  );
  const loras = Object.entries(config.loras ?? {}).flatMap(([model, all]) =>
    all.map(({ path, scale = 1 }) => `--lora=${model}=${path}:${scale}`),
  );
  return [...options.filter((option) => option !== ""), ...loras];
}

/** How the loss of the process shows in its calls. */
const lost: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["upstream_unreachable", "shutting_down"]);

/** Whether nobody listened, so that the call began nowhere. */
function wasRefused(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (code === "ECONNREFUSED" || code === "ENOENT") return true;
  }
  return false;
}
