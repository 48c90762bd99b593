/** A worker's end of the channel to the first process. */
import type { Config } from "../config/schema.js";
import type { MetricsForm } from "../core/telemetry.js";
import type { LastReload } from "../reloading.js";
import { mergedText } from "../telemetry/merged.js";
import { mergedStatus } from "../telemetry/merged-status.js";
import type { Status } from "../telemetry/status.js";
import type { ToPrimary, ToWorker } from "./messages.js";

/** What a worker is started with. */
export type Orders = Extract<ToWorker, { lintel: "start" }>;

/** What a worker does when it is told to. */
export interface Duties {
  reload(
    config: Config,
  ): Promise<Omit<Extract<ToPrimary, { lintel: "reloaded" }>, "lintel" | "id">>;
  /** Hears how the last reload of all workers went. */
  reloaded(how: LastReload): void;
  /** How many calls run in this worker. */
  calls(): number;
  /** The metrics of this worker alone; absent: they are off. */
  readonly metrics?: ((form: MetricsForm) => string) | undefined;
  /** How this worker alone stands; absent: nobody may look. */
  readonly status?: (() => Status) | undefined;
}

/** What the first process tells of all workers. */
type Told = Extract<ToWorker, { lintel: "all metrics" | "all statuses" }>;

/** Hears the first process. Where that ends, however it ends, Node ends this one. */
export class Channel {
  readonly orders: Promise<Orders>;
  /** Resolves when the worker is to end, with how long running calls may take, milliseconds. */
  readonly closing: Promise<number>;
  #duties: Duties | undefined;
  readonly #asked = new Map<number, (told: Told) => void>();
  #questions = 0;

  constructor() {
    let order: (orders: Orders) => void = () => {};
    let close: (graceMs: number) => void = () => {};
    this.orders = new Promise((resolve) => {
      order = resolve;
    });
    this.closing = new Promise((resolve) => {
      close = resolve;
    });
    process.on("message", (message: ToWorker) => {
      switch (message.lintel) {
        case "start":
          return order(message);
        case "close":
          return close(message.graceMs);
        case "beat":
          return tell({ lintel: "beat" });
        case "reload":
          return void this.#reload(message.id, message.config);
        case "reloaded":
          return this.#duties?.reloaded(message.how);
        case "metrics":
          return this.#tellMetrics(message.id, message.form);
        case "calls":
          return tell({ lintel: "calls", id: message.id, calls: this.#duties?.calls() ?? 0 });
        case "status":
          return tell({ lintel: "status", id: message.id, status: this.#duties?.status?.() });
        case "all metrics":
        case "all statuses":
          this.#asked.get(message.id)?.(message);
          this.#asked.delete(message.id);
      }
    });
    tell({ lintel: "here" });
  }

  /** The gateway listens. */
  listening(duties: Duties): void {
    this.#duties = duties;
    tell({ lintel: "listening" });
  }

  /** It is known what the gateway says at its start. */
  banner(text: string): void {
    tell({ lintel: "banner", text });
  }

  /** A signal came. Whether it is for this process alone, the first one knows. */
  terminated(): void {
    tell({ lintel: "terminated" });
  }

  /** The metrics of all workers in one text. */
  readonly metrics = async (form: MetricsForm): Promise<string> => {
    const told = await this.#ask((id) => ({ lintel: "all metrics", id, form }));
    return mergedText(told.lintel === "all metrics" ? told.texts : new Map(), form);
  };

  /** How all workers stand together; `undefined`: none of them tells. */
  readonly status = async (): Promise<Status | undefined> => {
    const told = await this.#ask((id) => ({ lintel: "all statuses", id }));
    const [first, ...others] = told.lintel === "all statuses" ? told.statuses : [];
    return first && mergedStatus([first, ...others]);
  };

  #ask(question: (id: number) => ToPrimary): Promise<Told> {
    const id = this.#questions++;
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      tell(question(id));
    });
  }

  #tellMetrics(id: number, form: MetricsForm): void {
    tell({ lintel: "metrics", id, text: this.#duties?.metrics?.(form) ?? "" });
  }

  async #reload(id: number, config: Config): Promise<void> {
    const done = await this.#duties?.reload(config);
    if (done) tell({ lintel: "reloaded", id, ...done });
  }
}

/** Where the first process is gone, so is this one at once. */
function tell(message: ToPrimary): void {
  process.send?.(message, undefined, undefined, () => {});
}
