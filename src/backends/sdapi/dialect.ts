/** In what the servers of `/sdapi/v1` differ. */
import { isObject, type JsonObject } from "../../core/json.js";

/** Servers of `/sdapi/v1`, as the configuration names them. */
export const dialectNames = ["a1111", "forge", "sdnext", "sdcpp", "koboldcpp"] as const;

/** One of them. */
export type DialectName = (typeof dialectNames)[number];

/** What a server does, besides what all do. */
export interface Dialect {
  /** As people call it. */
  readonly product: string;
  /** It has `/progress` and `/interrupt`. */
  readonly progress: boolean;
  /** It takes `force_task_id`, and may tell about tasks by it. */
  readonly tasks: boolean;
  /** LoRAs are tags in the prompt; else a field. */
  readonly loraTags: boolean;
  /** It draws less of the prompt by a guidance below 1; else that is none, as the contract has it. */
  readonly mixes: boolean;
  /** It is stable-diffusion.cpp, or built of it. */
  readonly cpp: boolean;
  /** Reads `<sd_cpp_extra_args>` in the prompt. */
  readonly extraArgs: boolean;
  /** Makes as many images of one request as it is asked for. */
  readonly batches: boolean;
  /** How many seeds it knows, where fewer than 2^32. */
  readonly seeds?: number;
}

const webui = {
  ...{ progress: true, tasks: true, loraTags: true, mixes: true },
  ...{ cpp: false, extraArgs: false, batches: true },
};
const cpp = { progress: false, tasks: false, loraTags: false, mixes: true, cpp: true };

/** What each of them does. */
export const dialects: Readonly<Record<DialectName, Dialect>> = {
  a1111: { product: "AUTOMATIC1111", ...webui },
  forge: { product: "Forge", ...webui },
  sdnext: { product: "SD.Next", ...webui, tasks: false, mixes: false },
  sdcpp: { product: "stable-diffusion.cpp", ...cpp, extraArgs: true, batches: true },
  koboldcpp: { product: "KoboldCpp", ...cpp, extraArgs: false, batches: false, seeds: 2 ** 31 },
};

/** What stable-diffusion.cpp, and KoboldCpp after it, says for the hash of its one model. */
const noHash = "8888888888";

/**
 * Which server lists its checkpoints like this. Forge is not told from AUTOMATIC1111, nor
 * KoboldCpp from stable-diffusion.cpp.
 */
export function dialectOf(entries: readonly unknown[]): DialectName {
  const objects = entries.filter((entry): entry is JsonObject => isObject(entry));
  if (objects.some(({ hash }) => hash === noHash)) return "sdcpp";
  if (objects.some(({ type }) => typeof type === "string")) return "sdnext";
  return "a1111";
}
