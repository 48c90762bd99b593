/** One server of the web API: what is known of it, and what runs on it for us. */

import { type Model, PromptBar, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { modelOf } from "../../core/model.js";
import { byLowerName } from "../http/transport.js";
import { ImageServer } from "../image-server.js";
import { dialects } from "./dialect.js";
import {
  type Checkpoint,
  type Inventory,
  listModels,
  readInventory,
  readLoras,
} from "./inventory.js";
import { Lane } from "./lane.js";
import { loraNames, lorasFor, type WeightedLora } from "./loras.js";
import type { Run } from "./run.js";
import type { SdapiConfig } from "./schema.js";

/** A server, as generations see it. */
export class Server extends ImageServer<SdapiConfig, Inventory, Run> {
  readonly lane = new Lane();
  #served: readonly Served[] = [];

  constructor(config: SdapiConfig, log: Logger) {
    const ending = /(?:\/sdapi\/v1)?\/*$/;
    super(config, { headers: headersOf(config), connections: 8, ending, log });
  }

  /** @throws LintelError `model_not_found` */
  find(id: string): { readonly inventory: Inventory; readonly checkpoint: Checkpoint } {
    const { inventory } = this;
    const checkpoint = this.#served.find((one) => one.id === id)?.checkpoint;
    if (inventory && checkpoint) return { inventory, checkpoint };
    throw new LintelError("model_not_found", "the model server does not have this model");
  }

  /**
   * The LoRAs that a request asks for, out of what the server has now.
   * @param connect longest time to connect, milliseconds, where it is the call's own
   * @throws LintelError `invalid_value`; the signal's reason
   */
  lorasFor(text: string, signal: CallSignal, connect?: number): Promise<readonly WeightedLora[]> {
    const { dialect = "a1111", loras } = this.inventory ?? {};
    const now = async () => (await readLoras(this, loras, signal, connect)) ?? [];
    return lorasFor(text, dialects[dialect], now);
  }

  protected read(signal: CallSignal): Promise<Inventory> {
    const { dialect } = this.config;
    return readInventory(this, dialect === "auto" ? undefined : dialect, this.inventory, signal);
  }

  protected async health(signal: CallSignal): Promise<void> {
    await listModels(this, signal);
  }

  protected describe(inventory: Inventory, failure: LintelError | undefined): Model[] {
    const dialect = dialects[inventory.dialect];
    const loras = loraNames(inventory.loras ?? [], dialect);
    this.#served = served(inventory.checkpoints, this.config.models);
    return this.#served.map(({ id, checkpoint }) =>
      modelOf(id, Task.TEXT_TO_IMAGE, {
        state: failure || !checkpoint ? State.FAILED : State.READY,
        stateDetail: failure?.message ?? (checkpoint ? "" : "the model server does not have it"),
        supports: supportedBy(inventory),
        promptBar: PromptBar.BATCH,
        loras,
        source: dialect.product,
      }),
    );
  }
}

/** A model that can be asked for; without a checkpoint it is configured, and the server lacks it. */
interface Served {
  readonly id: string;
  readonly checkpoint: Checkpoint | undefined;
}

function served(
  checkpoints: readonly Checkpoint[],
  names: readonly string[] | undefined,
): Served[] {
  if (!names) return checkpoints.map((checkpoint) => ({ id: checkpoint.id, checkpoint }));
  return names.map((name) => ({
    id: name,
    checkpoint: checkpoints.find(({ id, aliases }) => id === name || aliases.includes(name)),
  }));
}

/** Request fields that a server honours. */
function supportedBy({ dialect, loras }: Inventory): string[] {
  return [
    "height",
    "width",
    "guidance_scale",
    "negative_prompt",
    "seed",
    "num_inference_steps",
    "num_images_per_prompt",
    ...(loras ? ["loras"] : []),
    ...(dialects[dialect].progress ? ["include_previews"] : []),
  ];
}

function headersOf({ username, password = "", headers }: SdapiConfig): Record<string, string> {
  const basic = Buffer.from(`${username}:${password}`, "utf8").toString("base64");
  return {
    ...(username && { authorization: `Basic ${basic}` }),
    ...byLowerName(headers),
  };
}
