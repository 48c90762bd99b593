/** One ComfyUI: what is known of it, and what runs on it for us. */

import { readFileSync } from "node:fs";
import { type Model, PromptBar, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import { invalidValue, LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { parseLoras } from "../../core/loras.js";
import { modelOf } from "../../core/model.js";
import { askJson } from "../http/ask.js";
import { byLowerName } from "../http/transport.js";
import { ImageServer } from "../image-server.js";
import { fileOf, type Inventory, nameOf, readInventory, readLoras } from "./inventory.js";
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

/** Longest time for the answer about health, milliseconds. */
const healthTimeout = 10_000;

/** A server, as generations see it. */
export class Server extends ImageServer<ComfyuiConfig, Inventory, Prompt> {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #workflows: { readonly sd: MappedWorkflow; readonly sdxl: MappedWorkflow };
  /** Workflows of the operator, by the model's name. */
  readonly #own: ReadonlyMap<string, MappedWorkflow>;
  #served: readonly Served[] = [];

  /** @throws Error if a workflow's file can't be read, or does not fit its map */
  constructor(config: ComfyuiConfig, log: Logger) {
    const headers = byLowerName(config.headers);
    super(config, { headers, connections: 32, log });
    this.#headers = headers;
    this.#workflows = {
      sd: shippedWorkflow("sd", config),
      sdxl: shippedWorkflow("sdxl", config),
    };
    this.#own = new Map((config.models ?? []).flatMap((model) => ownWorkflow(model, config.name)));
  }

  /** @throws LintelError `model_not_found` */
  find(id: string): Served {
    const found = this.#served.find((one) => one.id === id && !one.missing);
    if (found) return found;
    throw new LintelError("model_not_found", "the model server does not have this model");
  }

  /**
   * The files of the LoRAs that a request asks for, out of what the server has now.
   * @param connect longest time to connect, milliseconds, where it is the call's own
   * @throws LintelError `invalid_value` that names `loras`; the signal's reason
   */
  async lorasFor(text: string, signal: CallSignal, connect?: number): Promise<PlacedLora[]> {
    const asked = parseLoras(text, Number.POSITIVE_INFINITY);
    if (asked.size === 0) return [];
    const files = (await readLoras(this, signal, connect)) ?? [];
    return [...asked].map(([id, weight]) => {
      const file = fileOf(files, id);
      if (file) return { file, weight };
      throw invalidValue("loras", `the model server has no LoRA "${id.slice(0, 100)}"`);
    });
  }

  /**
   * A websocket for the prompts of one client.
   * @param connect longest time to connect, milliseconds, where it is the call's own
   */
  open(client: string, connect = Number.POSITIVE_INFINITY): Promise<Socket> {
    const url = new URL(this.config.url);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.pathname = this.at("/ws");
    url.search = `?clientId=${client}`;
    const timeout = Math.min(this.config.timeouts.connect, connect);
    return Socket.open({ url: url.href, headers: this.#headers, timeout, tls: this.tls });
  }

  protected read(signal: CallSignal): Promise<Inventory> {
    return readInventory(this, signal);
  }

  protected async health(signal: CallSignal): Promise<void> {
    const path = this.at("/system_stats");
    await askJson(this.transport, { method: "GET", path, signal, timeout: healthTimeout });
  }

  protected describe(inventory: Inventory, failure: LintelError | undefined): Model[] {
    this.#served = this.#serve(inventory);
    const loras = (inventory.loras ?? []).map(nameOf).sort();
    return this.#served.map((served) => {
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
