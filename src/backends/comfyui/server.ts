/** One ComfyUI: what is known of it, and what runs on it for us. */

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { type Model, PromptBar, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { atMost } from "../../core/abort.js";
import type { CallSignal } from "../../core/cancellation.js";
import { invalidValue, LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { parseLoras } from "../../core/loras.js";
import { modelOf } from "../../core/model.js";
import { Listing } from "../http/listing.js";
import { byLowerName, Transport } from "../http/transport.js";
import { Running } from "../running.js";
import {
  fileOf,
  type Inventory,
  nameOf,
  readInventory,
  readLoras,
  type Site,
} from "./inventory.js";
import type { Prompt } from "./prompt.js";
import type { ComfyuiConfig, ComfyuiModel } from "./schema.js";
import { type MappedWorkflow, shippedWorkflow, workflowFor } from "./shipped.js";
import { Socket } from "./socket.js";
import { defaultsOf, type PlacedLora, readWorkflow } from "./workflow.js";

/** A model that can be asked for. */
export interface Served extends MappedWorkflow {
  readonly id: string;
  /** The checkpoint's file; absent where the workflow has its own. */
  readonly checkpoint?: string | undefined;
  /** The server does not have the checkpoint. */
  readonly missing?: boolean;
}

/** Longest time for interrupts when the backend is closed, milliseconds. */
const farewell = 2000;

/** A server, as generations see it. */
export class Server implements Site {
  readonly config: ComfyuiConfig;
  readonly transport: Transport;
  readonly at: (path: string) => string;
  readonly running = new Running();
  readonly #listing: Listing<Inventory>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #workflows: { readonly sd: MappedWorkflow; readonly sdxl: MappedWorkflow };
  /** Workflows of the operator, by the model's name. */
  readonly #own: ReadonlyMap<string, MappedWorkflow>;
  readonly #prompts = new Set<Prompt>();
  #served: readonly Served[] = [];
  #models: readonly Model[] = [];

  /**
   * Begins to read what the server has at once.
   * @throws Error if a workflow's file can't be read, or does not fit its map
   */
  constructor(config: ComfyuiConfig, log: Logger) {
    this.config = config;
    const url = new URL(config.url);
    const base = url.pathname.replace(/\/+$/, "");
    this.at = (path) => `${base}${path}`;
    this.#headers = byLowerName(config.headers);
    this.#workflows = {
      sd: shippedWorkflow("sd", config),
      sdxl: shippedWorkflow("sdxl", config),
    };
    this.#own = new Map((config.models ?? []).flatMap((model) => ownWorkflow(model, config.name)));
    this.transport = new Transport({
      origin: url.origin,
      headers: this.#headers,
      timeouts: { connect: config.timeouts.connect, first: 0, idle: 60_000 },
      connections: 32,
    });
    this.#listing = new Listing({
      read: (signal) => readInventory(this, signal),
      changed: () => this.#describe(),
      refresh: config.refresh,
      log,
    });
    void this.#listing.refresh();
  }

  /** The same array as long as nothing changed. */
  models(): readonly Model[] {
    return this.#models;
  }

  /** Waits until it is known what the server has. @throws LintelError as that could not be read */
  async ready(): Promise<void> {
    if (!this.#listing.value) await this.#listing.ready();
  }

  /** A call could not reach the server: whether it is still there is found out soon. */
  doubt(): void {
    void this.#listing.refresh();
  }

  /** @throws LintelError `model_not_found` */
  find(id: string): Served {
    const found = this.#served.find((one) => one.id === id && !one.missing);
    if (found) return found;
    throw new LintelError("model_not_found", "the model server does not have this model");
  }

  /**
   * The files of the LoRAs that a request asks for, out of what the server has now.
   * @throws LintelError `invalid_value` that names `loras`; the signal's reason
   */
  async lorasFor(text: string, signal: CallSignal): Promise<PlacedLora[]> {
    const asked = parseLoras(text, Number.POSITIVE_INFINITY);
    if (asked.size === 0) return [];
    const files = (await readLoras(this, signal)) ?? [];
    return [...asked].map(([id, weight]) => {
      const file = fileOf(files, id);
      if (file) return { file, weight };
      throw invalidValue("loras", `the model server has no LoRA "${id.slice(0, 100)}"`);
    });
  }

  /** A websocket for the prompts of one client. */
  open(client: string): Promise<Socket> {
    const url = new URL(this.config.url);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.pathname = this.at("/ws");
    url.search = `?clientId=${client}`;
    const { connect: timeout } = this.config.timeouts;
    return Socket.open({ url: url.href, headers: this.#headers, timeout });
  }

  /** Keeps a prompt in mind until it is stopped. */
  track(prompt: Prompt): Prompt {
    this.#prompts.add(prompt);
    return prompt;
  }

  /** Sees to it that nothing is made for nobody. */
  async stop(prompt: Prompt): Promise<void> {
    await prompt.stop();
    this.#prompts.delete(prompt);
  }

  /** Ends every call, and stops what runs for them. */
  async close(): Promise<void> {
    this.#listing.close();
    this.running.endAll(new LintelError("shutting_down", "the backend was closed"));
    const stopped = Promise.all([...this.#prompts].map((prompt) => this.stop(prompt)));
    await atMost(farewell, stopped);
    await this.transport.close();
  }

  #describe(): void {
    const { value: inventory, failure } = this.#listing;
    if (!inventory) return;
    this.#served = this.#serve(inventory);
    const loras = (inventory.loras ?? []).map(nameOf).sort();
    const models = this.#served.map((served) => {
      const supports = supportedBy(served, inventory);
      return modelOf(served.id, Task.TEXT_TO_IMAGE, {
        state: failure || served.missing ? State.FAILED : State.READY,
        stateDetail: failure?.message ?? (served.missing ? "ComfyUI lacks its checkpoint" : ""),
        supports,
        promptBar: PromptBar.BATCH,
        // Lintel's own workflows have the contract's.
        defaults: this.#own.has(served.id) ? defaultsOf(served.workflow, served.map) : {},
        loras: supports.includes("loras") ? loras : [],
        source: "ComfyUI",
      });
    });
    if (!isDeepStrictEqual(models, this.#models)) this.#models = models;
  }

  #serve({ checkpoints }: Inventory): Served[] {
    const { models } = this.config;
    if (!models) {
      const names = checkpoints.map(nameOf);
      return checkpoints.map((file, i) => {
        const name = names[i] ?? file;
        // Two files that differ in their endings keep them.
        const id = names.indexOf(name) === names.lastIndexOf(name) ? name : file;
        return { id, checkpoint: file, ...this.#workflows[workflowFor(file)] };
      });
    }
    return models.map(({ name, checkpoint: wanted, workflow }) => {
      const own = this.#own.get(name);
      const needed = own ? wanted : (wanted ?? name);
      const file = needed === undefined ? undefined : fileOf(checkpoints, needed);
      const kind = workflow === "auto" ? workflowFor(file ?? name) : workflow;
      const missing = needed !== undefined && file === undefined;
      return { id: name, checkpoint: file, missing, ...(own ?? this.#workflows[kind]) };
    });
  }
}

/** An operator's workflow, read from its file. */
function ownWorkflow(
  { name, file, map }: ComfyuiModel,
  backend: string,
): [string, MappedWorkflow][] {
  if (!file || !map) return [];
  const workflow = readWorkflow(readFileSync(file, "utf8"), map);
  if (typeof workflow === "string") {
    throw new Error(`backend "${backend}", model "${name}": the workflow ${file} ${workflow}`);
  }
  return [[name, { workflow, map }]];
}

/** Request fields that a workflow has a place for. */
function supportedBy({ map }: Served, inventory: Inventory): string[] {
  const { prompt, checkpoint, loras, output, ...mapped } = map;
  return [
    ...Object.entries(mapped).flatMap(([field, targets]) => (targets ? [field] : [])),
    "num_images_per_prompt",
    "include_previews",
    ...(loras !== undefined && inventory.loras ? ["loras"] : []),
  ];
}
