/** What the first process and its workers tell each other, over Node's channel between them. */
import type { Config } from "../config/schema.js";
import type { MetricsForm } from "../core/telemetry.js";
import type { LastReload, Reloaded } from "../reloading.js";
import type { Status } from "../telemetry/status.js";

/** Stands in the environment of a worker, which others' clusters have as well (pm2's). */
export const workerVariable = "LINTEL_WORKER";

/** To a worker. */
export type ToWorker =
  | {
      readonly lintel: "start";
      /** From 1 on; one that is started in another's place has its number. */
      readonly worker: number;
      readonly config: Config;
      /** Where the configuration comes from, for people; absent: defaults. */
      readonly file: string | undefined;
    }
  | { readonly lintel: "reload"; readonly id: number; readonly config: Config }
  /** How the last reload of all workers went, or did not come to them. */
  | { readonly lintel: "reloaded"; readonly how: LastReload }
  | { readonly lintel: "metrics"; readonly id: number; readonly form: MetricsForm }
  /** How many calls run. */
  | { readonly lintel: "calls"; readonly id: number }
  | { readonly lintel: "all metrics"; readonly id: number; readonly texts: Texts }
  | { readonly lintel: "status"; readonly id: number }
  | { readonly lintel: "all statuses"; readonly id: number; readonly statuses: readonly Status[] }
  /** Running calls may take so long, milliseconds. */
  | { readonly lintel: "close"; readonly graceMs: number }
  /** Whether it is there. */
  | { readonly lintel: "beat" };

/** To the first process. */
export type ToPrimary =
  /** It hears messages from now on. */
  | { readonly lintel: "here" }
  /** The gateway listens. */
  | { readonly lintel: "listening" }
  /** What it says at its start, once it is known which models there are. */
  | { readonly lintel: "banner"; readonly text: string }
  /** A signal told it to end. */
  | { readonly lintel: "terminated" }
  /** It is there. */
  | { readonly lintel: "beat" }
  | {
      readonly lintel: "reloaded";
      readonly id: number;
      /** Absent: it was not taken over. */
      readonly reloaded?: Reloaded | undefined;
      /** Why not; absent: the worker is about to end. */
      readonly refused?: string | undefined;
      /** What holds now. */
      readonly config: Config;
    }
  | { readonly lintel: "metrics"; readonly id: number; readonly text: string }
  | { readonly lintel: "calls"; readonly id: number; readonly calls: number }
  /** Wants the metrics of all workers. */
  | { readonly lintel: "all metrics"; readonly id: number; readonly form: MetricsForm }
  | { readonly lintel: "status"; readonly id: number; readonly status: Status | undefined }
  /** Wants to know how all workers stand. */
  | { readonly lintel: "all statuses"; readonly id: number };

/** Metrics as Prometheus reads them, by the workers' numbers. */
export type Texts = ReadonlyMap<number, string>;
