/** One server of the web API: what is known of it, and what runs on it for us. */

import { isDeepStrictEqual } from "node:util";
import { type Model, PromptBar, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { atMost } from "../../core/abort.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { modelOf } from "../../core/model.js";
import { Listing } from "../http/listing.js";
import { byLowerName, Transport } from "../http/transport.js";
import { Running } from "../running.js";
import { dialects } from "./dialect.js";
import {
  type Checkpoint,
  type Inventory,
  readInventory,
  readLoras,
  type Site,
} from "./inventory.js";
import { Lane } from "./lane.js";
import { loraNames, lorasFor, type WeightedLora } from "./loras.js";
import type { Run } from "./run.js";
import type { SdapiConfig } from "./schema.js";

/** Longest time for interrupts when the backend is closed, milliseconds. */
const farewell = 2000;

/** A server, as generations see it. */
export class Server implements Site {
  readonly config: SdapiConfig;
  readonly transport: Transport;
  readonly lane = new Lane();
  readonly running = new Running();
  readonly at: (path: string) => string;
  readonly #listing: Listing<Inventory>;
  readonly #runs = new Set<Run>();
  readonly #closing = new AbortController();
  #served: readonly Served[] = [];
  #models: readonly Model[] = [];

  /** Begins to read what the server has at once. */
  constructor(config: SdapiConfig, log: Logger) {
    this.config = config;
    const url = new URL(config.url);
    const base = url.pathname.replace(/\/+$/, "").replace(/\/sdapi\/v1$/, "");
    this.at = (path) => `${base}${path}`;
    this.transport = new Transport({
      origin: url.origin,
      headers: headersOf(config),
      timeouts: { connect: config.timeouts.connect, first: 0, idle: 60_000 },
      connections: 8,
    });
    const known = config.dialect === "auto" ? undefined : config.dialect;
    this.#listing = new Listing({
      read: (signal) => readInventory(this, known, signal),
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
  find(id: string): { readonly inventory: Inventory; readonly checkpoint: Checkpoint } {
    const inventory = this.#listing.value;
    const checkpoint = this.#served.find((one) => one.id === id)?.checkpoint;
    if (inventory && checkpoint) return { inventory, checkpoint };
    throw new LintelError("model_not_found", "the model server does not have this model");
  }

  /**
   * The LoRAs that a request asks for, out of what the server has now.
   * @throws LintelError `invalid_value`; the signal's reason
   */
  lorasFor(text: string, signal: CallSignal): Promise<readonly WeightedLora[]> {
    const { dialect = "a1111", loras: listed = [] } = this.#listing.value ?? {};
    const now = async () => (await readLoras(this, signal)) ?? listed;
    return lorasFor(text, dialects[dialect], now);
  }

  /** Keeps a run in mind until it is stopped. */
  track(run: Run): Run {
    this.#runs.add(run);
    return run;
  }

  /** Sees to it that nothing is made for nobody; resolves when the server is done with it. */
  async stop(run: Run): Promise<void> {
    await run.stop(this.#closing.signal);
    this.#runs.delete(run);
  }

  /** Ends every call, and stops what runs for them. */
  async close(): Promise<void> {
    this.#listing.close();
    const reason = new LintelError("shutting_down", "the backend was closed");
    this.running.endAll(reason);
    this.#closing.abort(reason);
    const stopped = Promise.all([...this.#runs].map((run) => this.stop(run)));
    await atMost(farewell, stopped);
    await this.transport.close();
  }

  #describe(): void {
    const { value: inventory, failure } = this.#listing;
    if (!inventory) return;
    const dialect = dialects[inventory.dialect];
    const loras = loraNames(inventory.loras ?? [], dialect);
    this.#served = served(inventory.checkpoints, this.config.models);
    const models = this.#served.map(({ id, checkpoint }) =>
      modelOf(id, Task.TEXT_TO_IMAGE, {
        state: failure || !checkpoint ? State.FAILED : State.READY,
        stateDetail: failure?.message ?? (checkpoint ? "" : "the model server does not have it"),
        supports: supportedBy(inventory),
        promptBar: PromptBar.BATCH,
        loras,
        source: dialect.product,
      }),
    );
    if (!isDeepStrictEqual(models, this.#models)) this.#models = models;
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
